"""Directions: what a paper found, as one figure more than another, and whether ours says the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from attentest.measures.intervals import Estimate, independent_difference
from attentest.studies.cells import GAIN
from attentest.studies.published import Published
from attentest.trials.cells import Cell

FOUND, CONTRARY, OPEN, UNTESTED = "found", "the contrary", "cannot be told", "not tested"
Place = tuple[str, str, str]  # model, variant, measure
Lookup = Callable[[Place], Estimate | None]


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

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Direction:
        return cls(row["says"], row["source"], Side(**row["more"]), Side(**row["less"]), row["task"])

    def is_about(self, task: str) -> bool:
        return self.task in ("", task)


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

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


def examine(
    directions: Iterable[Direction], corpus: str, model: str, ours: Lookup, theirs: Lookup
) -> list[Replication]:
    found = []
    for direction in directions:
        figure, published = (_difference(direction, lookup, model) for lookup in (ours, theirs))
        interval = (figure.value, figure.low, figure.high)
        said = (corpus, direction.says, direction.source, published.value)
        found.append(Replication(*said, *interval, replicated=_replicated(figure)))
    return found


def of_cells(cells: Mapping[Place, Cell]) -> Lookup:
    def lookup(place: Place) -> Estimate | None:
        cell = cells.get(place)
        return None if cell is None else Estimate(cell.value, cell.low, cell.high, 0)

    return lookup


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
    return independent_difference(more, less)


def _replicated(difference: Estimate) -> str:
    if math.isnan(difference.low) or math.isnan(difference.high):
        return UNTESTED
    if difference.low > 0:
        return FOUND
    return CONTRARY if difference.high < 0 else OPEN
