"""How often one kind of interval covers the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attentest.measures.intervals import Estimate

TEXTS = (20, 100, 400)
TRAININGS = (3, 5, 9)
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
UNIT, SIGNED = (0.0, 1.0), (-1.0, 1.0)


@dataclass(frozen=True)
class Coverage:
    kind: str
    data: str
    n: int
    covered: float  # of the intervals that there are
    below: float  # the interval is wholly below the truth
    above: float
    without: float  # share of samples that have no interval
    simulations: int
    width: float | None = None  # relative to that of the percentile bootstrap, which covers less

    def __str__(self) -> str:
        width = "" if self.width is None else f"{self.width:7.2f}"
        shares = f"{self.covered:8.3f}  {self.below:8.3f}  {self.above:9.3f}  {self.without:7.3f}"
        return f"{self.kind:<28} {self.data:<40} {self.n:>5}  {shares}  {width}"


def of_limits(
    kind: str, data: str, n: int, low: np.ndarray, high: np.ndarray, truth: float, bootstrapped: float | None = None
) -> Coverage:
    rounding = 1e-12
    there = ~np.isnan(low) & ~np.isnan(high)
    if not there.any():
        return Coverage(kind, data, n, 1.0, 0.0, 0.0, 1.0, len(there))
    low, high = low[there], high[there]
    below, above = float((high < truth - rounding).mean()), float((low > truth + rounding).mean())
    width = None if bootstrapped is None else float((high - low).mean() / bootstrapped)
    return Coverage(kind, data, n, 1 - below - above, below, above, float(1 - there.mean()), len(there), width)


def of_estimates(kind: str, data: str, n: int, found: Sequence[Estimate], truth: float) -> Coverage:
    low, high = np.array([(each.low, each.high) for each in found]).T
    return of_limits(kind, data, n, low, high, truth)
