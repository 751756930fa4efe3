"""A brute-force twin of the Jensen–Shannon divergence."""

from __future__ import annotations

import math

import numpy as np


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """JSD in nats, from its definition."""
    middle = (p + q) / 2
    return float(sum(0.5 * a * math.log(a / m) for one in (p, q) for a, m in zip(one, middle, strict=True) if a > 0))
