"""Weighted Kendall correlation (Shieh 1998): mistakes among heavy items count more."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Values = Float[np.ndarray, "items"]


def weighted_tau(x: Values, y: Values, weights: Values) -> float:
    """Σ w_i w_j sgn(x_i − x_j) sgn(y_i − y_j) / Σ w_i w_j over pairs i < j; NaN for fewer than two items."""
    first, second = np.triu_indices(len(x), 1)
    pair_weights = weights[first] * weights[second]
    if not pair_weights.sum() > 0:
        return float("nan")
    agreement = np.sign(x[first] - x[second]) * np.sign(y[first] - y[second])
    return float((pair_weights * agreement).sum() / pair_weights.sum())
