"""Intervals over trainings and texts: another seed and other texts would both have given another figure."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    return _interval(mean(kept.mean(0), bounds), [kept.mean(1)])


def two_level_difference(more: ByTraining, less: ByTraining, bounds: Bounds = None) -> Estimate:
    """Mean of `more` − mean of `less` over the same texts; their trainings have nothing to do with one another.

    `bounds` are those of a text's difference. No interval where either has a single training.
    """
    both = _defined(np.concatenate([np.asarray(more, float), np.asarray(less, float)]))
    first, second = both[: len(more)], both[len(more) :]
    if not (first.size and second.size):
        return undefined()
    return _interval(mean(first.mean(0) - second.mean(0), bounds), [first.mean(1), second.mean(1)])


def two_level_of(
    by_training: Float[np.ndarray, "trainings"], resampled: Float[np.ndarray, "draws"], n: int = 0
) -> Estimate:
    """A statistic that is no mean over texts, such as F1: its value in each training, and in resampled texts.

    `resampled` has one value for each draw of texts, the mean over trainings (or a column for each training). `n` is
    the number of texts.
    """
    each = np.asarray(by_training, float)
    drawn = np.asarray(resampled, float)
    drawn = drawn.mean(1) if drawn.ndim == 2 else drawn
    low, high = np.nanquantile(drawn, [TAIL, 1 - TAIL]) if len(drawn) else (math.nan, math.nan)
    return over_trainings(Estimate(float(each.mean()), float(low), float(high), n), each)


def over_trainings(over_texts: Estimate, by_training: Float[np.ndarray, "trainings"]) -> Estimate:
    """An estimate over texts of the mean over trainings, widened by how much the value differs between them."""
    return _interval(over_texts, [by_training])


def _interval(over_texts: Estimate, trainings: Sequence[Float[np.ndarray, "trainings"]]) -> Estimate:
    """The interval over texts, widened by those over trainings: squares of half-widths add up."""
    value, n = over_texts.value, over_texts.n
    if any(len(means) < 2 for means in trainings):
        return undefined(n, value)
    halves = [
        student_quantile(1 - TAIL, len(means) - 1) * math.sqrt(means.var(ddof=1) / len(means)) for means in trainings
    ]
    low = value - math.hypot(value - over_texts.low, *halves)
    high = value + math.hypot(over_texts.high - value, *halves)
    return Estimate(value, low, high, n)


def _defined(values: ByTraining) -> ByTraining:
    kept = np.asarray(values, float)
    return kept[:, ~np.isnan(kept).any(0)]
