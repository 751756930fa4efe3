"""Cells: single figures with the words that published tables name them by."""

from __future__ import annotations

from dataclasses import dataclass

from attentest.measures.intervals import Estimate


@dataclass(frozen=True)
class Cell:
    variant: str
    measure: str
    value: float
    low: float
    high: float
    model: str = ""  # where it is another than the base's
    n: int = 0  # texts behind it; 0 where that is not known


def cell(variant: str, measure: str, estimate: Estimate, factor: float = 1.0, model: str = "") -> Cell:
    value, low, high = (factor * x for x in (estimate.value, estimate.low, estimate.high))
    return Cell(variant, measure, value, low, high, model, estimate.n)
