"""Quantiles of the beta distribution and of Student's t."""

from __future__ import annotations

import math
from functools import lru_cache

NORMAL = 1.959963984540054  # of the normal distribution, for 2.5 % beyond each limit
_TINY = 1e-300
_MOST_TERMS = 100_000


def beta_share(a: float, b: float, x: float) -> float:
    """P(X ≤ x) of a beta distribution: the regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, that of the complement does not
        return 1 - _front(a, b, x) * _fraction(b, a, 1 - x) / b
    return _front(a, b, x) * _fraction(a, b, x) / a


def _front(a: float, b: float, x: float) -> float:
    """x^a (1 − x)^b / B(a, b), in logarithms."""
    complete = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - complete)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1/(1 + d₁/(1 + d₂/(1 + …))), from the front (modified Lentz)."""
    value, c, d = _TINY, _TINY, 0.0
    for i in range(_MOST_TERMS):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d or _TINY)
        c = 1 + term / c or _TINY
        value *= c * d
        if i and abs(c * d - 1) < 1e-15:
            break
    return value


@lru_cache(maxsize=4096)
def beta_quantile(a: float, b: float, share: float) -> float:
    """The x with P(X ≤ x) = `share`: Newton's steps on log x, halving where one would leave the bracket."""
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(200):
        error = beta_share(a, b, x) - share
        low, high = (x, high) if error < 0 else (low, x)
        density = _front(a, b, x) / (x * (1 - x))
        step = x - error / density if density > 0 else low
        following = step if low < step < high else (low + high) / 2
        if abs(following - x) <= 1e-15 * x or following in (low, high):
            return following
        x = following
    return x


@lru_cache(maxsize=4096)
def student_quantile(share: float, degrees: float) -> float:
    """Of Student's t, for a share above ½."""
    # t² / (degrees + t²) has a beta distribution; taken from the end that is small, so that no digits are lost
    rest = beta_quantile(degrees / 2, 0.5, 2 * (1 - share))
    return math.sqrt(degrees * (1 - rest) / rest)
