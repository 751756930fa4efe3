"""Self-attention small enough to follow: two layers of two heads, in float64, padded on either side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

import attentest
from attentest.models.protocol import Change, Encoded, Weights
from attentest.text import TextSettings, tokenize_corpus
from attentest.text.batches import Batch
from attentest.trials import Subject

HEADS, SIZE = 2, 3
HIDDEN = HEADS * SIZE


class TinyLayers:
    """The state of the first token, of the last, or the mean of all of them is what decides."""

    sites = ("token",)

    def __init__(
        self, words: int, pooled: str = "first", *, left: bool = False, causal: bool = False, seed: int = 0
    ) -> None:
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.pooled, self.left, self.causal = pooled, left, causal
        self.words, self.positions, self.out = drawn(words, HIDDEN), drawn(600, HIDDEN) / 2, drawn(HIDDEN, 2)
        names = ("query", "key", "value", "mix", "after")
        self.layers = [{name: drawn(HIDDEN, HIDDEN) for name in names} for _ in range(2)]
        self.special_first = False  # whether the first token counts as one that the model adds

    @property
    def heads(self) -> Mapping[str, int]:
        return {f"encoder.{n}": HEADS for n in range(len(self.layers))}

    def encode(self, batch: Batch) -> Encoded:
        return Encoded(self._states(batch, lambda *_: None, ())[0], batch.mask)

    def attend(self, encoded: Encoded) -> Weights:
        mask = encoded.mask.double()
        chosen = {
            "first": torch.zeros_like(mask).index_fill(1, torch.tensor([0]), 1),
            "last": mask - torch.nn.functional.pad(mask[:, 1:], (0, 1)),
            "mean": mask / mask.sum(1, keepdim=True),
        }
        return {"token": chosen[self.pooled]}

    def decode(self, encoded: Encoded, weights: Weights) -> Tensor:
        return (weights["token"].unsqueeze(1) @ encoded.hidden).squeeze(1) @ self.out

    def changed(self, batch: Batch, change: Change, sites: Collection[str] | None = None) -> Tensor:
        states, _ = self._states(batch, change, self.heads if sites is None else sites)
        encoded = Encoded(states, batch.mask)
        return self.decode(encoded, self.attend(encoded))

    def values_at(self, batch: Batch, site: str) -> tuple[Tensor, Tensor, Tensor]:
        return self._states(batch, lambda *_: None, ())[1][site]

    def special_keys(self, batch: Batch) -> Tensor:
        special = torch.zeros_like(batch.mask)
        special[:, 0] = self.special_first
        return special.gather(1, self._order(batch))

    def _order(self, batch: Batch) -> Tensor:
        """Where the places of a layer are in the batch: padding first, if it is on the left."""
        places = torch.arange(batch.mask.shape[1]).expand_as(batch.ids)
        return batch.mask.int().argsort(dim=1, stable=True) if self.left else places

    def _states(
        self, batch: Batch, change: Change, sites: Collection[str]
    ) -> tuple[Tensor, dict[str, tuple[Tensor, Tensor, Tensor]]]:
        order = self._order(batch)
        mask = batch.mask.gather(1, order)
        states = (self.words[batch.ids] + self.positions[: mask.shape[1]])[torch.arange(len(mask))[:, None], order]
        seen = {}
        for (site, heads), layer in zip(self.heads.items(), self.layers, strict=True):
            query, key, value = (self._split(states @ layer[name]) for name in ("query", "key", "value"))
            allowed = mask[:, None, None, :].expand(-1, heads, mask.shape[1], -1)
            allowed = allowed.tril() if self.causal else allowed
            weights = (query @ key.mT / 4).masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num()
            seen[site] = weights, value, allowed
            new = change(site, weights, allowed) if site in sites else None
            mixed = (weights if new is None else new) @ value
            states = states + mixed.transpose(1, 2).flatten(2) @ layer["mix"] / 2
            states = (states + (states @ layer["after"]).tanh()) / 2
        return states[torch.arange(len(mask))[:, None], order.argsort(1)], seen

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:2], HEADS, SIZE).transpose(1, 2)


def tiny_subject(texts: int = 12, **options: Any) -> Subject:
    """Texts of 1 to 9 of thirty words, with labels that the model gets right about half of the time."""
    generator = np.random.default_rng(5)
    lengths = [1 + n % 9 for n in range(60)]
    written = [" ".join(f"w{word}" for word in generator.integers(0, 30, n)) for n in lengths]
    corpus = attentest.load({"text": written, "label": ["no", "yes"] * 30})
    data = tokenize_corpus(corpus, TextSettings(tokenizer="whitespace"))
    return Subject(TinyLayers(len(data.vocabulary), **options), data, np.arange(texts))
