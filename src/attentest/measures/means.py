"""Intervals of shares, means, paired differences and ratios over texts."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Shaped

from attentest.measures.bounded_means import lower_limits, upper_limits
from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.quantiles import beta_quantile, student_quantile

Values = Float[np.ndarray, "texts"]
ENOUGH = 40  # values that carry the variance, from which on Student's t covers what it promises


def share(hits: Shaped[np.ndarray, "texts"]) -> Estimate:
    """The share of 1 among values of 0 and 1 (NaN left out), with its exact interval (Clopper and Pearson)."""
    kept = _defined(hits)
    n, found = len(kept), float(kept.sum())
    if not n:
        return undefined()
    low = beta_quantile(found, n - found + 1, TAIL) if found else 0.0
    high = beta_quantile(found + 1, n - found, 1 - TAIL) if found < n else 1.0
    return Estimate(found / n, low, high, n)


def mean(values: Shaped[np.ndarray, "texts"], bounds: tuple[float, float] | None = None) -> Estimate:
    """The mean of values over texts (NaN left out), with the `bounds` that no value can leave.

    Student's interval where many values carry the variance. Where few do (a small sample, or rare values far from the
    others), and bounds are known, Gaffke's limits, which make no assumption on the distribution. Without bounds
    nothing is known about values that were not seen: a single value, or values that are all equal, have no interval.
    """
    kept = _defined(values)
    if not len(kept):
        return undefined()
    low, high = mean_limits(kept[None], bounds)
    return Estimate(float(kept.mean()), float(low[0]), float(high[0]), len(kept))


def mean_limits(
    samples: Float[np.ndarray, "samples texts"], bounds: tuple[float, float] | None
) -> tuple[Float[np.ndarray, "samples"], Float[np.ndarray, "samples"]]:
    """The limits of `mean` for each row of a matrix without NaN."""
    n = samples.shape[1]
    centre = samples.mean(1)
    off = samples - centre[:, None]
    squares = np.square(off).sum(1)
    constant = np.ptp(samples, axis=1) == 0
    half = np.full(len(samples), np.nan)
    if n > 1:
        half = student_quantile(1 - TAIL, n - 1) * np.sqrt(squares / (n - 1) / n)
        half[constant] = np.nan
    low, high = centre - half, centre + half
    if bounds is not None:
        carrying = np.zeros(len(samples))  # n / kurtosis: how many values carry the variance
        np.divide(squares**2, np.square(np.square(off)).sum(1), out=carrying, where=~constant)
        few = carrying < ENOUGH
        low[few], high[few] = lower_limits(samples[few], bounds[0]), upper_limits(samples[few], bounds[1])
        low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    return low, high


def share_difference(first: Shaped[np.ndarray, "texts"], second: Shaped[np.ndarray, "texts"]) -> Estimate:
    """The share of 1 in `first` less that in `second`, two columns of 0 and 1 on the same texts."""
    return mean(np.asarray(first, float) - np.asarray(second, float), (-1, 1))


def ratio(top: Shaped[np.ndarray, "texts"], bottom: Shaped[np.ndarray, "texts"]) -> Estimate:
    """mean(top) / mean(bottom) over the same texts, with Fieller's interval.

    NaN where the interval of mean(bottom) includes 0: the ratio could then be anything.
    """
    above, below = np.asarray(top, float), np.asarray(bottom, float)
    both = ~np.isnan(above) & ~np.isnan(below)
    above, below = above[both], below[both]
    n = len(above)
    if n < 2:
        return undefined(n)
    a, b = above.mean(), below.mean()
    (var_a, cov), (_, var_b) = np.cov(above, below) * student_quantile(1 - TAIL, n - 1) ** 2 / n
    # every ρ for which the interval of mean(top − ρ · bottom) includes 0
    square, linear, constant = b * b - var_b, a * b - cov, a * a - var_a
    if not square > 0:
        return undefined(n)
    root = math.sqrt(max(0.0, linear**2 - square * constant))
    return Estimate(float(a / b), (linear - root) / square, (linear + root) / square, n)


def _defined(values: Shaped[np.ndarray, "texts"]) -> Values:
    given = np.asarray(values, float)
    kept: Values = given[~np.isnan(given)]
    return kept
