"""A model small enough to work by hand: a margin and a weight for every token, given outright."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from attentest.models.protocol import Encoded, Weights
from attentest.text.batches import Batch
from attentest.trials.reading import Reading, read


class OpaqueModel:
    """decode(α) = (0, Σ α_i m_i + bias), and nothing else is known of it: trials must take the general path."""

    sites = ("token",)

    def __init__(self, margins: list[list[float]], weights: list[list[float]], bias: float = 0.0) -> None:
        self.margins, self.weights = _padded(margins), _padded(weights)
        self.constant = torch.tensor(bias)

    def encode(self, batch: Batch) -> Encoded:
        return Encoded(self.margins[batch.rows, : batch.ids.shape[1], None], batch.mask)

    def attend(self, encoded: Encoded) -> Weights:
        return {"token": self.weights[:, : encoded.mask.shape[1]]}

    def decode(self, encoded: Encoded, weights: Weights) -> Tensor:
        margin = (weights["token"] * encoded.hidden.squeeze(-1)).sum(1) + self.constant
        return torch.stack((torch.zeros_like(margin), margin), 1)


class HandModel(OpaqueModel):
    """The same, with its token logits known: the exact paths hold."""

    def token_logits(self, encoded: Encoded) -> Tensor:
        return torch.cat((torch.zeros_like(encoded.hidden), encoded.hidden), -1)

    def bias(self) -> Tensor:
        return torch.stack((torch.zeros(()), self.constant))


def reading_of(model: OpaqueModel) -> Reading:
    mask = model.weights >= 0
    model.weights = model.weights.clamp(min=0)
    batch = Batch(mask.long(), mask, np.arange(len(mask)), torch.ones(len(mask), dtype=torch.long))
    return read(model, batch)


def random_readings(texts: int, tokens: int, seed: int, sharpness: float = 2.0) -> tuple[Reading, Reading]:
    """The same random texts read by a model with known token logits and by an opaque one."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, tokens + 1, texts)
    margins = [(sharpness * generator.standard_normal(n)).tolist() for n in lengths]
    weights = [generator.dirichlet(np.full(n, 0.7)).tolist() for n in lengths]
    bias = float(generator.standard_normal())
    return reading_of(HandModel(margins, weights, bias)), reading_of(OpaqueModel(margins, weights, bias))


def _padded(rows: list[list[float]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *([-1.0] * (longest - len(row)))] for row in rows])
