"""A reproduction as Markdown: a summary, a table a paper, the reasons, the findings, and earlier measurements."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attentest.errors import InputError
from attentest.files import write_bytes
from attentest.locks import locked
from attentest.studies.directions import UNTESTED
from attentest.studies.published import NOT_COMPARABLE, NOT_RUN, OUTSIDE, WITHIN
from attentest.studies.reproduction.harvest import LOCK
from attentest.studies.reproduction.reasons import NO_DATA
from attentest.studies.reproduction.rows import UnitRow
from attentest.studies.reproduction.state import (
    COMPARED,
    HALF,
    CellState,
    PaperState,
    Reproduction,
    Tried,
    read_reproduction,
)
from attentest.studies.steps.summary import directions_table
from attentest.studies.tolerance import CONVENTION, DEVIATION_OVER, PRINTED, SPREAD

BEFORE, AFTER = "introduction.md", "earlier.md"  # written by hand, with links from their own place
MADE = "<!-- made by `make reproduce` and `make docs` from the tables in reproduction/: change those, not this page -->"
STALE = "†"
TITLE = "# Reproduction: our figures and the published ones"


def write_page(folder: Path, page: Path) -> None:
    with locked(folder / LOCK):  # another process may be writing its tables, and then this page
        write_bytes(page, markdown(folder).encode())


def markdown(folder: Path) -> str:
    found = read_reproduction(folder)
    parts = [
        TITLE,
        MADE,
        _included(folder / BEFORE),
        _summary(found),
        _findings(found),
        *(_paper(paper) for paper in found.papers),
        _differences(found),
        _included(folder / AFTER),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(found: Reproduction) -> str:
    cells = found.cells
    allowed = [cell for cell in cells if cell.allowed]
    compared = [cell for cell in cells if cell.standing in COMPARED]
    within = sum(cell.standing == WITHIN for cell in cells)
    near, other = (
        sum(cell.standing == NOT_COMPARABLE and cell.allowed == one for cell in cells) for one in (True, False)
    )
    fixed = sum(cell.compared.within_convention for cell in compared)
    sources = Counter(cell.compared.tolerance.source for cell in compared if cell.compared.tolerance)
    told = ", ".join(f"{sources[one]} by {one}" for one in (PRINTED, SPREAD, CONVENTION) if sources[one])
    lines = [
        "## Summary",
        "",
        f"Of {len(cells)} published cells (statistics of corpora aside), the available data allow {len(allowed)}. "
        f"{_share(len(compared), len(allowed))} of these are compared; {near} more stand on an adversary that is not "
        f"far from the base, and are not comparable, nor are {other} of other data. "
        f"{_share(within, len(compared))} of the compared cells are within their tolerance"
        + (f" ({told})" if told else "")
        + f"; {fixed} would be by the fixed conventions alone.",
        "",
        *_counts(found),
    ]
    stale = sum(bool(cell.stale) for cell in cells)
    if stale:
        lines += ["", f"{stale} cells are stale ({STALE}) and count as not run: `make reproduce` runs them again."]
    if found.units:
        lines += ["", *_times(found)]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f} %)" if whole else "None"


def _counts(found: Reproduction) -> Iterator[str]:
    heads = ("paper", "corpus", "cells", "data allow", "compared", *(WITHIN, OUTSIDE, NOT_COMPARABLE, NOT_RUN, NO_DATA))
    yield from _table_head((*heads, "trainings"))
    for paper in found.papers:
        for corpus in dict.fromkeys(cell.theirs.corpus for cell in paper.cells):
            yield _count_line(paper.paper, corpus, [cell for cell in paper.cells if cell.theirs.corpus == corpus])
        yield _count_line(f"**{paper.paper}**", "all", paper.cells)
    yield _count_line("**all**", "all", found.cells)


def _count_line(paper: str, corpus: str, cells: Sequence[CellState]) -> str:
    by = Counter(cell.standing for cell in cells)
    seeds = sorted({cell.compared.ours.seeds for cell in cells if cell.compared.ours is not None})
    trainings = "" if not seeds else f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]}–{seeds[-1]}"
    allowed, compared = sum(cell.allowed for cell in cells), by[WITHIN] + by[OUTSIDE]
    counts = (len(cells), allowed, compared, *(by[one] for one in (WITHIN, OUTSIDE, NOT_COMPARABLE, NOT_RUN, NO_DATA)))
    return _line(paper, corpus, *counts, trainings)


def _times(found: Reproduction) -> Iterator[str]:
    yield "Time that the steps behind these figures took, each on one core (what two papers share counts for both):"
    yield ""
    yield from _table_head(("paper", "units", "hours"))
    for paper in found.papers:
        mine = [unit for unit in found.units if unit.paper == paper.paper]
        if mine:
            yield _line(paper.paper, len(mine), _hours(mine))
    yield _line("**all**", len(found.units), _hours(found.units))


def _hours(units: Iterable[UnitRow]) -> str:
    return f"{sum(unit.seconds for unit in units) / 3600:.2f}"


def _findings(found: Reproduction) -> str:
    said = Counter(row.replicated for paper in found.papers for row in paper.directions)
    lines = [
        "## Findings of the papers, and ours",
        "",
        "Each finding is written as a difference that is above 0 if it is true. “Theirs” is taken from the one table "
        "that is named, and empty where that does not have both numbers. A finding is replicated (*found*) if our 95 % "
        "interval is above 0, contradicted (*the contrary*) if it is below, and otherwise undecided (*cannot be "
        "told*), with what would decide it, or why nothing would. With one training the interval is over texts alone. "
        + ", ".join(f"{count} {name}" for name, count in sorted(said.items())).capitalize()
        + ".",
    ]
    for paper in found.papers:
        tested = [row for row in paper.directions if row.replicated != UNTESTED]
        left = Counter(row.corpus for row in paper.directions if row.replicated == UNTESTED)
        if tested or left:
            lines += ["", f"### {paper.title}", ""]
        if tested:
            lines += directions_table(tested)
        if tested and left:
            lines.append("")
        if left:
            lines.append(f"Not tested yet: {', '.join(f'{count} on {corpus}' for corpus, count in left.items())}.")
    return "\n".join(lines)


def _paper(paper: PaperState) -> str:
    lines = [f"## {paper.title}", ""]
    with_ours = [cell for cell in paper.cells if cell.compared.ours is not None]
    if with_ours:
        heads = ("table", "corpus", "model", "variant", "measure", "published", "ours", "interval", "over texts")
        lines += [*_table_head((*heads, "trainings", "difference", "tolerance", "status")), *map(_cell_line, with_ours)]
    else:
        lines.append("No figure of ours yet.")
    for status, title in ((NOT_RUN, "Not run yet"), (NO_DATA, "No data")):
        some = [cell for cell in paper.cells if cell.status == status]
        if some:
            lines += ["", f"{title}:", "", *_listed(some)]
    if paper.deviations:
        lines += ["", "Settings that differ from the paper's:", ""]
        lines += [f"- {what}: {_plain(why)}" for what, why in paper.deviations.items()]
    return "\n".join(lines)


def _cell_line(cell: CellState) -> str:
    theirs, ours, tolerance = cell.theirs, cell.compared.ours, cell.compared.tolerance
    assert ours is not None
    assert tolerance is not None
    digits = max(theirs.decimals, 1) + 1
    spread = "" if ours.deviation is None else f" ± {ours.deviation:.{digits}f}"
    low, high = ours.estimate.low, ours.estimate.high
    interval = "" if math.isnan(low) else f"[{low:.{digits}f}, {high:.{digits}f}]"
    by_training = theirs.deviation is not None and DEVIATION_OVER.get(theirs.paper) == "trainings"
    deviation = f" ± {theirs.deviation:g}" if by_training else ""
    over_texts = "" if by_training or theirs.deviation is None else f"{theirs.deviation:g}"
    if over_texts and ours.over_texts is not None:
        over_texts += f"; ours {ours.over_texts:.2f}"
    reason = f": {cell.reason}" if cell.status == NOT_COMPARABLE else ""
    return _line(
        theirs.table,
        theirs.corpus,
        theirs.model,
        theirs.variant,
        theirs.measure,
        f"{theirs.value:.{theirs.decimals}f}{deviation}",
        f"{ours.estimate.value:.{digits}f}{spread}",
        interval,
        over_texts,
        ours.seeds,
        f"{cell.compared.difference:+.{digits}f}",
        f"{tolerance.value:.{digits}f} ({tolerance.source})",
        f"{cell.status}{f' {STALE} ({cell.stale})' if cell.stale else ''}{reason}",
    )


def _listed(cells: Sequence[CellState]) -> Iterator[str]:
    """One line for each reason, with how many cells of which table and corpus it is about."""
    by_reason: dict[str, list[CellState]] = {}
    for cell in cells:
        by_reason.setdefault(cell.reason, []).append(cell)
    for reason, some in by_reason.items():
        places = Counter((cell.theirs.table, cell.theirs.corpus) for cell in some)
        told = "; ".join(f"{table}, {corpus} ({count})" for (table, corpus), count in places.items())
        yield f"- {told}{f': {reason}' if reason else ''}"


def _differences(found: Reproduction) -> str:
    outside = [cell for cell in found.cells if cell.standing == OUTSIDE]
    lines = [
        "## Cells outside their tolerance",
        "",
        _how_many_are_explained(outside) if outside else "None so far.",
        "",
    ]
    by_reason: dict[tuple[str, str, str], list[CellState]] = {}
    for cell in outside:
        name = "" if cell.tested is None else cell.tested.variation.name
        by_reason.setdefault((cell.reason, cell.experiment, name), []).append(cell)
    for (reason, experiment, _), cells in by_reason.items():
        if reason:
            lines += _explained(reason, experiment, cells, found.tried)
    unexplained = by_reason.get(("", "", ""), [])
    if unexplained:
        lines += ["", f"### Without a reason ({len(unexplained)})", "", *(f"- {_named(cell)}" for cell in unexplained)]
    if found.tried:
        lines += ["", *_tried(found)]
    if found.unused:
        lines += ["", "Reasons that no cell needs at present:", ""]
        lines += [f"- {reason.pattern}: {reason.why}" for reason in found.unused]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _how_many_are_explained(outside: Sequence[CellState]) -> str:
    tested = [cell.tested for cell in outside if cell.tested is not None and cell.tested.counts]
    waiting = sum(cell.tested is not None and not cell.tested.counts for cell in outside)
    other = sum(cell.tested is None and bool(cell.experiment) for cell in outside)
    return (
        f"Of {len(outside)} cells, {len(tested)} were computed again with something changed (a *variation*): "
        f"{sum(one.explains for one in tested)} are then within their tolerance and at least half of the difference "
        f"is gone, and of {sum(not one.within and one.share >= HALF for one in tested)} more at least half is gone. "
        f"{waiting} have a variation without such a figure, {other} have another experiment, and "
        f"{sum(not cell.reason for cell in outside)} no reason yet. "
        "`make reproduce ONLY=variations` runs the variations."
    )


def _tried(found: Reproduction) -> Iterator[str]:
    yield from ("### All variations", "", "Trainings, and the compared cells that a change moves:", "")
    yield from _table_head(("variation", "of", "change", "trainings", "into their tolerance", "out of it", "cells"))
    for one in found.tried:
        trainings = max((t.varied.ours.seeds for t in one.tested if t.varied and t.varied.ours), default=0)
        moved = (one.moved_in, one.moved_out, len(one.tested)) if trainings else ("", "", "")
        of = f"{one.variation.paper}/{one.variation.corpus}"
        yield _line(one.variation.name, of, one.variation.says, trainings or "not run yet", *moved)


def _moves(tried: Tried) -> str:
    return (
        f"the {len(tried.tested)} compared cells that it has, {tried.moved_in} enter their tolerance and "
        f"{tried.moved_out} leave it"
    )


def _explained(reason: str, experiment: str, cells: Sequence[CellState], tried: Sequence[Tried]) -> Iterator[str]:
    places = dict.fromkeys(f"{cell.theirs.paper}, {cell.theirs.corpus}" for cell in cells)
    tested = [cell for cell in cells if cell.tested is not None]
    explained = sum(cell.tested is not None and cell.tested.explains for cell in tested)
    run = any(cell.tested is not None and cell.tested.counts for cell in tested)
    supposed = " (supposed, not tested yet)" if tested else ""
    counted = f" (tested: explains {explained or 'none'} of {len(tested)})" if run else supposed
    yield f"### {'; '.join(places)}: {reason.rstrip('.')}{counted}"
    yield ""
    if not tested:
        yield f"Shown by: {experiment}"
        yield ""
        yield from (f"- {_named(cell)}" for cell in cells)
        yield ""
        return
    assert tested[0].tested is not None
    variation = tested[0].tested.variation
    moved = next((one for one in tried if one.variation == variation and one.tested), None)
    moves = "" if moved is None else f" Of {_moves(moved)}."
    yield f"Variation `{variation.name}`: {variation.says}{moves}" + (f" {experiment}" if experiment else "")
    yield ""
    heads = ("table", "corpus", "model", "variant", "measure", "published", "ours", "with the change", "trainings")
    yield from _table_head((*heads, "of the difference gone", "now"))
    yield from map(_tested_line, tested)
    yield ""


def _tested_line(cell: CellState) -> str:
    theirs, tested, ours = cell.theirs, cell.tested, cell.compared.ours
    assert tested is not None
    assert ours is not None
    digits = max(theirs.decimals, 1) + 1
    varied = tested.varied.ours if tested.varied is not None else None
    now = "within" if tested.within else OUTSIDE
    if tested.varied is not None and not tested.counts:
        now = f"{NOT_COMPARABLE}: {tested.varied.reason}"
    spread = "" if varied is None or varied.deviation is None else f" ± {varied.deviation:.{digits}f}"
    return _line(
        *(theirs.table, theirs.corpus, theirs.model, theirs.variant, theirs.measure),
        f"{theirs.value:.{theirs.decimals}f}",
        f"{ours.estimate.value:.{digits}f}",
        "not run yet" if varied is None else f"{varied.estimate.value:.{digits}f}{spread}",
        "" if varied is None else varied.seeds,
        f"{100 * tested.share:.0f} %" if tested.counts else "",
        "" if varied is None else now,
    )


def _named(cell: CellState) -> str:
    theirs = cell.theirs
    said = (theirs.paper, theirs.table, theirs.corpus, theirs.model, theirs.variant, theirs.measure)
    return _plain(f"{', '.join(filter(None, said))}: {cell.compared.difference:+.3g}")


def _included(path: Path) -> str:
    if not path.is_file():
        return ""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text ({error}).") from error
    return re.sub(r"\]\((?!#|https:)([^)]+)\)", lambda link: f"]({_from_above(path.parent.name, link[1])})", text)


def _from_above(folder: str, target: str) -> str:
    return target.removeprefix("../") if target.startswith("../") else f"{folder}/{target}"


def _table_head(names: Iterable[str]) -> list[str]:
    heads = list(names)
    return [_line(*heads), "|" + "---|" * len(heads)]


def _line(*cells: object) -> str:
    return f"| {' | '.join(_plain(str(cell)) for cell in cells)} |"


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
