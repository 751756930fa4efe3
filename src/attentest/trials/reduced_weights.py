"""Weights with items taken away: closed forms where the decoder is affine, the same answer where it is not."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.interventions import sums_within
from attentest.trials.reading import Reading


def without(reading: Reading, items: Int[Tensor, "batch variants"]) -> Float[Tensor, "batch variants tokens"]:
    """Each variant drops one item and renormalises the rest."""
    variants = reading.weights.unsqueeze(1).repeat(1, items.shape[1], 1)
    return renormalised(reading, variants.scatter_(2, items.unsqueeze(2), 0.0))


def exchanged(reading: Reading, items: Int[Tensor, "batch 2"]) -> Float[Tensor, "batch 2 tokens"]:
    """Two items with each other's weights, and the same without the second, which now has the weight of the first."""
    weights = reading.weights.scatter(1, items, reading.weights.gather(1, items).flip(1))
    other = renormalised(reading, weights.unsqueeze(1))  # in parts of a text they need not sum to 1 any more
    return torch.cat((other, renormalised(reading, other.scatter(2, items[:, 1:].unsqueeze(2), 0.0), other)), 1)


def renormalised(
    reading: Reading, left: Float[Tensor, "batch variants tokens"], whole: Tensor | None = None
) -> Float[Tensor, "batch variants tokens"]:
    """What is left of the weights, summing to 1 again; where nothing is left of a text they stay as they were.

    As the model's own, that is, or as the `whole` that they are left of.

    A sentence that has lost all its words, but is not the last one, stays without weights: a vector of zeros.
    """
    rest = sums_within(left, reading.within)
    scaled = left / rest.clamp(min=torch.finfo(left.dtype).tiny)
    return torch.where(left.sum(-1, keepdim=True) > 0, scaled, reading.weights.unsqueeze(1) if whole is None else whole)


def most_attended_and_random(reading: Reading, seed: int) -> Int[Tensor, "batch 2"]:
    """The heaviest item of each text, and one drawn evenly from the others (itself if there is no other)."""
    heaviest = reading.attention.masked_fill(~reading.mask, -1).argmax(1)
    drawn = torch.from_numpy(keyed_uniform(seed, "random item", reading.rows, 1)[:, 0]).to(reading.weights.device)
    others = (reading.lengths - 1).clamp(min=1)
    place = (drawn * others).long()
    place = torch.where((place >= heaviest) & (reading.lengths > 1), place + 1, place)
    return torch.stack((heaviest, place), 1)
