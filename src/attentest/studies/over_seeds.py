"""One figure of several trainings that differ only in their seeds: mean, spread and interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attentest.measures.estimate import TAIL
from attentest.measures.intervals import Estimate, over_trainings
from attentest.measures.quantiles import student_quantile
from attentest.trials.cells import Cell


@dataclass(frozen=True)
class OverSeeds:
    """`estimate` has the mean over trainings; its interval is over texts and trainings, or over texts alone where there
    is one training."""

    estimate: Estimate
    texts: float  # half of the interval over texts alone; 0 where there is none
    values: tuple[float, ...]  # of each training
    over_texts: float | None = None  # standard deviation over texts, on average

    @property
    def seeds(self) -> int:
        return len(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation over trainings; a single one has none."""
        return float(np.std(self.values, ddof=1)) if self.seeds > 1 else None

    @property
    def one_more(self) -> float:
        """Half of the interval in which one more training would lie (Student's, with 95 % probability)."""
        if self.deviation is None:
            return math.nan
        return student_quantile(1 - TAIL, self.seeds - 1) * self.deviation * math.sqrt(1 + 1 / self.seeds)


def over_seeds(cells: Iterable[Cell]) -> OverSeeds | None:
    """Of the same cell, one for each training; None where none has a value.

    The texts are the same in all trainings: the mean's interval over texts is taken as wide as theirs are on average,
    over those trainings that have one. Where none has, the interval is over trainings alone.
    """
    some = [cell for cell in cells if not math.isnan(cell.value)]
    if not some:
        return None
    values = np.array([cell.value for cell in some])
    value = float(values.mean())
    known = [cell for cell in some if not math.isnan(cell.low + cell.high)] or some
    below = float(np.mean([cell.value - cell.low for cell in known]))
    above = float(np.mean([cell.high - cell.value for cell in known]))
    n, half = min(cell.n for cell in known), (below + above) / 2
    if len(some) > 1:
        below, above = (0.0 if math.isnan(side) else side for side in (below, above))
    over_texts = Estimate(value, value - below, value + above, n)
    estimate = over_texts if len(some) == 1 else over_trainings(over_texts, values)
    return OverSeeds(estimate, 0.0 if math.isnan(half) else half, tuple(map(float, values)), _mean(some))


def _mean(cells: Iterable[Cell]) -> float | None:
    known = [cell.deviation for cell in cells if cell.deviation is not None]
    return float(np.mean(known)) if known else None
