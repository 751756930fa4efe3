"""The page of a reproduction: a dot for each published cell, theirs against ours, and all cells as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.reports.contents import Figure, Report
from attentest.reports.parts.formatting import NOTHING
from attentest.reports.redrawn import picture_of
from attentest.studies.directions import UNTESTED
from attentest.studies.published import NOT_COMPARABLE, NOT_RUN, WITHIN
from attentest.studies.reproduction.reasons import NO_DATA
from attentest.studies.reproduction.state import COMPARED, STATUSES, CellState, Reproduction, read_reproduction
from attentest.trials.charts import agreement
from attentest.version import __version__

TOLD = {
    "paper": "paper",
    "table": "table",
    "corpus": "corpus",
    "model": "model",
    "variant": "variant",
    "measure": "measure",
    "theirs": "published|.4g",
    "ours": "ours|.4g",
    "interval": "95 % interval",
    "trainings": "trainings",
    "tolerance": "tolerance",
    "status": "status",
    "reason": "reason",
}
DRAWN = {  # title -> whether a cell is in the chart
    "Figures on a scale of 1": lambda cell: not _is_percent(cell),
    "Figures in percent, and BLEU": lambda cell: _is_percent(cell),
}


def reproduction_report(folder: Path) -> Report:
    found = read_reproduction(folder)
    return Report(
        title="Reproduction: our figures and the published ones",
        kind="reproduction",
        lead=_lead(found),
        facts=[
            *((paper.paper, _counted(paper.cells)) for paper in found.papers),
            ("attentest", __version__),
        ],
        notes=_notes(found),
        blocks=[],
        figures=[figure for title in DRAWN if (figure := _figure(title, found.cells)) is not None],
        directions=[
            replace(row, source=f"{paper.paper}, {row.source}")
            for paper in found.papers
            for row in paper.directions
            if row.replicated != UNTESTED
        ],
        published=[_row(cell) for cell in found.cells if cell.status != NO_DATA],
        not_covered=_without_data(found),
        deviations={f"{paper.paper}: {what}": why for paper in found.papers for what, why in paper.deviations.items()},
    )


def _lead(found: Reproduction) -> str:
    cells = found.cells
    allowed = sum(cell.allowed for cell in cells)
    compared = sum(cell.standing in COMPARED for cell in cells)
    within = sum(cell.standing == WITHIN for cell in cells)
    return (
        f"Of {len(cells)} published figures, the available data allow {allowed}; {compared} of these are compared, and "
        f"{within} are within their tolerance."
    )


def _counted(cells: Sequence[CellState]) -> str:
    by = Counter(cell.standing for cell in cells)
    return ", ".join(f"{by[status]} {status}" for status in STATUSES if by[status])


def _notes(found: Reproduction) -> list[str]:
    stale = Counter(cell.stale for cell in found.cells if cell.stale)
    single = sum(cell.compared.ours is not None and cell.compared.ours.seeds == 1 for cell in found.cells)
    left = sum(cell.standing == NOT_RUN and (bool(cell.stale) or not cell.reason) for cell in found.cells)
    told = [f"{count} figures are stale: the {what} changed since they were computed." for what, count in stale.items()]
    if single:
        told.append(f"{single} figures come from one training: their intervals are over texts alone.")
    if left:
        told.append(f"{left} figures are not run yet; make reproduce runs them.")
    return told


def _figure(title: str, cells: Sequence[CellState]) -> Figure | None:
    rows = [_dot(cell) for cell in cells if cell.compared.ours is not None and not cell.stale and DRAWN[title](cell)]
    if not rows:
        return None
    about = (
        f"{len(rows)} published figures (across) against ours (up, the mean over trainings), by whether ours "
        "is within its tolerance. On the dashed line both are the same."
    )
    chart = agreement(rows, ("published", "ours"), about, (*COMPARED, NOT_COMPARABLE), TOLD)
    return Figure(title, about, chart, picture_of(chart))


def _is_percent(cell: CellState) -> bool:
    return "%" in cell.theirs.measure or "bleu" in cell.theirs.measure


def _dot(cell: CellState) -> dict[str, Any]:
    theirs, ours, tolerance = cell.theirs, cell.compared.ours, cell.compared.tolerance
    assert ours is not None
    assert tolerance is not None
    return {
        **{name: getattr(theirs, name) for name in ("paper", "table", "corpus", "model", "variant", "measure")},
        "theirs": theirs.value,
        "ours": ours.estimate.value,
        "interval": f"[{ours.estimate.low:.4g}, {ours.estimate.high:.4g}]",
        "trainings": str(ours.seeds),
        "tolerance": f"{tolerance.value:.3g} ({tolerance.source})",
        "status": cell.status,
        "reason": cell.told or NOTHING,
    }


def _row(cell: CellState) -> dict[str, Any]:
    row = cell.compared.as_row()
    stale = f" (stale: {cell.stale})" if cell.stale else ""
    return {**row, "table": f"{row['paper']}, {row['table']}", "status": f"{cell.status}{stale}", "reason": cell.told}


def _without_data(found: Reproduction) -> Mapping[str, str]:
    by_place: dict[str, str] = {}
    for cell in found.cells:
        if cell.status == NO_DATA:
            by_place.setdefault(f"{cell.theirs.paper}, {cell.theirs.table}, {cell.theirs.corpus}", cell.reason)
    return by_place
