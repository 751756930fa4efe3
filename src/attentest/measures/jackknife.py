"""Intervals over texts for statistics that are no means: what they are without each group of texts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.quantiles import student_quantile

GROUPS = 20
FEWEST = 100  # texts: with fewer, figures of information are biased, and their intervals cover too little


def jackknife(
    statistics: Callable[[Bool[np.ndarray, "texts"]], Float[np.ndarray, "figures"]], texts: int
) -> list[Estimate]:
    """Figures of all texts, with Student's intervals from their values without each of 20 groups of texts.

    Unlike resampling, no text is there twice: one that is, would be counted among the other texts. Fewer than a
    hundred texts have no interval.
    """
    whole = statistics(np.ones(texts, bool))
    if texts < FEWEST:
        return [undefined(texts, float(value)) for value in whole]
    without = np.array([statistics(np.arange(texts) % GROUPS != group) for group in range(GROUPS)])
    spread = np.sqrt((GROUPS - 1) / GROUPS * np.square(without - without.mean(0)).sum(0))
    half = student_quantile(1 - TAIL, GROUPS - 1) * spread
    return [_around(float(value), float(width), texts) for value, width in zip(whole, half, strict=True)]


def _around(value: float, half: float, texts: int) -> Estimate:
    return undefined(texts) if math.isnan(value + half) else Estimate(value, value - half, value + half, texts)
