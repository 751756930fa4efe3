"""Write the page of a folder, and the verdict as JSON beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attentest.files import make_folder, write_bytes, write_json
from attentest.reports.contents import Report
from attentest.reports.gather import VERDICT, Thresholds, gather, kept_thresholds
from attentest.reports.page import render

PAGE = "report.html"


def write_report(folder: Path, page: Path | None = None, thresholds: Thresholds | None = None) -> tuple[Report, Path]:
    """The page of an audit's, study's, run's or trial's folder, in it unless told where.

    Thresholds that are given are kept in the folder, so that the page says the same the next time.
    """
    place = page or folder / PAGE
    chosen = kept_thresholds(folder) if thresholds is None else dict(thresholds)
    report = gather(folder, place, chosen)
    if place.resolve().parent == folder.resolve() and any(block.verdicts for block in report.blocks):
        write_json(folder / VERDICT, {"thresholds": chosen, "models": verdicts_of(report)})
    text = render(report)
    make_folder(place.parent)
    write_bytes(place, text.encode())
    return report, place


def verdicts_of(report: Report) -> dict[str, list[dict[str, Any]]]:
    """By model."""
    return {block.name: [verdict.as_dict() for verdict in block.verdicts] for block in report.blocks}
