"""Limits of the mean of a variable with known bounds, valid also where values other than the common one are rare.

Gaffke's limit: add one value at the bound; the limit is a quantile of the mean with random weights (Dirichlet, all
parameters 1). For values of 0 and 1 that is the exact limit of Clopper and Pearson. The quantile comes from the
saddlepoint approximation of such means (relative error below a hundredth), so nothing is drawn at random.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attentest.measures.quantiles import NORMAL

Samples = Float[np.ndarray, "samples values"]
Limits = Float[np.ndarray, "samples"]
_HALVINGS = 36  # of a range of 48 in log δ: to a billionth


def upper_limits(samples: Samples, bound: Limits | float) -> Limits:
    """The limit above the mean of each row, of values that are never above `bound`."""
    bounds = np.broadcast_to(np.asarray(bound, float), len(samples))[:, None]
    gaps = np.concatenate([np.maximum(bounds - samples, 0), np.zeros((len(samples), 1))], axis=1)
    scale = np.where(gaps.max(1) > 0, gaps.max(1), 1)
    gaps /= scale[:, None]
    # weights in proportion to 1 / (δ + gap): the smaller δ, the nearer the weighted mean is to the bound
    low, high = np.full(len(gaps), math.log(1e-12)), np.full(len(gaps), math.log(1e9))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        too_far = _distance(_weights(gaps, np.exp(middle))) > NORMAL
        low, high = np.where(too_far, middle, low), np.where(too_far, high, middle)
    weights = _weights(gaps, np.exp(high))
    limits: Limits = bounds[:, 0] - scale * (weights * gaps).mean(1)
    return limits


def lower_limits(samples: Samples, bound: Limits | float) -> Limits:
    """The limit below the mean of each row, of values that are never below `bound`."""
    return 0 - upper_limits(-samples, -np.asarray(bound, float))


def _weights(gaps: Samples, delta: Limits) -> Samples:
    """Their mean is 1."""
    weights = 1 / (delta[:, None] + gaps)
    scaled: Samples = weights / weights.mean(1, keepdims=True)
    return scaled


def _distance(weights: Samples) -> Limits:
    """The normal quantile of the share of random means below the one with these weights (Barndorff-Nielsen's r*)."""
    root = np.sqrt(np.maximum(-2 * np.log(weights).sum(1), 1e-300))
    spread = np.sqrt(np.maximum(np.square(weights - 1).sum(1), 1e-300))
    found: Limits = root + np.log(spread / root) / root
    return np.where(root > 1e-6, found, 0)
