"""A layer in which every token has rows of weights, seen in passing: what is shown of it, in one run of the network.

What trials ask of such a layer keeps several copies of tokens × tokens weights, which takes seconds for a long text; it
is made when weights are changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.text.batches import Batch


@dataclass(frozen=True)
class Glance:
    weights: Float[Tensor, "heads queries keys"]  # of the chosen heads, special tokens included
    places: Int[Tensor, "tokens"]  # of the text's tokens among the keys
    probabilities: Float[Tensor, "classes"]

    def shown(self, query: int | None) -> Float[Tensor, "tokens"]:
        """What a token's rows say of each token, or those of all: the share of the weight that tokens have."""
        rows = self.weights if query is None else self.weights[:, self.places[query]].unsqueeze(1)
        found = rows.sum((0, 1))[self.places]
        total = found.sum()
        return found / total if total > 0 else torch.full_like(found, 1 / len(found))


@torch.no_grad()
def glance(model: Any, batch: Batch, site: str, head: int | None) -> Glance:
    """`model` is that of a pretrained run, the batch a single text."""
    seen: list[Tensor] = []

    def look(_site: str, weights: Tensor, _allowed: Tensor) -> None:
        seen.append((weights[0] if head is None else weights[0, head : head + 1]).float().clone())

    logits = model.changed(batch, look, [site])
    return Glance(seen[0], model.layout.lay_out(batch).places[0], logits[0].softmax(-1))


def has_rows_of_queries(model: Any, site: str, view: str | None) -> bool:
    """Whether every token has a row at this site; at the last one it may be the one that decides alone."""
    return view in (None, "row") and not (site == model.sites[-1] and model.about.decision is not None)
