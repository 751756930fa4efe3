"""Estimates with their 95 % intervals: each kind covers what it promises (`python -m benchmarks.coverage`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from attentest.measures.estimate import (
    Estimate,
    independent_difference,
    smallest_visible,
    texts_to_decide,
)
from attentest.measures.means import mean, ratio, share, share_difference
from attentest.measures.medians import deviation, median
from attentest.measures.two_level import over_trainings, two_level

__all__ = [
    "Estimate",
    "bootstrap",
    "deviation",
    "independent_difference",
    "mean",
    "median",
    "over_trainings",
    "ratio",
    "share",
    "share_difference",
    "smallest_visible",
    "statistic",
    "texts_to_decide",
    "two_level",
]


def statistic(values: Float[np.ndarray, "texts"], kind: Callable[..., np.ndarray] = np.mean) -> Estimate:
    """The mean, median or standard deviation (`np.mean`, `np.median`, `np.std`) of values without known bounds."""
    return _INTERVALS[kind](np.asarray(values, float))


_INTERVALS: dict[Callable[..., np.ndarray], Callable[..., Estimate]] = {
    np.mean: mean,
    np.median: median,
    np.std: deviation,
}
bootstrap = statistic  # the name that trials know it by
