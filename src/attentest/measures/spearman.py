"""Rank correlation of two columns."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.quantiles import student_quantile

_FEWEST = 4  # texts that have an interval


def spearman(first: Float[np.ndarray, "texts"], second: Float[np.ndarray, "texts"]) -> Estimate:
    """Spearman's ρ, texts with NaN left out; the interval is Fisher's, with the variance of Bonett and Wright (2000).

    NaN where a column has one value only.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    n = int(both.sum())
    x, y = _ranks(first[both]), _ranks(second[both])
    if n < _FEWEST or not np.ptp(x) or not np.ptp(y):
        return undefined(n)
    value = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    half = student_quantile(1 - TAIL, n - 1) * math.sqrt((1 + value**2 / 2) / (n - 3))
    centre = math.atanh(np.clip(value, -1 + 1e-12, 1 - 1e-12))
    return Estimate(value, min(value, math.tanh(centre - half)), max(value, math.tanh(centre + half)), n)


def _ranks(values: Float[np.ndarray, "texts"]) -> Float[np.ndarray, "texts"]:
    """From 1; equal values share the mean of their ranks."""
    _, kind, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(count) - (count - 1) / 2)[kind]
    return ranks
