"""Published figures, and ours beside them, cell by cell."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from attentest.errors import unknown_name
from attentest.measures.intervals import Estimate
from attentest.studies.comparable import Lookup, Place, distances, too_near
from attentest.studies.over_seeds import OverSeeds, over_seeds
from attentest.studies.tolerance import DEVIATION_OVER, TOLERANCE, Tolerance, tolerance_of
from attentest.trials.cells import Cell

WORDS = ("paper", "table", "corpus", "model", "variant", "measure", "trial", "note")
STATISTICS = "data"  # the trial of figures about a corpus: they are checked where it is loaded
WITHIN, OUTSIDE, NOT_COMPARABLE, NOT_RUN = "within", "outside", "not comparable", "not run yet"
BySeed = Mapping[int, Iterable[Cell]]
SAMPLES = {"yelp_stars_sample": "yelp", "yahoo_answers_sample": "yahoo_answers"}  # as the papers name the whole of it
GENERATED = "-generated"  # a corpus made by the rules of a published one


@dataclass(frozen=True)
class Published:
    paper: str
    table: str
    corpus: str
    model: str
    variant: str
    measure: str
    value: float
    deviation: float | None
    trial: str
    public: bool
    note: str
    decimals: int = 0  # that are printed

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: so far the printed figure may be from the one that was found."""
        return 0.5 * 10.0**-self.decimals


@cache
def published(paper: str) -> tuple[Published, ...]:
    folder = files("attentest.studies") / "published"
    known = [entry.name.removesuffix(".csv") for entry in folder.iterdir() if entry.name.endswith(".csv")]
    if paper not in known:
        raise unknown_name("paper", paper, known)
    with (folder / f"{paper}.csv").open(encoding="utf-8") as file:
        return tuple(
            Published(
                **{key: row[key] for key in WORDS},
                value=float(row["value"]),
                deviation=float(row["deviation"]) if row["deviation"] else None,
                public=row["public"] == "yes",
                decimals=len(row["value"].partition(".")[2]),
            )
            for row in csv.DictReader(file)
        )


def fingerprint_of(paper: str) -> str:
    """A hash of a paper's published figures."""
    return hashlib.sha256(repr(published(paper)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PublishedRow:
    """A published figure beside ours, as a study's table has it."""

    paper: str
    table: str
    corpus: str
    model: str
    variant: str
    measure: str
    published: float
    deviation: float | None
    ours: float | None
    low: float | None
    high: float | None
    difference: float | None
    tolerance: float | None
    within: bool | None
    public: bool
    seeds: int = 0  # trainings behind ours
    spread: float | None = None  # standard deviation over them
    source: str = ""  # of the tolerance
    status: str = ""
    reason: str = ""  # why it is not comparable


@dataclass(frozen=True)
class CellComparison:
    """A published cell with ours; `within` is None where there is none of ours, or none that may be compared."""

    theirs: Published
    ours: OverSeeds | None
    tolerance: Tolerance | None
    reason: str = ""  # why it is not comparable
    convention: float = TOLERANCE

    @property
    def difference(self) -> float:
        return math.nan if self.ours is None else self.ours.estimate.value - self.theirs.value

    @property
    def within(self) -> bool | None:
        return {WITHIN: True, OUTSIDE: False}.get(self.status)

    @property
    def status(self) -> str:
        if self.ours is None or self.tolerance is None:
            return NOT_RUN
        if self.reason:
            return NOT_COMPARABLE
        return WITHIN if inside(self.difference, self.tolerance.value) else OUTSIDE

    @property
    def within_convention(self) -> bool:
        """By the fixed tolerance of the table, whichever one counts."""
        return self.status in (WITHIN, OUTSIDE) and inside(self.difference, self.convention)

    def as_row(self) -> dict[str, Any]:
        theirs, ours, tolerance = self.theirs, self.ours, self.tolerance
        row = PublishedRow(
            paper=theirs.paper,
            table=theirs.table,
            corpus=theirs.corpus,
            model=theirs.model,
            variant=theirs.variant,
            measure=theirs.measure,
            published=theirs.value,
            deviation=theirs.deviation,
            ours=None if ours is None else ours.estimate.value,
            low=None if ours is None else ours.estimate.low,
            high=None if ours is None else ours.estimate.high,
            difference=None if ours is None else self.difference,
            tolerance=None if tolerance is None else tolerance.value,
            within=self.within,
            public=theirs.public,
            seeds=0 if ours is None else ours.seeds,
            spread=None if ours is None else ours.deviation,
            source="" if tolerance is None else tolerance.source,
            status=self.status,
            reason=self.reason,
        )
        return asdict(row)


def inside(difference: float, tolerance: float) -> bool:
    return abs(difference) <= tolerance + 1e-12  # .80 is as far from .77 as .74 is


def compare(
    paper: str, ours: Mapping[tuple[str, str], BySeed], tolerances: Mapping[str, float]
) -> list[CellComparison]:
    """Every published cell of a paper; `ours` are cells by (corpus, model) and seed, `tolerances` conventions by table,
    or by table and measure. Statistics of corpora are left out.
    """
    found: dict[str, dict[Place, OverSeeds]] = {}
    for (corpus, model), by_seed in ours.items():
        for place, pooled in pool(model, by_seed).items():
            found.setdefault(_corpus(corpus), {})[place] = pooled
    cells = [theirs for theirs in published(paper) if theirs.trial != STATISTICS]
    return [_compared(theirs, found.get(_corpus(theirs.corpus), {}), tolerances) for theirs in cells]


def pool(model: str, by_seed: BySeed) -> dict[Place, OverSeeds]:
    """The cells of one corpus over seeds, by model, variant and measure."""
    gathered: dict[Place, list[Cell]] = {}
    for cells in by_seed.values():
        last = {(c.model or model, variant_name(c.variant), c.measure): c for c in cells}  # one a seed
        for place, cell in last.items():
            gathered.setdefault(place, []).append(cell)
    pooled = {place: over_seeds(some) for place, some in gathered.items()}
    return {place: found for place, found in pooled.items() if found is not None}


def _compared(theirs: Published, ours: Mapping[Place, OverSeeds], tolerances: Mapping[str, float]) -> CellComparison:
    variant, convention = variant_name(theirs.variant), _convention(theirs, tolerances)
    mine = ours.get((theirs.model, variant, theirs.measure))
    if mine is None:
        return CellComparison(theirs, None, None, convention=convention)
    tolerance = tolerance_of(mine, theirs.deviation, DEVIATION_OVER.get(theirs.paper), theirs.half_unit, convention)
    place = (theirs.model, variant, theirs.measure)
    reason = not_comparable(theirs.paper, theirs.corpus, theirs.table, place, estimates(ours))
    return CellComparison(theirs, mine, tolerance, reason, convention)


def not_comparable(paper: str, corpus: str, table: str, place: Place, ours: Lookup) -> str:
    """Why a figure of ours may not be compared with the one in this table; empty where it may."""
    for where, (model, variant, measure) in distances(paper, table, place):
        distance = (model, variant_name(variant), measure)
        printed = in_table(paper, corpus, where).get(distance)
        why = too_near(variant, ours(distance), None if printed is None else printed.value)
        if why:
            return why
    return ""


def estimates(ours: Mapping[Place, OverSeeds]) -> Lookup:
    """What looks up our figures of one corpus."""

    def lookup(place: Place) -> Estimate | None:
        found = _figure(ours, place)
        return None if found is None else found.estimate

    return lookup


def trainings_behind(ours: Mapping[Place, OverSeeds]) -> Callable[[Place], int]:
    """What counts the trainings behind our figures of one corpus."""

    def count(place: Place) -> int:
        found = _figure(ours, place)
        return 1 if found is None else found.seeds

    return count


def _figure(ours: Mapping[Place, OverSeeds], place: Place) -> OverSeeds | None:
    model, variant, measure = place
    return ours.get((model, variant_name(variant), measure))


@cache
def in_table(paper: str, corpus: str, table: str) -> dict[Place, Published]:
    """A table's cells for one corpus, by model, variant and measure.

    One table at a time: a paper may print the same figure in two, from different runs or rounded differently, and a
    difference between cells of two of them is nobody's.
    """
    return {
        (c.model, variant_name(c.variant), c.measure): c
        for c in published(paper)
        if c.table == table and _corpus(c.corpus) == _corpus(corpus)
    }


def _convention(theirs: Published, tolerances: Mapping[str, float]) -> float:
    given = tolerances.get(f"{theirs.table}, {theirs.measure}", tolerances.get(theirs.table, TOLERANCE))
    return given * 100 if "%" in theirs.measure else given


def same_corpus(one: str, other: str) -> bool:
    return _corpus(one) == _corpus(other)


def _corpus(name: str) -> str:
    """Papers that prepared the same texts otherwise are set beside Jain & Wallace's preparation, too; the languages
    of translations are not part of a name, nor is that a corpus was generated."""
    return SAMPLES.get(name, name.removesuffix("_jw").removesuffix("_en_de").removesuffix(GENERATED))


def variant_name(name: str) -> str:
    """λ as a number: 5e-4 and 0.0005 are the same setting."""
    head, equals, number = name.partition("lambda=")
    try:
        return f"{head}{equals}{float(number):g}" if equals else name
    except ValueError:
        return name
