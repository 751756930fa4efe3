"""Holm's correction of several p-values."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Ps = Float[np.ndarray, "tests"]


def holm(p_values: Ps) -> Ps:
    """Adjusted p-values: those below α together have a chance of at most α of a single false one. NaN stays NaN."""
    given = np.asarray(p_values, float)
    order = np.argsort(given)[: int((~np.isnan(given)).sum())]  # NaN last
    adjusted = np.full(len(given), np.nan)
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * given[order]))
    return adjusted
