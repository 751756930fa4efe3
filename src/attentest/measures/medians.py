"""Medians and standard deviations over texts."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.quantiles import NORMAL

Values = Float[np.ndarray, "texts"]
FEWEST_FOR_A_DEVIATION = 100  # with fewer texts and skewed values, its interval covers less than it says


def median(values: Values) -> Estimate:
    """With the exact interval between two of the values, whatever their distribution (NaN left out).

    Fewer than six values have none: the median may lie beyond all of them more often than in 5 % of the samples.
    """
    kept = np.sort(values[~np.isnan(values)])
    n = len(kept)
    if not n:
        return undefined()
    value, first = float(np.median(kept)), _first(n)
    return undefined(n, value) if first is None else Estimate(value, float(kept[first]), float(kept[-1 - first]), n)


def _first(n: int) -> int | None:
    """The place of the lower limit among n values in order: the last that has the median below it seldom enough."""
    seldom, first = 0.0, None
    for place in range(n):
        # P(exactly so many values are below the median), in logarithms, as 2^n overflows
        ways = math.lgamma(n + 1) - math.lgamma(place + 1) - math.lgamma(n - place + 1)
        seldom += math.exp(ways - n * math.log(2))
        if seldom > TAIL:
            break
        first = place
    return first


def deviation(values: Values) -> Estimate:
    """The standard deviation, with the interval of Bonett (2006), which does not assume normal values (NaN left out).

    Fewer than a hundred values have none.
    """
    kept = values[~np.isnan(values)]
    n = len(kept)
    if not n:
        return undefined()
    value = float(np.std(kept))
    if n < FEWEST_FOR_A_DEVIATION or not value:
        return undefined(n, value)
    squares = np.square(kept - kept.mean()).sum()
    kurtosis = n * ((kept - _trimmed_mean(kept)) ** 4).sum() / squares**2
    scale = n / (n - NORMAL)  # of small samples
    error = scale * math.sqrt(max(0.0, kurtosis - (n - 3) / n) / (n - 1))
    middle = scale * squares / (n - 1)
    low, high = (math.sqrt(middle * math.exp(sign * NORMAL * error)) for sign in (-1, 1))
    return Estimate(value, min(low, value), max(high, value), n)


def _trimmed_mean(values: Values) -> float:
    cut = int(len(values) / (2 * math.sqrt(len(values) - 4)))
    return float(np.sort(values)[cut : len(values) - cut].mean())
