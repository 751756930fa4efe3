"""Intervals of shares, means, paired differences and ratios over texts."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Shaped

from attentest.measures.bounded_means import Limits, Samples, lower_limits, upper_limits
from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.quantiles import beta_quantile, student_quantile

Values = Float[np.ndarray, "texts"]
Bounds = tuple[float, float] | None
ENOUGH = 25  # values that carry the variance: with fewer, Student's interval covers too little


def share(hits: Shaped[np.ndarray, "texts"]) -> Estimate:
    """The share of 1 among values of 0 and 1 (NaN left out), with its exact interval (Clopper and Pearson)."""
    kept = _defined(hits)
    n, found = len(kept), float(kept.sum())
    if not n:
        return undefined()
    low = beta_quantile(found, n - found + 1, TAIL) if found else 0.0
    high = beta_quantile(found + 1, n - found, 1 - TAIL) if found < n else 1.0
    return Estimate(found / n, low, high, n)


def mean(values: Shaped[np.ndarray, "texts"], bounds: Bounds = None) -> Estimate:
    """The mean of values over texts (NaN left out), with the `bounds` that no value can leave.

    Student's interval where enough values carry the variance (n / kurtosis). Where few do, in small samples and where
    values far from the others are rare, Gaffke's limits, which assume nothing about the distribution but its bounds.
    Where no bounds are given, the extremes of the sample take their place, and the interval is at least Student's:
    nothing is known about larger values that were not seen, so a single value or equal values have no interval (NaN).
    """
    kept = _defined(values)
    if not len(kept):
        return undefined()
    if bounds is not None:
        kept = np.clip(kept, *bounds)  # rounding may leave a hair outside
    low, high = mean_limits(kept[None], bounds)
    return Estimate(float(kept.mean()), float(low[0]), float(high[0]), len(kept))


def mean_limits(samples: Samples, bounds: Bounds) -> tuple[Limits, Limits]:
    """The limits of `mean` for each row of a matrix without NaN."""
    n = samples.shape[1]
    centre = samples.mean(1)
    least, most = samples.min(1), samples.max(1)
    varied = most > least
    squares = np.square(samples - centre[:, None])
    variance = squares.sum(1) / max(n - 1, 1)
    half = student_quantile(1 - TAIL, max(n - 1, 1)) * np.sqrt(variance / n)
    low, high = centre - half, centre + half
    carrying = np.zeros(len(samples))
    np.divide(squares.sum(1) ** 2, np.square(squares).sum(1), out=carrying, where=varied)
    few = carrying < ENOUGH
    if bounds is not None:
        low[few], high[few] = lower_limits(samples[few], bounds[0]), upper_limits(samples[few], bounds[1])
        return np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    low[few] = np.minimum(low[few], lower_limits(samples[few], least[few]))
    high[few] = np.maximum(high[few], upper_limits(samples[few], most[few]))
    return np.where(varied, low, np.nan), np.where(varied, high, np.nan)


def share_difference(first: Shaped[np.ndarray, "texts"], second: Shaped[np.ndarray, "texts"]) -> Estimate:
    """The share of 1 in `first` less that in `second`, two columns of 0 and 1 on the same texts."""
    return mean(np.asarray(first, float) - np.asarray(second, float), (-1, 1))


def ratio(top: Shaped[np.ndarray, "texts"], bottom: Shaped[np.ndarray, "texts"]) -> Estimate:
    """mean(top) / mean(bottom) over the same texts, with Fieller's interval.

    NaN unless the interval of mean(bottom) is above 0: around 0 the ratio could be anything, and below it a larger top
    would mean a smaller ratio. Where less is better, turn both round.
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
    if not (b > 0 and square > 0):
        return undefined(n)
    root = math.sqrt(max(0.0, linear**2 - square * constant))
    return Estimate(float(a / b), (linear - root) / square, (linear + root) / square, n)


def _defined(values: Shaped[np.ndarray, "texts"]) -> Values:
    given = np.asarray(values, float)
    kept: Values = given[~np.isnan(given)]
    return kept
