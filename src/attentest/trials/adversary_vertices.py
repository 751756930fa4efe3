"""The exact instance adversary for two classes and an affine decoder.

JSD to the model's weights is convex in the other weights, and TVD ≤ ε bounds one linear function of them, the margin
Σ α'_i m_i, between two values. The largest JSD over that slice of the simplex lies on one of its vertices: all weight
on one token whose margin is inside, or two tokens, one on each side of a bound, mixed so that the bound is met exactly.

Bounds and shares are found in float64 from the margins as they are. The model's own margin is between the bounds and
between the smallest and the largest of the tokens', so there always is such a vertex, however large the margins.
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
    """Two tokens of each text (the same one twice for a single token), the bound that they meet, and the JSD."""

    score: Float[Tensor, "batch vertices"]
    first: Int[Tensor, "batch vertices"]
    second: Int[Tensor, "batch vertices"]
    bound: Float[Tensor, "batch vertices"]

    def best(self, k: int) -> Vertices:
        score, which = self.score.topk(min(k, self.score.shape[1]), 1)
        return Vertices(score, *(values.gather(1, which) for values in (self.first, self.second, self.bound)))

    def with_more(self, other: Vertices) -> Vertices:
        return Vertices(
            *(torch.cat((mine, more), 1) for mine, more in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def best_vertices(
    reading: Reading, epsilon: float, k: int
) -> tuple[Float[Tensor, "batch k tokens"], Int[Tensor, "batch"]]:
    """The k vertices of largest JSD a text in float64, best first, and how many there were; too few repeat the best."""
    assert reading.margins is not None
    tokens = reading.mask.shape[1]
    k = min(k, tokens + tokens**2 // 2)  # there are no more
    # in order of margin the tokens under a bound come first, and padding last
    margins, order = reading.margins.double().masked_fill(~reading.mask, torch.inf).sort(1)
    weights = reading.weights.gather(1, order)
    low, high = _bounds(own_margin(reading), epsilon)
    vertices = _single(margins, weights, low, high).best(k)
    for bound in (low, high):
        vertices = vertices.with_more(_pairs(margins, weights, reading.lengths, bound, k)).best(k)
    exists = vertices.score > _NONE / 2  # rounding may take a JSD of 0 below it
    first, second, bound = (
        torch.where(exists, values, values[:, :1]) for values in (vertices.first, vertices.second, vertices.bound)
    )
    over, under = margins.gather(1, second) - bound, bound - margins.gather(1, first)
    share = torch.where(first == second, 1.0, over / (over + under))
    spread = torch.zeros(*first.shape, margins.shape[1], dtype=share.dtype, device=share.device)
    spread.scatter_add_(2, order.gather(1, first).unsqueeze(2), share.unsqueeze(2))
    spread.scatter_add_(2, order.gather(1, second).unsqueeze(2), (1 - share).unsqueeze(2))
    return spread, exists.sum(1)


def own_margin(reading: Reading) -> Float[Tensor, "batch"]:
    """Under the model's own weights, in float64: never outside of what the tokens' margins span."""
    assert reading.margins is not None
    margins, weights = reading.margins.double(), reading.weights.double()
    least, most = (margins.masked_fill(~reading.mask, end) for end in (torch.inf, -torch.inf))
    total = (weights * margins).masked_fill(~reading.mask, 0).sum(1) / weights.masked_fill(~reading.mask, 0).sum(1)
    return total.clamp(least.amin(1), most.amax(1))


def _bounds(own: Float[Tensor, "batch"], epsilon: float) -> tuple[Tensor, Tensor]:
    """Margins at which the probability is ε lower and higher; infinite where it cannot go that far.

    Rounding cannot shut the model's own margin out, not even with the smallest ε.
    """
    probability = own.sigmoid()
    low, high = (probability - epsilon).clamp(0, 1).logit(), (probability + epsilon).clamp(0, 1).logit()
    return low.minimum(own), high.maximum(own)


def _single(margins: Tensor, weights: Tensor, low: Tensor, high: Tensor) -> Vertices:
    """All weight on one token: JSD = ln 2 + ½ Σ (p log p + q log q − (p + q) log(p + q))."""
    inside = (margins >= low.unsqueeze(1)) & (margins <= high.unsqueeze(1)) & margins.isfinite()
    score = math.log(2) + (_xlogx(weights) - _xlogx(1 + weights)) / 2
    place = torch.arange(margins.shape[1], device=margins.device).expand_as(margins)
    return Vertices(score.masked_fill(~inside, _NONE), place, place, margins)


def _pairs(margins: Tensor, weights: Tensor, lengths: Tensor, bound: Tensor, k: int) -> Vertices:
    """The best mixtures of a token under and one over the bound, k a text."""
    under = (margins < bound.unsqueeze(1)).sum(1).minimum(lengths)
    over = lengths - (margins <= bound.unsqueeze(1)).sum(1).minimum(lengths)
    texts = len(margins)
    nothing = weights.new_full((texts, k), _NONE)
    place = torch.zeros_like(nothing, dtype=torch.long)
    found = Vertices(nothing, place, place.clone(), bound.unsqueeze(1).expand(-1, k))
    own, tiny = _xlogx(weights) / 2, torch.finfo(weights.dtype).tiny
    for some, most_under, most_over in _blocks(under, over):
        from_start, from_end = (torch.arange(most, device=some.device) for most in (most_under, most_over))
        is_under, is_over = from_start < under[some].unsqueeze(1), from_end < over[some].unsqueeze(1)
        j = (lengths[some].unsqueeze(1) - 1 - from_end).clamp(min=0)
        level = bound[some].unsqueeze(1)
        # distances from the bound are taken in float64, so that what is left of them is good to the last digit
        below = (level - margins[some, :most_under]).where(is_under, 1.0).to(weights.dtype).clamp(min=tiny).unsqueeze(2)
        above = (margins[some].gather(1, j) - level).where(is_over, 1.0).to(weights.dtype).clamp(min=tiny).unsqueeze(1)
        share = above / (above + below)
        rest = below / (above + below)
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
