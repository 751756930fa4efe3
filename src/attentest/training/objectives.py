"""What a training step makes small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attentest.measures.divergences import jsd, tvd
from attentest.text.batches import Batch
from attentest.text.sequences import Sequences
from attentest.training.predict import Predictions

Logits = Float[Tensor, "batch classes"]
Alpha = Float[Tensor, "batch tokens"]


class Objective(Protocol):
    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        """The loss of a batch, summed over its texts."""


@dataclass(frozen=True)
class Labels:
    """Cross-entropy, a text weighing as much as its class."""

    class_weights: Float[Tensor, "classes"]

    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        assert batch.labels is not None
        return F.cross_entropy(logits, batch.labels, weight=self.class_weights, reduction="sum")


@dataclass(frozen=True)
class Adversary:
    """TVD(ŷ_a, ŷ_b) − λ KL(α_a‖α_b): the base model's predictions under other weights (Wiegreffe & Pinter 2019 §4).

    TVD is half of the change of every output, as in the authors' code: two classes have one output there, and λ of
    their grid is measured against that.
    """

    strength: float  # λ
    probabilities: Float[np.ndarray, "rows classes"]  # the base's, for every row of the corpus
    alpha: Float[np.ndarray, "tokens"]  # the base's weights, in the layout of `sequences`
    sequences: Sequences

    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        base = torch.from_numpy(self.probabilities[batch.rows]).to(logits)
        alpha = torch.from_numpy(self.sequences.padded(batch.rows, self.alpha)[0]).to(weights)
        outputs = slice(1, None) if logits.shape[1] == 2 else slice(None)
        change = (logits.softmax(-1) - base)[:, outputs].abs().sum() / 2
        # on padding both are 0, and the logarithm of 0 has no gradient; sparse weights of the base may be 0, too
        floor = torch.finfo(alpha.dtype).tiny
        ratio = weights.clamp(min=floor).log() - alpha.clamp(min=floor).log()
        apart = (weights * ratio).masked_fill(~batch.mask, 0).sum()
        return change - self.strength * apart

    def apart(self, found: Predictions) -> dict[str, float]:
        """How far weights and predictions are from the base's on these texts: a strength is chosen by it, on dev."""
        offsets = self.sequences.offsets
        weights = [
            jsd(torch.from_numpy(own), torch.from_numpy(self.alpha[offsets[row] : offsets[row + 1]]))
            for row, own in zip(found.rows, found.weights, strict=True)
        ]
        change = tvd(torch.from_numpy(found.probabilities), torch.from_numpy(self.probabilities[found.rows]))
        return {"jsd": float(torch.stack(weights).mean()), "tvd": float(change.mean())}
