"""Where a reproduction stands: every published cell with ours, its status and the reason; every direction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from attentest.errors import InputError, unknown_name
from attentest.files import is_file
from attentest.studies import PAPERS
from attentest.studies.comparable import Place
from attentest.studies.directions import Replication, examine, printed_by
from attentest.studies.published import (
    NOT_COMPARABLE,
    NOT_RUN,
    OUTSIDE,
    STATISTICS,
    WITHIN,
    CellComparison,
    Published,
    compare,
    estimates,
    inside,
    pool,
    published,
    same_corpus,
    trainings_behind,
    variant_name,
)
from attentest.studies.reproduction import reasons as written
from attentest.studies.reproduction.derived import derived
from attentest.studies.reproduction.plan import current_settings, first_model, paper_study, study_of, task_of
from attentest.studies.reproduction.reasons import NO_DATA, Reason, Reasons, read_reasons
from attentest.studies.reproduction.rows import UNITS, OurRow, UnitRow, read_rows, read_units
from attentest.studies.reproduction.variations import Variation, VariedRow, read_variations, read_varied
from attentest.trials.cells import Cell

STATUSES = (WITHIN, OUTSIDE, NOT_COMPARABLE, NOT_RUN, NO_DATA)
COMPARED = (WITHIN, OUTSIDE)
HALF = 0.5  # of a difference, which must go with what explains it
OTHER_SETTINGS = "settings"  # the study's settings have changed since
NOT_PUBLIC = "the corpus is not public"
Stale = Sequence[tuple[str, Place, str]]  # corpus, cell, and what has changed


@dataclass(frozen=True)
class Tested:
    """What a variation makes of a cell that is outside its tolerance."""

    variation: Variation
    usual: CellComparison
    varied: CellComparison | None  # None where the variation has no such figure yet

    @property
    def counts(self) -> bool:
        """Whether there is a figure that may be compared."""
        return self.varied is not None and self.varied.status != NOT_COMPARABLE

    @property
    def within(self) -> bool:
        """Whether the varied figure is within the tolerance that the usual one has."""
        assert self.usual.tolerance is not None
        return self.counts and inside(self.varied_difference, self.usual.tolerance.value)

    @property
    def varied_difference(self) -> float:
        return math.nan if self.varied is None else self.varied.difference

    @property
    def explains(self) -> bool:
        return self.within and self.share >= HALF

    @property
    def share(self) -> float:
        """Of the difference that goes when this is changed; negative where it grows."""
        if not self.counts or not self.usual.difference:
            return math.nan
        return 1 - abs(self.varied_difference) / abs(self.usual.difference)


@dataclass(frozen=True)
class Tried:
    """A variation and all published cells that it has a figure of, whether they needed one or not."""

    variation: Variation
    tested: Sequence[Tested]

    @property
    def moved_in(self) -> int:
        return sum(one.within and one.usual.status == OUTSIDE for one in self.tested)

    @property
    def moved_out(self) -> int:
        return sum(not one.within and one.usual.status == WITHIN for one in self.tested)


@dataclass(frozen=True)
class CellState:
    compared: CellComparison
    status: str
    reason: str = ""  # of what has no figure of ours, may not be compared, or differs
    experiment: str = ""  # what shows why it differs …
    tested: Tested | None = None  # … or the variation that does
    stale: str = ""  # what has changed since ours was computed

    @property
    def theirs(self) -> Published:
        return self.compared.theirs

    @property
    def standing(self) -> str:
        """Its status, or that it is to be run again."""
        return NOT_RUN if self.stale else self.status

    @property
    def allowed(self) -> bool:
        """Whether the data at hand have what the cell is about; what a reason calls not comparable is of other data."""
        of_other_data = self.status == NOT_COMPARABLE and self.compared.status != NOT_COMPARABLE
        return self.status != NO_DATA and not of_other_data

    @property
    def told(self) -> str:
        """The reason, and what shows it."""
        if self.tested is None:
            return f"{self.reason.rstrip('.')}. Shown by: {self.experiment}" if self.experiment else self.reason
        if not self.tested.counts:
            return f"Supposed, not tested yet: {self.reason}"
        assert self.tested.varied is not None
        assert self.tested.varied.ours is not None
        figure, share = self.tested.varied.ours.estimate.value, self.tested.share
        moved = f"{100 * share:.0f} % of the difference gone" if share >= 0 else "the difference is larger"
        more = f" {self.experiment}" if self.experiment else ""
        shown = f"{self.tested.variation.name}: {figure:.3g}, {moved}.{more}"
        if self.tested.explains:
            return f"{self.reason.rstrip('.')}. Shown by {shown}"
        return f"Supposed: {self.reason.rstrip('.')}. Tested by {shown}"


@dataclass(frozen=True)
class PaperState:
    paper: str
    title: str
    cells: Sequence[CellState]
    directions: Sequence[Replication]
    deviations: Mapping[str, str] = field(default_factory=dict)  # setting that is not the paper's -> what was run


@dataclass(frozen=True)
class Reproduction:
    papers: Sequence[PaperState]
    units: Sequence[UnitRow]
    unused: Sequence[Reason]  # written for figures that are within their tolerance by now, or not run
    tried: Sequence[Tried] = ()

    @property
    def cells(self) -> list[CellState]:
        return [cell for paper in self.papers for cell in paper.cells]


def is_reproduction(folder: Path) -> bool:
    return is_file(folder / written.FILE) and is_file(folder / UNITS)


def read_reproduction(folder: Path) -> Reproduction:
    if not is_reproduction(folder):
        raise InputError(f"{folder} is not the folder of a reproduction: it has no {written.FILE} and {UNITS}.")
    known = [cell for paper in PAPERS for cell in published(paper) if cell.trial != STATISTICS]
    reasons = read_reasons(folder, known)
    variations, varied = read_variations(folder), read_varied(folder)
    for reason in reasons.by_kind.get(OUTSIDE, ()):
        _check_variation(reason, variations)
    by_paper = {paper: _varied(paper, variations, varied) for paper in PAPERS}
    papers = [paper_state(paper, read_rows(folder, paper), reasons, by_paper[paper]) for paper in PAPERS]
    outside = [cell.theirs for paper in papers for cell in paper.cells if cell.status == OUTSIDE]
    used = {reasons.of(OUTSIDE, cell) for cell in outside}
    unused = [reason for reason in reasons.by_kind.get(OUTSIDE, ()) if reason not in used]
    tried = [one for paper in papers for one in _tried(paper, by_paper[paper.paper])]
    return Reproduction(papers, list(read_units(folder).values()), unused, tried)


def _check_variation(reason: Reason, variations: Mapping[str, Variation]) -> None:
    if not reason.variation:
        return
    if reason.variation not in variations:
        raise unknown_name(f"variation in {written.FILE}", reason.variation, variations)
    one = variations[reason.variation]
    if reason.paper != one.paper or not same_corpus(reason.corpus, one.corpus):
        raise InputError(
            f"{written.FILE}: the variation '{one.name}' is of {one.paper} on {one.corpus}, and can show reasons of "
            f"these alone; this one is of {reason.pattern}."
        )


Varied = Mapping[str, tuple[Variation, Mapping[Published, CellComparison]]]  # by the variation's name


def _varied(paper: str, variations: Mapping[str, Variation], rows: Sequence[VariedRow]) -> Varied:
    """What each variation of a paper makes of its cells."""
    found = {}
    for name, variation in variations.items():
        if variation.paper == paper:
            ours = _by_model(row for row in rows if row.is_of(variation) and not row.stale)
            compared = compare(paper, ours, paper_study(paper).tolerances)
            found[name] = (variation, {one.theirs: one for one in compared if one.ours is not None})
    return found


def _tried(paper: PaperState, varied: Varied) -> Iterator[Tried]:
    usual = {cell.theirs: cell.compared for cell in paper.cells if cell.status in COMPARED}
    for variation, figures in varied.values():
        tested = [Tested(variation, usual[cell], figure) for cell, figure in figures.items() if cell in usual]
        yield Tried(variation, [one for one in tested if one.counts])


def paper_state(paper: str, rows: Sequence[OurRow], reasons: Reasons, varied: Varied) -> PaperState:
    study = paper_study(paper)
    kept = [row for corpus in study.corpora for row in _usable(paper, corpus, rows)]
    fresh = _by_model(row for row in kept if not row.stale)
    fresh |= derived(paper, fresh)
    ours = {**_by_model(kept), **derived(paper, fresh)}
    stale = _stale_places(kept)
    cells = [_state(compared, reasons, stale, varied) for compared in compare(paper, ours, study.tolerances)]
    directions = [found for corpus in study.corpora for found in _directions(paper, corpus, fresh)]
    return PaperState(paper, study.title, cells, directions, study.deviations)


def _usable(paper: str, corpus: str, rows: Iterable[OurRow]) -> list[OurRow]:
    """Of each unit the rows with the settings that the study has now, or all of the settings that most rows have:
    figures of different settings are no sample of one."""
    settings = current_settings(study_of(paper, corpus))
    by_unit: dict[str, list[OurRow]] = {}
    for row in rows:
        if row.corpus == corpus:
            other = OTHER_SETTINGS if row.settings not in settings else row.stale
            by_unit.setdefault(row.unit, []).append(replace(row, stale=other))
    found: list[OurRow] = []
    for some in by_unit.values():
        fresh = [row for row in some if not row.stale]
        if fresh:
            found += fresh
            continue
        keys = [(row.settings, row.stale) for row in some]
        most = max(sorted(set(keys)), key=keys.count)
        found += [row for row in some if (row.settings, row.stale) == most]
    return found


def _by_model(rows: Iterable[OurRow]) -> dict[tuple[str, str], dict[int, list[Cell]]]:
    found: dict[tuple[str, str], dict[int, list[Cell]]] = {}
    for row in rows:
        found.setdefault((row.corpus, row.model), {}).setdefault(row.seed, []).append(row.cell())
    return found


def _stale_places(rows: Iterable[OurRow]) -> Stale:
    return [(row.corpus, (row.model, variant_name(row.variant), row.measure), row.stale) for row in rows if row.stale]


def _state(compared: CellComparison, reasons: Reasons, stale: Stale, varied: Varied) -> CellState:
    cell, status, reason = compared.theirs, compared.status, compared.reason
    if status == NOT_RUN:
        missing = reasons.of(NO_DATA, cell)
        if missing is not None or not cell.public:
            return CellState(compared, NO_DATA, missing.why if missing is not None else NOT_PUBLIC)
        left_out = reasons.of(NOT_RUN, cell)
        return CellState(compared, NOT_RUN, "" if left_out is None else left_out.why)
    place = (cell.model, variant_name(cell.variant), cell.measure)
    changed = next((why for corpus, of, why in stale if same_corpus(corpus, cell.corpus) and of == place), "")
    other = reasons.of(NOT_COMPARABLE, cell)
    if other is not None:
        return CellState(compared, NOT_COMPARABLE, other.why, stale=changed)
    if status == OUTSIDE:
        known = reasons.of(OUTSIDE, cell)
        if known is not None:
            variation, figures = varied.get(known.variation, (None, {}))
            tested = None if variation is None else Tested(variation, compared, figures.get(cell))
            return CellState(compared, status, known.why, known.experiment, tested, changed)
    return CellState(compared, status, reason, stale=changed)


def _directions(paper: str, corpus: str, ours: Mapping[tuple[str, str], Mapping[int, list[Cell]]]) -> list[Replication]:
    study = study_of(paper, corpus)
    claimed = [direction for direction in study.directions if direction.is_about(corpus, task_of(corpus))]
    models = [model for name, model in ours if name == corpus]
    pooled = {place: figure for model in models for place, figure in pool(model, ours[(corpus, model)]).items()}
    theirs, trainings = printed_by(paper, corpus), trainings_behind(pooled)
    return examine(claimed, corpus, first_model(study), estimates(pooled), theirs, paper=paper, trainings=trainings)
