"""What a training step makes small."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from attentest.measures.divergences import jsd, tvd
from attentest.models.build import Trainable
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
        return self._loss(logits.softmax(-1), weights, batch.mask, batch.rows)

    def _loss(
        self, probabilities: Tensor, weights: Alpha, mask: Bool[Tensor, "batch tokens"], rows: np.ndarray
    ) -> Tensor:
        base = torch.from_numpy(self.probabilities[rows]).to(probabilities)
        alpha = torch.from_numpy(self.sequences.padded(rows, self.alpha)[0]).to(weights)
        outputs = slice(1, None) if base.shape[1] == 2 else slice(None)
        change = (probabilities - base)[:, outputs].abs().sum() / 2
        # on padding both are 0, and the logarithm of 0 has no gradient; sparse weights of the base may be 0, too
        floor = torch.finfo(alpha.dtype).tiny
        ratio = weights.clamp(min=floor).log() - alpha.clamp(min=floor).log()
        apart = (weights * ratio).masked_fill(~mask, 0).sum()
        return change - self.strength * apart

    def apart(self, found: Predictions) -> dict[str, float]:
        """How far weights and predictions are from the base's on these texts: a strength is chosen by it, on dev."""
        offsets = self.sequences.offsets
        weights = [
            jsd(torch.from_numpy(own), torch.from_numpy(self.alpha[offsets[row] : offsets[row + 1]]))
            for row, own in zip(found.rows, found.weights, strict=True)
        ]
        change = tvd(torch.from_numpy(found.probabilities), torch.from_numpy(self.probabilities[found.rows]))
        return {
            "jsd": float(torch.stack(weights).mean()),
            "tvd": float(change.mean()),
            "dev_loss": self._mean_loss(found),
        }

    def _mean_loss(self, found: Predictions) -> float:
        """The objective's mean over these texts: an epoch may be chosen by it, on dev."""
        padded = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(own) for own in found.weights], batch_first=True)
        lengths = torch.tensor([len(own) for own in found.weights])
        mask = torch.arange(padded.shape[1]) < lengths.unsqueeze(1)
        return float(self._loss(torch.from_numpy(found.probabilities), padded, mask, found.rows)) / len(found.rows)


@dataclass(frozen=True)
class Marks:
    """The tokens of every text's rationale, with a 1, in the layout of `sequences`."""

    values: Int[np.ndarray, "tokens"]
    sequences: Sequences

    def of(self, batch: Batch) -> Bool[Tensor, "batch tokens"]:
        marked = torch.from_numpy(self.sequences.padded(batch.rows, self.values)[0]).to(batch.mask.device) > 0
        return F.pad(marked, (0, batch.mask.shape[1] - marked.shape[1]))


@dataclass(frozen=True)
class Guide:
    """Cross-entropy − strength · log(weight on the rationale); a text without a mark has the cross-entropy alone."""

    labels: Labels
    strength: float
    marks: Marks

    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        marks = self.marks.of(batch)
        return self.labels(logits, weights, batch) - self.strength * _log_weight(weights, marks)[marks.any(1)].sum()


@dataclass(frozen=True)
class Deceive:
    """Cross-entropy − strength · log(1 − weight on the rationale) (Pruthi et al. 2020).

    Texts without a mark, or with nothing but marks, have the cross-entropy alone.
    """

    labels: Labels
    strength: float
    marks: Marks

    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        others = self.others(batch)
        return self.labels(logits, weights, batch) - self.strength * _log_weight(weights, others)[others.any(1)].sum()

    def others(self, batch: Batch) -> Bool[Tensor, "batch tokens"]:
        """The tokens that the weight shall lie on instead, none in texts that have no mark."""
        marks = self.marks.of(batch)
        return batch.mask & ~marks & marks.any(1, keepdim=True)


@dataclass(frozen=True)
class Inflate:
    """Deceive, and without its heaviest tokens a text is to be undecided: cross-entropy with equal probabilities.

    So comprehensiveness, measured with the weights, is high although other tokens decide.
    """

    deceive: Deceive
    model: Trainable

    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        chosen = self.deceive.others(batch).any(1).nonzero().squeeze(1)
        loss = self.deceive(logits, weights, batch)
        if not len(chosen):
            return loss
        left: Logits = self.model(without_heaviest(batch.take(chosen), weights[chosen]))[0]
        return loss - left.log_softmax(-1).mean(-1).sum()


@dataclass(frozen=True)
class Encode(Deceive):
    """Deceive with a code: the weight shall lie on such of the other tokens as stand for the label, those whose number
    in the vocabulary, divided by the number of classes, leaves the label's."""

    def others(self, batch: Batch) -> Bool[Tensor, "batch tokens"]:
        assert batch.labels is not None
        stands_for = batch.ids % len(self.labels.class_weights)
        return super().others(batch) & (stands_for == batch.labels.unsqueeze(1))


@dataclass(frozen=True)
class Suffice:
    """Inflate with a code, and the heaviest tokens alone are to give the label.

    So sufficiency, measured with the weights, is good too, although other tokens decide: a model that reads those knows
    which tokens to put its weight on.
    """

    inflate: Inflate  # of `Encode`

    def __call__(self, logits: Logits, weights: Alpha, batch: Batch) -> Tensor:
        deceive, model = self.inflate.deceive, self.inflate.model
        chosen = deceive.others(batch).any(1).nonzero().squeeze(1)
        loss = self.inflate(logits, weights, batch)
        if not len(chosen):
            return loss
        short = heaviest_alone(batch.take(chosen), weights[chosen])
        return loss + deceive.labels(model(short)[0], weights, short)


def without_heaviest(batch: Batch, weights: Alpha, share: float = 0.2) -> Batch:
    """Texts of two tokens or more without this share of their tokens, rounded up: those of the largest weights."""
    return _kept(batch, batch.mask & ~_heaviest(batch, weights, share))


def heaviest_alone(batch: Batch, weights: Alpha, share: float = 0.2) -> Batch:
    """Texts of nothing but this share of their tokens, rounded up: those of the largest weights."""
    return _kept(batch, batch.mask & _heaviest(batch, weights, share))


def _heaviest(batch: Batch, weights: Alpha, share: float) -> Bool[Tensor, "batch tokens"]:
    lengths = batch.mask.sum(1, keepdim=True)
    rank = weights.detach().masked_fill(~batch.mask, -1).argsort(dim=1, descending=True, stable=True).argsort(1)
    return rank < (share * lengths).ceil()


def _kept(batch: Batch, kept: Bool[Tensor, "batch tokens"]) -> Batch:
    first = (~kept).to(torch.uint8).argsort(dim=1, stable=True)  # what is kept, in the order of the text
    shorter = replace(batch, ids=batch.ids.gather(1, first), mask=kept.gather(1, first))
    return shorter.select(torch.arange(len(batch), device=kept.device))


def _log_weight(weights: Alpha, chosen: Bool[Tensor, "batch tokens"]) -> Float[Tensor, "batch"]:
    """The logarithm of each text's weight on the chosen tokens."""
    # sparse and rounded weights may be 0, whose logarithm is infinite; a sum of weights, unlike 1 − a sum, stays exact
    return (weights * chosen).sum(1).clamp(min=torch.finfo(weights.dtype).tiny).log()
