"""How far ours may be from a published figure, and who says so."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attentest.measures.quantiles import NORMAL
from attentest.studies.over_seeds import OverSeeds

PRINTED, SPREAD, CONVENTION = "printed deviation", "spread over our seeds", "our convention"
ENOUGH_SEEDS = 3  # for a tolerance from their spread: of two trainings it would be 16 standard deviations
MOST = 3.0  # times the convention: a spread beyond that would let nearly any figure pass
TOLERANCE = 0.05  # the convention for tables that state no other
# What the deviations that a paper prints are over; those over texts say nothing about another training. Vashishth et
# al. never say what their ± is over: trainings are our assumption.
DEVIATION_OVER = {"vashishth2019": "trainings", "jain2019": "texts", "meister2021": "texts"}


@dataclass(frozen=True)
class Tolerance:
    value: float
    source: str


def tolerance_of(
    ours: OverSeeds, deviation: float | None, over: str | None, half_unit: float, convention: float
) -> Tolerance:
    """Where the paper prints a deviation over trainings, 1.96 of it; else the interval of one more training of ours, if
    there are three or more. Both widen with our own uncertainty (half-widths are added as squares) and by half a unit
    of the last printed digit. Where there is neither, or they are too wide to say anything, the convention.
    """
    if deviation is not None and over == "trainings":
        return _bounded(math.hypot(NORMAL * deviation, _half(ours)) + half_unit, PRINTED, convention)
    if ours.seeds >= ENOUGH_SEEDS:
        return _bounded(math.hypot(ours.one_more, ours.texts) + half_unit, SPREAD, convention)
    return Tolerance(convention, CONVENTION)


def _bounded(value: float, source: str, convention: float) -> Tolerance:
    return Tolerance(value, source) if value <= MOST * convention else Tolerance(convention, CONVENTION)


def _half(ours: OverSeeds) -> float:
    half = (ours.estimate.high - ours.estimate.low) / 2
    return 0.0 if math.isnan(half) else half
