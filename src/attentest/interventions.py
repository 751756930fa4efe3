"""Weights that stand in for a model's own, keyed by text so that batches change nothing.

`within` numbers the parts of a text, one after the other, in each of which weights sum to 1: a hierarchical model's
sentences. Without it the whole text is one. `inner` is the shape of a text's rows of weights, such as the heads of a
self-attention: each row is a distribution of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.chance import keyed_rows
from attentest.models.rows import in_rows
from attentest.text.sequences import Sequences

Weights = Float[Tensor, "batch *rows tokens"]
Mask = Bool[Tensor, "batch tokens"]
Rows = Int[np.ndarray, "batch"]
Parts = Int[Tensor, "batch tokens"]
RANDOM_SENTENCES, PERMUTED_SENTENCES = "random weights of sentences", "permuted weights of sentences"  # purposes


def uniform_weights(mask: Mask, dtype: torch.dtype, within: Parts | None = None, inner: Sequence[int] = ()) -> Weights:
    """The same for each token (Wiegreffe & Pinter 2019 §3.2)."""
    every = mask.to(dtype)
    return in_rows(every / sums_within(every, within), inner)


def random_weights(
    mask: Mask,
    rows: Rows,
    seed: int,
    dtype: torch.dtype,
    within: Parts | None = None,
    inner: Sequence[int] = (),
    purpose: str = "random weights",
) -> Weights:
    """U(0, 1) for each token, normalised (Vashishth et al. 2019 §4.1)."""
    shape = (*inner, mask.shape[1])
    drawn = torch.from_numpy(1 - keyed_rows(seed, purpose, rows, shape)).to(mask.device)
    drawn = drawn * in_rows(mask, inner)
    return (drawn / sums_within(drawn, within)).to(dtype)


def random_for_all(
    sequences: Sequences, seed: int, sentences: Int[np.ndarray, "tokens"] | None = None
) -> Float[np.ndarray, "tokens"]:
    """The same for every token of many texts, in the layout of `sequences`.

    With the numbers of their `sentences`, weights within each sentence and weights of the sentences are drawn, and a
    token's is the product: its share of the text, from which both can be told.
    """
    rows = np.arange(len(sequences))
    found = []
    for some in np.array_split(rows, max(1, len(rows) // 1000)):
        mask = torch.from_numpy(sequences.padded(some)[1])
        within = None if sentences is None else torch.from_numpy(sequences.padded(some, sentences)[0]).long()
        weights = random_weights(mask, some, seed, torch.float32, within)
        if within is not None:
            there = torch.arange(int(within.max()) + 1) <= within.amax(1, keepdim=True)
            of_sentences = random_weights(there, some, seed, torch.float32, purpose=RANDOM_SENTENCES)
            weights = weights * of_sentences.gather(1, within)
        found.append(weights[mask].numpy())
    return np.concatenate(found)


def permuted(
    weights: Weights,
    mask: Mask,
    rows: Rows,
    seed: int,
    within: Parts | None = None,
    purpose: str = "permuted weights",
) -> Weights:
    """The same weights in a random order of the real tokens."""
    real = in_rows(mask, weights.shape[1:-1])
    drawn = torch.from_numpy(keyed_rows(seed, purpose, rows, weights.shape[1:])).to(mask.device)
    drawn = drawn if within is None else drawn + within  # parts follow one another, so each keeps its places
    order = drawn.masked_fill(~real, torch.inf).argsort(-1)  # padding stays behind
    return weights.gather(-1, order) * real


def softmax_within(scores: Float[Tensor, "batch *variants tokens"], within: Parts | None) -> Tensor:
    if within is None:
        return scores.softmax(-1)
    part = _part_of_each(scores, within)
    largest = scores.detach().new_full((*scores.shape[:-1], int(within.max()) + 1), -torch.inf)
    largest = largest.scatter_reduce(-1, part, scores.detach(), "amax").gather(-1, part)
    powers = (scores - largest).exp()
    return powers / sums_within(powers, within)


def sums_within(values: Float[Tensor, "batch *variants tokens"], within: Parts | None) -> Tensor:
    """For each token the sum over its part of the text; over the whole text, with one entry, if it has no parts."""
    if within is None:
        return values.sum(-1, keepdim=True)
    part = _part_of_each(values, within)
    sums = values.new_zeros(*values.shape[:-1], int(within.max()) + 1)
    return sums.scatter_add(-1, part, values).gather(-1, part)


def _part_of_each(values: Tensor, within: Parts) -> Int[Tensor, "batch *variants tokens"]:
    return within.view(len(within), *[1] * (values.dim() - 2), -1).expand_as(values)
