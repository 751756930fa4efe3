"""Write the page of a folder, and the verdict as JSON beside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import drafting, inside, make_folder, remove_drafts, write_bytes, write_json
from attentest.publish import alone_in, check_whole, link_or_copy, replacing, settle, writing
from attentest.reports.contents import Block, Report
from attentest.reports.gather import Thresholds, gather, kept_thresholds, mark_of
from attentest.reports.page import render
from attentest.reports.reproduction import reproduction_report
from attentest.studies.folder import PAGE, VERDICT
from attentest.studies.reproduction.state import is_reproduction
from attentest.studies.results import SUMMARY, WITH_SPECIAL, WITHOUT_SINKS, counting_of
from attentest.studies.verdict import calibration
from attentest.trials.instances import HEAT_MAPS
from attentest.version import __version__

VERSION = 4  # of verdict.json
COUNTS = {"": "own tokens", WITH_SPECIAL: "special tokens too", WITHOUT_SINKS: "own tokens without sinks"}
IN_STEPS = ("training", "trials", "corpus_hashes")  # of a calibration: its hash of all steps stands for them
SCHEMA = Path(__file__).with_name("verdict.schema.json")
SCHEMA_ID = f"urn:attentest:verdict:{VERSION}"


def read_report(folder: Path) -> Report:
    """What a folder's page would show, judged by the thresholds that are kept there; the folder stays as it is."""
    mark = mark_of(folder)
    settle(folder)
    with tempfile.TemporaryDirectory() as elsewhere:
        report = gather(folder, folder, Path(elsewhere), kept_thresholds(folder))
    check_whole(folder, _derived(mark))
    return report


def write_report(folder: Path, page: Path | None = None, thresholds: Thresholds | None = None) -> tuple[Report, Path]:
    """The page of an audit's, study's, run's or trial's folder, in it unless told where.

    Thresholds that are given are kept in the folder, so that the page says the same the next time.
    """
    if is_reproduction(folder):
        return _write_reproduction(folder, page or folder / PAGE)
    mark = mark_of(folder)
    settle(folder)
    chosen = kept_thresholds(folder) if thresholds is None else dict(thresholds)
    place = page or folder / PAGE
    derived = _derived(mark)
    if os.path.realpath(place) == os.path.realpath(folder / PAGE):
        return _write_into(folder, chosen, derived), place
    return _write_elsewhere(folder, place, chosen, derived), place


def _write_reproduction(folder: Path, page: Path) -> tuple[Report, Path]:
    """One file; nothing else in the folder, which is the repository's."""
    report = reproduction_report(folder)
    make_folder(page.parent)
    write_bytes(page, render(report).encode())
    return report, page


def _derived(mark: str) -> tuple[str, ...]:
    """What is made again with the page."""
    return (PAGE, VERDICT) if mark == SUMMARY else (PAGE, VERDICT, HEAT_MAPS)


def _write_into(folder: Path, thresholds: Thresholds, derived: Collection[str]) -> Report:
    """The page and what belongs to it take the place of the earlier ones as one."""
    with alone_in(folder), replacing(folder, (PAGE, VERDICT, HEAT_MAPS)) as draft:
        _bring_tables(inside(folder, HEAT_MAPS), draft / HEAT_MAPS)
        report = _add(folder, draft, thresholds)
        check_whole(folder, derived)
    return report


def _bring_tables(source: Path, target: Path) -> None:
    """Heat maps of a folder that may be anybody's: plain files, and no folders or links."""
    if source.is_symlink() or (source.exists() and not source.is_dir()):
        raise InputError(f"{source} is not a folder; remove it.")
    make_folder(target)
    with writing(target.parent.parent):
        for file in (*source.glob("*.parquet"), *source.glob("*.json")):
            if file.is_file() and not file.is_symlink():
                link_or_copy(file, target / file.name)


def _write_elsewhere(folder: Path, page: Path, thresholds: Thresholds, derived: Collection[str]) -> Report:
    """There may be no room to write in `folder`."""
    make_folder(page.parent)
    files = page.with_name(f"{page.stem}_files")
    with writing(page.parent):
        remove_drafts(page.parent)
    with drafting(files) as draft:
        report = gather(folder, page.parent, draft, thresholds, files.name)
        check_whole(folder, derived)
        text = render(report)
        if draft.exists():
            make_folder(files)
            with writing(files):
                for file in draft.iterdir():  # what else lies there is not ours
                    file.replace(files / file.name)
    write_bytes(page, text.encode())
    return report


def add_page(results: Path, thresholds: Thresholds) -> Report:
    """Page and verdict among results that are not published yet."""
    return _add(results, results, thresholds)


def _add(folder: Path, draft: Path, thresholds: Thresholds) -> Report:
    report = gather(folder, folder, draft / HEAT_MAPS, thresholds)
    if any(block.verdicts for block in report.blocks):
        write_json(draft / VERDICT, verdict_file(report, thresholds))
    write_bytes(draft / PAGE, render(report).encode())
    return report


def verdict_file(report: Report, thresholds: Thresholds) -> dict[str, Any]:
    """What verdict.json says; verdict.schema.json describes it."""
    return {
        "$schema": SCHEMA_ID,
        "version": VERSION,
        "attentest": __version__,
        "calibration": {name: told for name, told in calibration().signature.items() if name not in IN_STEPS},
        "controls": _has_controls(report),
        "thresholds": dict(thresholds),
        "models": {block.name: _model(block) for block in report.blocks if block.verdicts},
    }


def _model(block: Block) -> dict[str, Any]:
    sinks = None if block.about is None else block.about.sinks
    return {
        "counts": COUNTS[counting_of(block.name)],
        "sinks": None if sinks is None else asdict(sinks),
        "metrics": {} if block.about is None else block.about.metrics,
        "baseline": None if block.about is None else block.about.baseline,
        "verdicts": [verdict.as_dict() for verdict in block.verdicts],
    }


def _has_controls(report: Report) -> bool:
    rulings = [ruling for block in report.blocks for verdict in block.verdicts for ruling in verdict.rulings]
    return any(ruling.controls for ruling in rulings)


def verdicts_of(report: Report) -> dict[str, list[dict[str, Any]]]:
    """By model."""
    return {block.name: [verdict.as_dict() for verdict in block.verdicts] for block in report.blocks}
