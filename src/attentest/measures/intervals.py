"""Estimates with their 95 % intervals: each kind covers what it promises (`python -m benchmarks.coverage`)."""

from __future__ import annotations

from attentest.measures.estimate import (
    Estimate,
    independent_difference,
    smallest_visible,
    texts_to_decide,
    texts_to_separate,
)
from attentest.measures.means import mean, ratio, share, share_difference
from attentest.measures.medians import deviation, median
from attentest.measures.two_level import over_trainings, two_level

__all__ = [
    "Estimate",
    "deviation",
    "independent_difference",
    "mean",
    "median",
    "over_trainings",
    "ratio",
    "share",
    "share_difference",
    "smallest_visible",
    "texts_to_decide",
    "texts_to_separate",
    "two_level",
]
