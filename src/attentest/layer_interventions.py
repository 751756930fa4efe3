"""Weights that stand in for those of a self-attention layer: each query's row is changed within the keys it may see.

Random numbers are keyed by text, site, head, query and key. Queries and keys are counted among the real ones, so that
neither batches nor padding on either side changes anything.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.models.protocol import Change

PERMUTED, UNIFORM, RANDOM = KINDS = ("permuted", "uniform", "random")
DROPPED = "dropped"
Rows = Float[Tensor, "batch heads queries keys"]
Allowed = Bool[Tensor, "batch heads queries keys"]


def layer_change(kind: str, texts: Int[np.ndarray, "batch"], seed: int, head: int | None = None) -> Change:
    """What each site does as it is reached; with `head`, its other heads keep their weights."""

    def change(site: str, weights: Rows, allowed: Allowed) -> Rows:
        if head is None:
            return _replaced(kind, weights, allowed, site, range(weights.shape[1]), texts, seed)
        one = slice(head, head + 1)
        changed = weights.clone()
        changed[:, one] = _replaced(kind, weights[:, one], allowed[:, one], site, [head], texts, seed)
        return changed

    return change


def uniform_rows(allowed: Allowed, dtype: torch.dtype) -> Rows:
    every = allowed.to(dtype)
    return every / every.sum(-1, keepdim=True).clamp(min=1)


def real_queries(allowed: Allowed) -> Bool[Tensor, "batch queries"]:
    """Without padding: a token of self-attention may see itself. Of other queries nothing is known."""
    queries, keys = allowed.shape[-2:]
    own = allowed[:, 0].diagonal(dim1=-2, dim2=-1)
    return own if queries == keys else own.new_ones(len(own), queries)


def _replaced(
    kind: str,
    weights: Rows,
    allowed: Allowed,
    site: str,
    heads: range | list[int],
    texts: Int[np.ndarray, "batch"],
    seed: int,
) -> Rows:
    def drawn() -> Rows:
        purposes = [f"{kind} weights, {site}, head {head}" for head in heads]
        return torch.stack([_drawn(allowed[:, n], texts, seed, purpose) for n, purpose in enumerate(purposes)], 1)

    return replaced_rows(kind, weights, allowed, drawn)


def replaced_rows(kind: str, weights: Rows, allowed: Allowed, drawn: Callable[[], Rows]) -> Rows:
    """New rows of weights; `drawn` gives numbers in (0, 1] of their shape, and is called where chance is needed.

    Without its largest weight (`dropped`) a row sums to 1 again; one that may see a single key keeps it.
    """
    if kind == UNIFORM:
        new = uniform_rows(allowed, weights.dtype)
    elif kind == RANDOM:
        numbers = drawn() * allowed
        new = (numbers / numbers.sum(-1, keepdim=True)).to(weights.dtype)
    elif kind == PERMUTED:
        order = drawn().masked_fill(~allowed, torch.inf).argsort(-1)
        places = (~allowed).to(torch.int8).argsort(dim=-1, stable=True)  # those that may be seen come first
        new = torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, order)) * allowed
    else:
        left = weights.scatter(-1, weights.argmax(-1, keepdim=True), 0.0)
        total = left.sum(-1, keepdim=True)
        new = torch.where(total > 0, left / total, weights)
    return torch.where(allowed.any(-1, keepdim=True), new, weights)  # padding may see nothing


def _drawn(
    allowed: Bool[Tensor, "batch queries keys"], texts: Int[np.ndarray, "batch"], seed: int, purpose: str
) -> Float[Tensor, "batch queries keys"]:
    """Numbers in (0, 1], one for each query and each key that it may see."""
    query = (real_queries(allowed.unsqueeze(1)).cumsum(1) - 1).clamp(min=0).unsqueeze(-1)
    key = (allowed.cumsum(-1) - 1).clamp(min=0)
    # pairs of small numbers come first, so that longer texts in the batch change no pair's number
    pair = torch.where(query < key, key * key + query, query * query + query + key)
    drawn = torch.from_numpy(1 - keyed_uniform(seed, purpose, texts, int(pair.max()) + 1)).to(allowed.device)
    return drawn.gather(1, pair.flatten(1)).view(pair.shape)
