"""Intervals over trainings and texts: another seed and other texts would both have given another figure."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.means import Bounds, mean
from attentest.measures.quantiles import student_quantile

ByTraining = Float[np.ndarray, "trainings texts"]


def two_level(values: ByTraining, bounds: Bounds = None) -> Estimate:
    """The mean over trainings and texts (a text that is NaN in any training is left out).

    The interval of `mean` over texts (`bounds` as there) and Student's over trainings, whose half-widths are added as
    squares; Satterthwaite's degrees of freedom would give less, but cover too little with three trainings. A single
    training has no interval (NaN): how much another would differ is not known.
    """
    kept = _defined(values)
    if not kept.size:
        return undefined()
    return over_trainings(mean(kept.mean(0), bounds), kept.mean(1))


def over_trainings(over_texts: Estimate, by_training: Float[np.ndarray, "trainings"]) -> Estimate:
    """An estimate over texts of the mean over trainings, widened by how much the value differs between them: squares
    of half-widths add up."""
    value, n, trainings = over_texts.value, over_texts.n, len(by_training)
    if trainings < 2:
        return undefined(n, value)
    half = student_quantile(1 - TAIL, trainings - 1) * math.sqrt(by_training.var(ddof=1) / trainings)
    low = value - math.hypot(value - over_texts.low, half)
    high = value + math.hypot(over_texts.high - value, half)
    return Estimate(value, low, high, n)


def _defined(values: ByTraining) -> ByTraining:
    kept = np.asarray(values, float)
    return kept[:, ~np.isnan(kept).any(0)]
