"""Weights with items taken away: closed forms where the decoder is affine, the same answer where it is not."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.interventions import sums_within
from attentest.models.rows import in_rows
from attentest.trials.reading import Reading

Variants = Float[Tensor, "batch variants *rows tokens"]


def without(reading: Reading, items: Int[Tensor, "batch variants"]) -> Variants:
    """Each variant drops one item and renormalises the rest."""
    every = torch.arange(reading.mask.shape[1], device=items.device)
    return renormalised(reading, left_of(reading, every != items.unsqueeze(2)))


def left_of(reading: Reading, kept: Bool[Tensor, "batch variants tokens"]) -> Variants:
    """The weights of the items that are kept, in every row, and 0 for the others."""
    rows = [1] * len(reading.inner)
    return reading.weights.unsqueeze(1) * kept.view(*kept.shape[:2], *rows, -1)


def exchanged(reading: Reading, items: Int[Tensor, "batch 2"]) -> Variants:
    """Two items with each other's weights, and the same without the second, which now has the weight of the first."""
    places = in_rows(items, reading.inner)
    weights = reading.weights.scatter(-1, places, reading.weights.gather(-1, places).flip(-1))
    other = renormalised(reading, weights.unsqueeze(1))  # in parts of a text they need not sum to 1 any more
    gone = other.scatter(-1, places[..., 1:].unsqueeze(1), 0.0)
    return torch.cat((other, renormalised(reading, gone, other)), 1)


def renormalised(reading: Reading, left: Variants, whole: Tensor | None = None) -> Variants:
    """What is left of the weights, summing to 1 again; where nothing is left of a text they stay as they were.

    As the model's own, that is, or as the `whole` that they are left of.

    A sentence that has lost all its words, but is not the last one, stays without weights: a vector of zeros.
    """
    rest = sums_within(left, reading.within)
    scaled = left / rest.clamp(min=torch.finfo(left.dtype).tiny)
    return torch.where(left.sum(-1, keepdim=True) > 0, scaled, reading.weights.unsqueeze(1) if whole is None else whole)


def most_attended_and_random(reading: Reading, seed: int) -> Int[Tensor, "batch 2"]:
    """The heaviest item of each text, and one drawn evenly from the others (itself if there is no other)."""
    return heaviest_and_random(reading.attention, reading.mask, reading.rows, seed)


def heaviest_and_random(
    attention: Float[Tensor, "batch tokens"],
    mask: Bool[Tensor, "batch tokens"],
    rows: Int[np.ndarray, "batch"],
    seed: int,
) -> Int[Tensor, "batch 2"]:
    """The same of any weights; chance is keyed by `rows`."""
    lengths = mask.sum(1)
    heaviest = attention.masked_fill(~mask, -1).argmax(1)
    drawn = torch.from_numpy(keyed_uniform(seed, "random item", rows, 1)[:, 0]).to(attention.device)
    others = (lengths - 1).clamp(min=1)
    place = (drawn * others).long()
    place = torch.where((place >= heaviest) & (lengths > 1), place + 1, place)
    return torch.stack((heaviest, place), 1)
