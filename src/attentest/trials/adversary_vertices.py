"""The exact instance adversary for two classes and an affine decoder.

JSD to the model's weights is convex in the other weights, and TVD ≤ ε bounds one linear function of them, the margin
Σ α'_i m_i, between two values. The largest JSD over that slice of the simplex lies on one of its vertices: all weight
on one token whose margin is inside, or two tokens, one on each side of a bound, mixed so that the bound is met exactly.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.trials.reading import Reading

_PAIRS_AT_ONCE = 1_000_000


def best_vertices(
    reading: Reading, epsilon: float, k: int
) -> tuple[Float[Tensor, "batch k tokens"], Int[Tensor, "batch"]]:
    """The k vertices of largest JSD a text, best first, and how many there were; too few repeat the best one."""
    assert reading.margins is not None
    step = max(1, _PAIRS_AT_ONCE // reading.mask.shape[1] ** 2)
    parts = [
        _best_of_chunk(reading.margins[s], reading.weights[s], reading.mask[s], reading.probabilities[s, 1], epsilon, k)
        for s in (slice(i, i + step) for i in range(0, len(reading.batch), step))
    ]
    return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


def _best_of_chunk(
    margins: Tensor, weights: Tensor, mask: Tensor, probability: Tensor, epsilon: float, k: int
) -> tuple[Tensor, Tensor]:
    tokens = margins.shape[1]
    low, high = _bounds(probability, epsilon)
    alone = _jsd_of_one(weights)
    inside = mask & (margins >= low.unsqueeze(1)) & (margins <= high.unsqueeze(1))
    scores = [torch.where(inside, alone, -1.0)]
    shares = []
    for bound in (low, high):
        share, score = _mixtures(margins, weights, mask, bound)
        scores.append(score.flatten(1))
        shares.append(share.flatten(1))
    every = torch.cat(scores, 1)
    best, which = every.topk(min(k, every.shape[1]), 1)
    count = (best >= 0).sum(1)
    which = torch.where(best >= 0, which, which[:, :1])
    return _weights_of(which, torch.cat(shares, 1), tokens), count


def _bounds(probability: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Margins at which the probability is ε lower and higher; infinite where it cannot go that far."""
    return (probability - epsilon).clamp(0, 1).logit(), (probability + epsilon).clamp(0, 1).logit()


def _gain(share: Tensor, weight: Tensor) -> Tensor:
    """What a token with the model's weight and an adversary's share adds to the JSD, beyond ½ ln 2 · (−weight)."""
    both = (share + weight) / 2
    return (share.xlogy(share) + weight.xlogy(weight)) / 2 - both.xlogy(both) - math.log(2) / 2 * weight


def _jsd_of_one(weights: Tensor) -> Tensor:
    """JSD of all weight on one token: tokens without a share add ½ ln 2 of their weight."""
    return math.log(2) / 2 + _gain(torch.ones_like(weights), weights)


def _mixtures(margins: Tensor, weights: Tensor, mask: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """For tokens i under and j over the bound: i's share in the mixture that meets it, and its JSD (−1: no pair)."""
    under = mask & (margins < bound.unsqueeze(1))
    over = mask & (margins > bound.unsqueeze(1))
    possible = under.unsqueeze(2) & over.unsqueeze(1) & bound.isfinite()[:, None, None]
    gap = (margins.unsqueeze(1) - margins.unsqueeze(2)).masked_fill(~possible, 1.0)
    share = ((margins - bound.unsqueeze(1)).unsqueeze(1) / gap).masked_fill(~possible, 0.5)
    score = math.log(2) / 2 + _gain(share, weights.unsqueeze(2)) + _gain(1 - share, weights.unsqueeze(1))
    return share, score.masked_fill(~possible, -1.0)


def _weights_of(which: Tensor, shares: Tensor, tokens: int) -> Tensor:
    """Vertices as weights: the first `tokens` are single tokens, then (i, j) pairs for the low and the high bound."""
    pair = (which - tokens).clamp(min=0)
    single = which < tokens
    first = torch.where(single, which, pair % tokens**2 // tokens)
    second = torch.where(single, which, pair % tokens)
    share = torch.where(single, 1.0, shares.gather(1, pair))
    found = torch.zeros(*which.shape, tokens, dtype=shares.dtype, device=which.device)
    found.scatter_add_(2, first.unsqueeze(2), share.unsqueeze(2))
    return found.scatter_add_(2, second.unsqueeze(2), (1 - share).unsqueeze(2))
