"""Cells: single figures with the words that published tables name them by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from attentest.measures.intervals import Estimate


@dataclass(frozen=True)
class Cell:
    variant: str
    measure: str
    value: float
    low: float
    high: float
    model: str = ""  # where it is another than the base's
    jsd: float | None = None  # of an adversary's figure: how far its weights are from the base's
    deviation: float | None = None  # of a mean: the standard deviation over texts
    n: int = 0  # texts behind it; 0 where that is not known


def cell(
    variant: str,
    measure: str,
    estimate: Estimate,
    factor: float = 1.0,
    model: str = "",
    *,
    jsd: float | None = None,
    deviation: float | None = None,
) -> Cell:
    value, low, high = (factor * x for x in (estimate.value, estimate.low, estimate.high))
    return Cell(variant, measure, value, low, high, model, jsd, deviation, estimate.n)


def with_jsd(cells: Iterable[Cell], jsd: Estimate) -> list[Cell]:
    """The figures of an adversary, with how far it is from its base: too near, it is none."""
    return [replace(one, jsd=jsd.value) for one in cells]
