"""Batches of texts of about the same length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import Sequences


@dataclass(frozen=True)
class Batch:
    """Texts side by side; `mask` is true on real tokens. What follows the mask may be absent."""

    ids: Int[Tensor, "batch tokens"]
    mask: Bool[Tensor, "batch tokens"]
    rows: Int[np.ndarray, "batch"]
    labels: Int[Tensor, "batch"] | None = None
    preset: Float[Tensor, "batch tokens"] | None = None
    sentences: Int[Tensor, "batch tokens"] | None = None  # the number of each token's sentence

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, places: Int[Tensor, "chosen"]) -> Batch:
        """These texts of the batch only, without the padding that none of them needs."""
        tokens = int(self.mask[places].sum(1).max())
        return Batch(
            ids=self.ids[places, :tokens],
            mask=self.mask[places, :tokens],
            rows=self.rows[places.cpu().numpy()],
            labels=None if self.labels is None else self.labels[places],
            preset=None if self.preset is None else self.preset[places, :tokens],
            sentences=None if self.sentences is None else self.sentences[places, :tokens],
        )

    def to(self, device: torch.device | str) -> Batch:
        return replace(
            self,
            ids=self.ids.to(device),
            mask=self.mask.to(device),
            labels=None if self.labels is None else self.labels.to(device),
            preset=None if self.preset is None else self.preset.to(device),
            sentences=None if self.sentences is None else self.sentences.to(device),
        )


def make_batch(data: TokenizedCorpus, rows: np.ndarray) -> Batch:
    ids, mask = data.sequences.padded(rows)
    preset = None if data.preset is None else torch.from_numpy(data.sequences.padded(rows, data.preset)[0])
    sentences = None if data.sentences is None else _numbers(data.sequences.padded(rows, data.sentences)[0])
    labels = _numbers(data.labels[rows])
    return Batch(_numbers(ids), torch.from_numpy(mask), rows, labels, preset, sentences)


def _numbers(given: np.ndarray) -> Int[Tensor, "..."]:
    return torch.from_numpy(given.astype(np.int64))


def batch_of_sequences(sequences: Sequence[np.ndarray], sentences: Sequence[np.ndarray] | None = None) -> Batch:
    """A batch of texts that belong to no corpus, with the number of each token's sentence if it is known."""
    offsets = np.concatenate(([0], np.cumsum([len(s) for s in sequences])))
    rows = np.arange(len(sequences))
    together = Sequences(np.concatenate(sequences), offsets)
    ids, mask = together.padded(rows)
    numbers = None if sentences is None else _numbers(together.padded(rows, np.concatenate(sentences))[0])
    return Batch(_numbers(ids), torch.from_numpy(mask), rows, sentences=numbers)


def training_order(lengths: np.ndarray, batch_size: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Places in `lengths`, in batches: sorted by length with ±10 % of noise (as JW), batches shuffled."""
    noisy = lengths * generator.uniform(0.9, 1.1, len(lengths))
    order = np.argsort(noisy, kind="stable")
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def training_batches(
    data: TokenizedCorpus, rows: np.ndarray, batch_size: int, generator: np.random.Generator
) -> Iterator[Batch]:
    for places in training_order(data.sequences.lengths[rows], batch_size, generator):
        yield make_batch(data, rows[places])


def inference_batches(data: TokenizedCorpus, rows: np.ndarray, max_padded: int = 16_384) -> Iterator[Batch]:
    """All of `rows`, shortest first, at most `max_padded` tokens (padding counted) a batch."""
    lengths = data.sequences.lengths[rows]
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        # the last text of a batch is its longest: with n texts it has n times as many tokens
        longest = lengths[order[start : start + max_padded]]
        fitting = np.arange(1, len(longest) + 1) * longest <= max_padded
        size = max(1, int(fitting.sum()))
        yield make_batch(data, rows[order[start : start + size]])
        start += size
