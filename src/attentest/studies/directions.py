"""Directions: what a paper found, as one figure more than another, and whether ours says the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from attentest.measures.intervals import Estimate, independent_difference
from attentest.studies.cells import GAIN
from attentest.studies.comparable import Lookup, Place
from attentest.studies.published import Published, in_table, not_comparable
from attentest.studies.verdict.deciding import TEXTS, by_more_trainings
from attentest.trials.base import BIN_NAMES
from attentest.trials.cells import Cell

FOUND, CONTRARY, OPEN, UNTESTED = "found", "the contrary", "cannot be told", "not tested"
NOT_COMPARABLE = "not comparable"
TheirLookup = Callable[["Direction"], Lookup]
Trainings = Callable[[Place], int]  # behind a figure of ours
CLUSTERINGS = "clusterings"  # the interval of a weighted τ is over them, on the same texts
COUNTED = {"weighted tau": CLUSTERINGS, "delta weighted tau": CLUSTERINGS}  # other figures are averages over texts
IN_BIN = {f"largest weight in {name}": f"texts with a largest weight in {name}" for name in BIN_NAMES}


@dataclass(frozen=True)
class Side:
    """A figure: one of the study's cells, or a number that the claim is about."""

    variant: str = ""
    measure: str = ""
    model: str = ""  # the study's first if not given
    number: float | None = None

    def estimate(self, lookup: Lookup, model: str) -> Estimate | None:
        if self.number is not None:
            return Estimate(self.number, self.number, self.number, 0)
        return lookup((self.model or model, self.variant, self.measure))


@dataclass(frozen=True)
class Direction:
    """`more` is larger than `less`."""

    says: str
    source: str
    more: Side
    less: Side
    task: str = ""  # the kind of corpora that it is claimed for: single, pair or generation; all if not given
    corpora: tuple[str, ...] = ()  # that it is claimed for; all if not given

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Direction:
        more, less, corpora = Side(**row["more"]), Side(**row["less"]), tuple(row["corpora"])
        return cls(row["says"], row["source"], more, less, row["task"], corpora)

    def is_about(self, corpus: str, task: str) -> bool:
        return self.task in ("", task) and (not self.corpora or corpus in self.corpora)


@dataclass(frozen=True)
class Replication:
    """The difference more − less, and what it says about the direction."""

    corpus: str
    says: str
    source: str
    theirs: float | None  # None in JSON where it is not defined
    ours: float | None
    low: float | None
    high: float | None
    replicated: str
    decides: str = ""  # of one that cannot be told: what would; of one that is not comparable: why

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


def examine(
    directions: Iterable[Direction],
    corpus: str,
    model: str,
    ours: Lookup,
    theirs: TheirLookup,
    *,
    paper: str = "",
    trainings: Trainings = lambda _: 1,
) -> list[Replication]:
    """`model` is the corpus's first one."""
    found = []
    for direction in directions:
        figure = _difference(direction, ours, model)
        published = _difference(direction, theirs(direction), model).value
        empty = _empty_bin(direction, model, ours)
        said = OPEN if empty else _replicated(figure)
        why = "" if said == UNTESTED else _unfit(direction, paper, corpus, model, ours)
        if why:
            said = NOT_COMPARABLE
        elif said == OPEN:
            places = _places(direction, model)
            behind = min((trainings(place) for place in places), default=1)
            why = empty or _to_decide(figure, behind, _counted(places))
        interval = (figure.value, figure.low, figure.high)
        found.append(Replication(corpus, direction.says, direction.source, published, *interval, said, why))
    return found


def _unfit(direction: Direction, paper: str, corpus: str, model: str, ours: Lookup) -> str:
    """Why one of the sides may not be compared; empty where both may."""
    places = _places(direction, model) if paper else []
    reasons = (not_comparable(paper, corpus, direction.source, place, ours) for place in places)
    return next((reason for reason in reasons if reason), "")


def _places(direction: Direction, model: str) -> list[Place]:
    sides = [side for side in (direction.more, direction.less) if side.number is None]
    return [(side.model or model, side.variant, side.measure) for side in sides]


def _counted(places: Iterable[Place]) -> str:
    """What the figures' `n` counts: of two sides the one that is not simply texts."""
    of = [COUNTED.get(measure) or IN_BIN.get(_bin(variant), TEXTS) for _, variant, measure in places]
    return next((one for one in of if one != TEXTS), TEXTS)


def _bin(variant: str) -> str:
    """What comes before the class: "largest weight in [.75, 1], class 0" is of that bin."""
    return variant.partition(", class ")[0]


def _empty_bin(direction: Direction, model: str, ours: Lookup) -> str:
    """That no text is in a bin of the largest weights, where the same trial has other figures."""
    for of, variant, measure in _places(direction, model):
        name, in_class, _ = variant.partition(", class ")
        if name not in IN_BIN or ours((of, variant, measure)) is not None:
            continue
        others = [f"{one}{in_class}{number}" for one in IN_BIN for number in (range(2) if in_class else [""])]
        if any(ours((of, other, measure)) is not None for other in ("permuted", *others)):
            return f"there are no {IN_BIN[name]}"
    return ""


def _to_decide(figure: Estimate, trainings: int, of: str) -> str:
    if math.isnan(figure.low) or math.isnan(figure.high):
        return _without_interval(figure.n, of)
    if not figure.n:
        return f"the number of {of} behind it is not known"
    return by_more_trainings(figure, 0, trainings, of).says


def _without_interval(n: int, of: str) -> str:
    if not n:
        return f"it has no interval, and the number of {of} behind it is not known"
    if of == CLUSTERINGS:
        return f"it has no interval: its {n:,} {of} are too few, or all give the same figure"
    return f"it has no interval: {n:,} {of} are too few"


def of_cells(cells: Mapping[Place, Cell]) -> Lookup:
    def lookup(place: Place) -> Estimate | None:
        cell = cells.get(place)
        return None if cell is None else Estimate(cell.value, cell.low, cell.high, cell.n)

    return lookup


def printed_by(paper: str, corpus: str) -> TheirLookup:
    """What a paper prints about a corpus, for each direction in the table that it names as its source and no other."""

    def of_direction(direction: Direction) -> Lookup:
        return of_published(in_table(paper, corpus, direction.source) if paper else {})

    return of_direction


def of_published(cells: Mapping[Place, Published]) -> Lookup:
    """Papers print both sides of a gain, not the gain."""

    def lookup(place: Place) -> Estimate | None:
        model, variant, measure = place
        plain, gain, other = measure.partition(GAIN)
        sides = [cells.get((model, name, plain)) for name in ((variant, other) if gain else (variant,))]
        if any(side is None for side in sides):
            return None
        value = sides[0].value - (sides[1].value if gain else 0.0)  # type: ignore[union-attr]
        return Estimate(value, value, value, 0)

    return lookup


def _difference(direction: Direction, lookup: Lookup, model: str) -> Estimate:
    more, less = (side.estimate(lookup, model) for side in (direction.more, direction.less))
    if more is None or less is None:
        return Estimate(math.nan, math.nan, math.nan, 0)
    # careful where both sides stand on the same texts
    found = independent_difference(more, less)
    numbers = [side.number is not None for side in (direction.more, direction.less)]
    return replace(found, n=max(more.n, less.n)) if any(numbers) else found  # a number stands on no texts


def _replicated(difference: Estimate) -> str:
    if math.isnan(difference.value):
        return UNTESTED
    if difference.low > 0:
        return FOUND
    return CONTRARY if difference.high < 0 else OPEN
