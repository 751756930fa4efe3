"""A page that was written, in the hands of whoever asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from attentest.display.heatmaps.text import one_line
from attentest.display.show import show, to_pandas
from attentest.display.tables import html_table
from attentest.errors import InputError
from attentest.files import copy_folder
from attentest.reports.contents import Block, Report
from attentest.reports.gather import families_in
from attentest.reports.summary_text import sinks_text
from attentest.reports.verdict_table import HEADER, VerdictTable, rows
from attentest.reports.write import verdicts_of, write_report
from attentest.studies.run_study import StudyResult
from attentest.studies.verdict import Verdict, check_apply, check_thresholds
from attentest.training.run import Run
from attentest.trials.finding import Finding

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Page:
    """What a folder holds, as one HTML page, with its verdicts."""

    folder: Path
    page: Path
    report: Report

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """Those on the first model that has any."""
        return next((block.verdicts for block in self.report.blocks if block.verdicts), [])

    def to_pandas(self) -> Any:
        """One row for each test of each verdict: its figure, interval, threshold and answer."""
        return to_pandas(pa.Table.from_pylist(self._rows()))

    def show(self) -> None:
        """Display the verdicts in a notebook, print them elsewhere."""
        show(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file that ends in .html, or copy the folder with all files that it links to."""
        target = Path(path)
        if target.suffix == ".html":
            return write_report(self.folder, target)[1]
        return copy_folder(self.folder, target)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"page": str(self.page), "says": self.report.lead, "verdicts": verdicts_of(self.report)}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "model": block.name,
                "definition": verdict.definition.name,
                "verdict": verdict.answer,
                "test": ruling.criterion.name,
                "answer": ruling.answer,
                **{key: getattr(ruling.figure, key, None) for key in ("value", "low", "high", "n")},
                "side": ruling.criterion.side,
                "threshold": ruling.threshold,
            }
            for block in self.report.blocks
            for verdict in block.verdicts
            for ruling in verdict.rulings
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.page)!r}: {self.report.lead})"

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        judged = [block for block in self.report.blocks if block.verdicts]
        tables = [
            (Text(one_line(block.name), "bold"), VerdictTable(block.verdicts), *_sinks(block)) for block in judged
        ]
        return Group(*(part for table in tables for part in table), Text(f"{self.report.lead}\n{self.page}"))

    def _repr_html_(self) -> str:
        judged = [block for block in self.report.blocks if block.verdicts]
        tables = [html_table(HEADER, rows(block.verdicts), block.name) for block in judged]
        return "".join(tables) + f"<p>{escape(self.report.lead)}</p><p>{escape(str(self.page))}</p>"


def _sinks(block: Block) -> list[RenderableType]:
    """What to say of the sinks below a model's verdicts, and an empty line."""
    from rich.text import Text

    said = "" if block.about is None else sinks_text(block.about)
    return [*([Text(one_line(f"Sinks: {said}."))] if said else []), Text()]


def folder_of(result: str | Path | Run | Page | StudyResult | Finding) -> Path:
    if isinstance(result, str | Path):
        return Path(result)
    if isinstance(result, Run):
        return result.path
    if isinstance(result, Page | StudyResult):
        return result.folder
    if isinstance(result, Finding) and "finding" in result.files:
        return Path(result.files["finding"]).parent
    if isinstance(result, Finding):
        raise InputError("This finding lies in no folder; save it first: finding.save(folder).")
    raise InputError(f"`folder` must be a folder or a result of attentest, not {type(result).__name__}.")


def report(
    folder: str | Path | Run | Page | StudyResult | Finding,
    out: str | Path | None = None,
    *,
    thresholds: Mapping[str, float] | None = None,
) -> Page:
    """Write the page of an audit, comparison, study, run, trial or reproduction from its folder; nothing is run again.

    `out` is the page's file (report.html in the folder unless told). Without `thresholds` those count that the folder
    was last judged by.
    """
    check_thresholds(thresholds or {})
    place = folder_of(folder)
    check_apply(families_in(place), thresholds or ())
    found, page = write_report(place, None if out is None else Path(out), thresholds)
    return Page(place, page, found)
