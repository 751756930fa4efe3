"""A statistic with its interval, and what its width says about the number of texts."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2
MOST_TEXTS = 1_000_000


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95 % interval over `n` values."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "not defined"
        if math.isnan(self.low) or math.isnan(self.high):
            return f"{self.value:z.3f} (no interval)"
        return f"{self.value:z.3f} [{self.low:z.3f}, {self.high:z.3f}]"

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def undefined(n: int = 0, value: float = math.nan) -> Estimate:
    """An estimate without an interval, and without a value unless one is given."""
    return Estimate(value, math.nan, math.nan, n)


def independent_difference(more: Estimate, less: Estimate) -> Estimate:
    """more − less of two estimates whose errors have nothing to do with one another: their variances add up."""
    value = more.value - less.value
    below = math.hypot(more.value - more.low, less.high - less.value)
    above = math.hypot(more.high - more.value, less.value - less.low)
    return Estimate(value, value - below, value + above, min(more.n, less.n))


def smallest_visible(estimate: Estimate) -> float:
    """The smallest effect that this number of texts could show: half the interval's width."""
    return (estimate.high - estimate.low) / 2


def texts_to_decide(estimate: Estimate, threshold: float) -> int | None:
    """About how many texts would move the interval off the threshold, if the value stayed as it is.

    What counts is the side of the interval that faces the threshold; it shrinks with the square root of the number of
    texts. Never fewer texts than there are. Rounded up to two digits; None where the value is at the threshold, where
    there is no interval, and where more than a million texts would be needed.
    """
    distance = abs(estimate.value - threshold)
    facing = estimate.high - estimate.value if estimate.value < threshold else estimate.value - estimate.low
    return _scaled(estimate.n, facing, distance)


def texts_to_separate(more: Estimate, less: Estimate) -> int | None:
    """About how many texts would part two intervals, if the values stayed as they are: both shrink as in
    `texts_to_decide`. None where the first value is not above the second."""
    return _scaled(max(more.n, less.n), (more.value - more.low) + (less.high - less.value), more.value - less.value)


def _scaled(n: int, width: float, distance: float) -> int | None:
    """How many texts make a width of so many no larger than the distance."""
    if not distance > 0 or math.isnan(width):
        return None
    needed = n * max(1.0, width / distance) ** 2
    if needed > MOST_TEXTS:
        return None
    unit = int(10 ** max(0, math.floor(math.log10(max(needed, 1))) - 1))
    return math.ceil(round(needed / unit, 6)) * unit  # 400.0000001 is 400
