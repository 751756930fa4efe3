"""Weights with items taken away: closed forms where the decoder is affine, the same answer where it is not."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.trials.reading import Reading


def without(
    weights: Float[Tensor, "batch tokens"], items: Int[Tensor, "batch variants"]
) -> Float[Tensor, "batch variants tokens"]:
    """Each variant drops one item and renormalises the rest; where nothing is left the weights stay as they were."""
    variants = weights.unsqueeze(1).repeat(1, items.shape[1], 1)
    variants.scatter_(2, items.unsqueeze(2), 0.0)
    rest = variants.sum(-1, keepdim=True)
    return torch.where(rest > 0, variants / rest.clamp(min=torch.finfo(weights.dtype).tiny), weights.unsqueeze(1))


def most_attended_and_random(reading: Reading, seed: int) -> Int[Tensor, "batch 2"]:
    """The heaviest item of each text, and one drawn evenly from the others (itself if there is no other)."""
    heaviest = reading.weights.masked_fill(~reading.mask, -1).argmax(1)
    drawn = torch.from_numpy(keyed_uniform(seed, "random item", reading.rows, 1)[:, 0]).to(reading.weights.device)
    others = (reading.lengths - 1).clamp(min=1)
    place = (drawn * others).long()
    place = torch.where((place >= heaviest) & (reading.lengths > 1), place + 1, place)
    return torch.stack((heaviest, place), 1)
