"""Confidence intervals by the bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float

RESAMPLES = 1000
_VALUES_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95 % interval over `n` values."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def independent_difference(more: Estimate, less: Estimate) -> Estimate:
    """more − less of two estimates whose errors have nothing to do with one another: their variances add up."""
    value = more.value - less.value
    below = math.hypot(more.value - more.low, less.high - less.value)
    above = math.hypot(more.high - more.value, less.value - less.low)
    return Estimate(value, value - below, value + above, min(more.n, less.n))


def bootstrap(
    values: Float[np.ndarray, "rows"],
    statistic: Callable[..., np.ndarray] = np.mean,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The statistic and its percentile interval over resampled rows; values that are not defined (NaN) are left out."""
    kept = np.asarray(values, float)
    kept = kept[~np.isnan(kept)]
    if not len(kept):
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    generator = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    step = max(1, _VALUES_AT_ONCE // len(kept))
    for start in range(0, RESAMPLES, step):
        draws = generator.integers(0, len(kept), (min(step, RESAMPLES - start), len(kept)), dtype=np.int32)
        found.append(statistic(kept[draws], axis=1))
    low, high = np.quantile(np.concatenate(found), [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(statistic(kept)), float(low), float(high), len(kept))
