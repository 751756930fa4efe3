"""Weights that stand in for a model's own, keyed by text so that batches change nothing."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.text.sequences import Sequences

Weights = Float[Tensor, "batch tokens"]
Mask = Bool[Tensor, "batch tokens"]
Rows = Int[np.ndarray, "batch"]


def random_weights(mask: Mask, rows: Rows, seed: int, dtype: torch.dtype) -> Weights:
    """U(0, 1) for each token, normalised (VA §4.1)."""
    drawn = torch.from_numpy(1 - keyed_uniform(seed, "random weights", rows, mask.shape[1])).to(mask.device)
    drawn = drawn * mask
    return (drawn / drawn.sum(1, keepdim=True)).to(dtype)


def random_for_all(sequences: Sequences, seed: int) -> Float[np.ndarray, "tokens"]:
    """The same for every token of many texts, in the layout of `sequences`."""
    rows = np.arange(len(sequences))
    found = []
    for some in np.array_split(rows, max(1, len(rows) // 1000)):
        mask = torch.from_numpy(sequences.padded(some)[1])
        found.append(random_weights(mask, some, seed, torch.float32)[mask].numpy())
    return np.concatenate(found)


def permuted(weights: Weights, mask: Mask, rows: Rows, seed: int) -> Weights:
    """The same weights in a random order of the real tokens."""
    drawn = torch.from_numpy(keyed_uniform(seed, "permuted weights", rows, mask.shape[1])).to(mask.device)
    order = drawn.masked_fill(~mask, 2.0).argsort(1)  # padding stays behind
    return weights.gather(1, order) * mask
