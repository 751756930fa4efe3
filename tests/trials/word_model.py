"""A model that anyone could have written: three methods, a margin and a score for each word, and nothing else known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from attentest.models.protocol import Encoded, Weights
from attentest.text.batches import Batch, batch_of_sequences
from attentest.trials.reading import Reading, read


class WordModel:
    """decode(α) = (0, Σ α_i margin(word_i)), with α a softmax of the words' scores: a shorter text is read anew."""

    sites = ("token",)

    def __init__(self, margins: Sequence[float], scores: Sequence[float]) -> None:
        self.margins, self.scores = torch.tensor(margins), torch.tensor(scores)
        self.texts = 0  # that it has read

    def encode(self, batch: Batch) -> Encoded:
        self.texts += len(batch)
        return Encoded(torch.stack((self.margins[batch.ids], self.scores[batch.ids]), -1), batch.mask)

    def attend(self, encoded: Encoded) -> Weights:
        return {"token": encoded.hidden[..., 1].masked_fill(~encoded.mask, -torch.inf).softmax(-1)}

    def decode(self, encoded: Encoded, weights: Weights) -> Tensor:
        margin = (weights["token"] * encoded.hidden[..., 0]).sum(1)
        return torch.stack((torch.zeros_like(margin), margin), 1)


def reading_of_words(model: WordModel, texts: Sequence[Sequence[int]]) -> Reading:
    return read(model, batch_of_sequences([np.array(text) for text in texts]))


def random_words(texts: int, longest: int, seed: int, tied: bool = False) -> tuple[WordModel, list[list[int]]]:
    """A model of 30 words and texts of 1 to `longest` of them; `tied` words all have the same score."""
    generator = np.random.default_rng(seed)
    scores = np.zeros(30) if tied else 2 * generator.standard_normal(30)
    model = WordModel((3 * generator.standard_normal(30)).tolist(), scores.tolist())
    drawn = [generator.permutation(30)[: generator.integers(1, longest + 1)].tolist() for _ in range(texts)]
    return model, drawn
