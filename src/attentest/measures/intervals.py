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
    undefined,
)
from attentest.measures.means import mean, ratio, share, share_difference
from attentest.measures.two_level import over_trainings, two_level, two_level_difference, two_level_of

__all__ = [
    "Estimate",
    "bootstrap",
    "independent_difference",
    "mean",
    "over_trainings",
    "ratio",
    "share",
    "share_difference",
    "smallest_visible",
    "texts_to_decide",
    "two_level",
    "two_level_difference",
    "two_level_of",
]

RESAMPLES = 1000
_VALUES_AT_ONCE = 4_000_000


def bootstrap(
    values: Float[np.ndarray, "rows"],
    statistic: Callable[..., np.ndarray] = np.mean,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The statistic and its percentile interval over resampled rows; values that are not defined (NaN) are left out.

    For medians and the like: of means and shares, `mean` and `share` have better ones.
    """
    kept = np.asarray(values, float)
    kept = kept[~np.isnan(kept)]
    if not len(kept):
        return undefined()
    generator = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    step = max(1, _VALUES_AT_ONCE // len(kept))
    for start in range(0, RESAMPLES, step):
        draws = generator.integers(0, len(kept), (min(step, RESAMPLES - start), len(kept)), dtype=np.int32)
        found.append(statistic(kept[draws], axis=1))
    low, high = np.quantile(np.concatenate(found), [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(statistic(kept)), float(low), float(high), len(kept))
