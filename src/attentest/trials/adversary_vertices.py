"""The exact instance adversary for two classes and an affine decoder.

JSD to the model's weights is convex in the other weights, and TVD ≤ ε bounds one linear function of them, the margin
Σ α'_i m_i, between two values. The largest JSD over that slice of the simplex lies on one of its vertices: all weight
on one token whose margin is inside, or two tokens, one on each side of a bound, mixed so that the bound is met exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.trials.reading import Reading

_PAIRS_AT_ONCE = 65_536  # so many that calls do not count, so few that they stay in cache
_NONE = -10.0  # instead of a JSD, where there is no vertex


@dataclass(frozen=True)
class Vertices:
    """Two tokens of each text (the same one twice for a single token), the first one's share, and the JSD."""

    score: Float[Tensor, "batch vertices"]
    first: Int[Tensor, "batch vertices"]
    second: Int[Tensor, "batch vertices"]
    share: Float[Tensor, "batch vertices"]

    def best(self, k: int) -> Vertices:
        score, which = self.score.topk(min(k, self.score.shape[1]), 1)
        return Vertices(score, *(values.gather(1, which) for values in (self.first, self.second, self.share)))

    def with_more(self, other: Vertices) -> Vertices:
        return Vertices(
            *(torch.cat((mine, more), 1) for mine, more in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def best_vertices(
    reading: Reading, epsilon: float, k: int
) -> tuple[Float[Tensor, "batch k tokens"], Int[Tensor, "batch"]]:
    """The k vertices of largest JSD a text, best first, and how many there were; too few repeat the best one."""
    assert reading.margins is not None
    tokens = reading.mask.shape[1]
    k = min(k, tokens + tokens**2 // 2)  # there are no more
    low, high = _bounds(reading.probabilities[:, 1], epsilon)
    # in order of margin the tokens under a bound come first, and padding last
    margins, order = reading.margins.masked_fill(~reading.mask, torch.inf).sort(1)
    weights = reading.weights.gather(1, order)
    found = _single(margins, weights, low, high).best(k)
    for bound in (low, high):
        found = found.with_more(_pairs(margins, weights, reading.lengths, bound, k)).best(k)
    count = (found.score >= 0).sum(1)
    there = found.score >= 0
    first, second, share = (
        torch.where(there, values, values[:, :1]) for values in (found.first, found.second, found.share)
    )
    spread = torch.zeros(*first.shape, margins.shape[1], dtype=weights.dtype, device=weights.device)
    spread.scatter_add_(2, order.gather(1, first).unsqueeze(2), share.unsqueeze(2))
    spread.scatter_add_(2, order.gather(1, second).unsqueeze(2), (1 - share).unsqueeze(2))
    return spread, count


def _bounds(probability: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Margins at which the probability is ε lower and higher; infinite where it cannot go that far."""
    return (probability - epsilon).clamp(0, 1).logit(), (probability + epsilon).clamp(0, 1).logit()


def _single(margins: Tensor, weights: Tensor, low: Tensor, high: Tensor) -> Vertices:
    """All weight on one token: JSD = ln 2 + ½ Σ (p log p + q log q − (p + q) log(p + q))."""
    inside = (margins >= low.unsqueeze(1)) & (margins <= high.unsqueeze(1)) & margins.isfinite()
    score = math.log(2) + (_xlogx(weights) - _xlogx(1 + weights)) / 2
    place = torch.arange(margins.shape[1], device=margins.device).expand_as(margins)
    return Vertices(score.masked_fill(~inside, _NONE), place, place, torch.ones_like(score))


def _pairs(margins: Tensor, weights: Tensor, lengths: Tensor, bound: Tensor, k: int) -> Vertices:
    """The best mixtures of a token under and one over the bound, k a text."""
    under = (margins < bound.unsqueeze(1)).sum(1).minimum(lengths)
    over = lengths - (margins <= bound.unsqueeze(1)).sum(1).minimum(lengths)
    texts = len(margins)
    nothing = weights.new_full((texts, k), _NONE)
    place = torch.zeros_like(nothing, dtype=torch.long)
    found = Vertices(nothing, place, place.clone(), torch.full_like(nothing, 0.5))
    own = _xlogx(weights) / 2
    for some, most_under, most_over in _blocks(under, over):
        from_start, from_end = (torch.arange(most, device=some.device) for most in (most_under, most_over))
        is_under, is_over = from_start < under[some].unsqueeze(1), from_end < over[some].unsqueeze(1)
        j = (lengths[some].unsqueeze(1) - 1 - from_end).clamp(min=0)
        level = bound[some].unsqueeze(1)
        low = margins[some, :most_under].where(is_under, level - 1).unsqueeze(2)
        high = margins[some].gather(1, j).where(is_over, level + 1).unsqueeze(1)
        share = (high - level.unsqueeze(2)) / (high - low)
        rest = 1 - share
        score = _xlogx(share).add_(_xlogx(rest))
        score -= _xlogx(share + weights[some, :most_under].unsqueeze(2))
        score -= _xlogx(rest + weights[some].gather(1, j).unsqueeze(1))
        score.div_(2).add_(own[some, :most_under].where(is_under, _NONE).unsqueeze(2))
        score.add_((math.log(2) + own[some].gather(1, j)).where(is_over, _NONE).unsqueeze(1))
        best, which = score.flatten(1).topk(min(k, most_under * most_over), 1)
        count = best.shape[1]
        found.score[some, :count] = best
        found.first[some, :count] = which // most_over
        found.second[some, :count] = j.gather(1, which % most_over)
        found.share[some, :count] = share.flatten(1).gather(1, which)
    return found


def _blocks(under: Tensor, over: Tensor) -> Iterator[tuple[Int[Tensor, "some"], int, int]]:
    """Texts with about as many tokens under the bound, in blocks of so many pairs as are worked out at once."""
    order = under.argsort()
    order = order[(under[order] > 0) & (over[order] > 0)]
    under_list, over_list = under[order].tolist(), over[order].tolist()
    start = 0
    while start < len(order):
        most_under, most_over, end = under_list[start], over_list[start], start + 1
        while end < len(order):
            wider, higher = max(most_under, under_list[end]), max(most_over, over_list[end])
            if wider * higher * (end + 1 - start) > _PAIRS_AT_ONCE:
                break
            most_under, most_over, end = wider, higher, end + 1
        yield order[start:end], most_under, most_over
        start = end


def _xlogx(x: Tensor) -> Tensor:
    return x.clamp(min=torch.finfo(x.dtype).tiny).log_().mul_(x)
