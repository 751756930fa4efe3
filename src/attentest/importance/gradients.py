"""Gradient importance: how much the prediction would move with an embedded token, a hidden state or a weight.

f is the probability of the predicted class. With two classes its gradient is, up to sign, that of Jain &
Wallace's sigmoid output.
A model stays in the mode it is in, so call `eval()` before; its parameters collect no gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.importance.differentiation import constant, constants, differentiable, leaf
from attentest.importance.lstm_gradients import TEXTS, back_through_bilstm, input_gates, plain_bilstm
from attentest.models.encoders import BiLSTM
from attentest.models.protocol import AffineModel, AttentionModel, EmbeddingModel, Encoded, Weights, provides
from attentest.models.rows import in_rows
from attentest.parallel import over_cores
from attentest.text.batches import Batch

Scores = Float[Tensor, "batch tokens"]
Mask = Bool[Tensor, "batch tokens"]


@dataclass(frozen=True)
class Gradients:
    """∂f/∂v_i for a vector v_i of each token, and the scores made of it; all are 0 on padding."""

    gradient: Float[Tensor, "batch tokens size"]
    value: Float[Tensor, "batch tokens size"]
    mask: Mask

    @property
    def l2(self) -> Scores:
        """‖∂f/∂v_i‖₂, which Meister et al. 2021 eq. 4 divides by its sum: see `normalised`."""
        norms: Tensor = torch.linalg.vector_norm(self.gradient, 2, -1).masked_fill(~self.mask, 0)
        return norms

    @property
    def l1(self) -> Scores:
        norms: Tensor = torch.linalg.vector_norm(self.gradient, 1, -1).masked_fill(~self.mask, 0)
        return norms

    @property
    def times_input(self) -> Scores:
        """|v_i · ∂f/∂v_i| (Jain & Wallace 2019)."""
        return (self.gradient * self.value).sum(-1).abs().masked_fill(~self.mask, 0)


class InputGradients(Gradients):
    @property
    def embedded(self) -> Float[Tensor, "batch tokens dimension"]:
        return self.value


class HiddenGradients(Gradients):
    @property
    def hidden(self) -> Float[Tensor, "batch tokens hidden"]:
        return self.value


def input_gradients(
    model: EmbeddingModel, batch: Batch, *, through_attention: bool = True, encoded: Encoded | None = None
) -> InputGradients:
    """∂f/∂x^e_i (Meister et al. 2021 §3.1); `through_attention=False` holds α fixed, as Jain & Wallace's code does.

    Through a BiLSTM whose states are known (from `encoded`, or found first) the walk back is our own.
    """
    encoder = plain_bilstm(model)
    if encoder is not None:
        with torch.no_grad():
            return _through_bilstm(model, encoder, batch, encoded or model.encode(batch), through_attention)
    with differentiable():
        embedded = leaf(model.embed(batch.ids))
        encoded = model.encode_embedded(embedded, constants(batch))
        logits = _decoded(model, encoded, through_attention)
        (gradient,) = torch.autograd.grad(logits, embedded, probability_slope(logits))
    return InputGradients(gradient, embedded.detach(), batch.mask)


def hidden_gradients(
    model: AttentionModel, source: Batch | Encoded, *, through_attention: bool = True
) -> HiddenGradients:
    """∂f/∂h_i (Meister et al. 2021 §3.1); no pass back through the encoder. A hidden state also moves α, unless that is
    held fixed."""
    if isinstance(source, Batch):
        with torch.no_grad():
            source = model.encode(source)
    with differentiable():
        hidden = leaf(source.hidden)
        encoded = replace(constants(source), hidden=hidden)
        logits = _decoded(model, encoded, through_attention)
        (gradient,) = torch.autograd.grad(logits, hidden, probability_slope(logits))
    return HiddenGradients(gradient, hidden.detach(), source.mask)


def attention_gradient(
    model: AttentionModel, encoded: Encoded, weights: Weights
) -> Float[Tensor, "batch *rows tokens"]:
    """∂f/∂α_i, signed, each weight on its own (the others need not give way): a ranking of Serrano & Smith 2019.

    Of several sites whose weights are given, by those of the first; the others are held fixed. Where the decoder is
    affine in α, the gradient is the product of the tokens' logits with the softmax's Jacobian.
    """
    if provides(model, AffineModel):
        with torch.no_grad():
            slope = probability_slope(model.decode(encoded, weights))
            gradient = (model.token_logits(encoded) @ slope.unsqueeze(-1)).squeeze(-1)
    else:
        gradient = _attention_gradient_by_autograd(model, encoded, weights)
    return gradient.masked_fill(~in_rows(encoded.mask, gradient.shape[1:-1]), 0)


def normalised(scores: Scores, mask: Mask) -> Scores:
    """Scores ≥ 0 divided by their sum over real tokens (Meister et al. 2021 eq. 4 to 6);
    a text whose scores are all 0 gets 1/n each."""
    real = scores.masked_fill(~mask, 0)
    total = real.sum(-1, keepdim=True)
    uniform = mask.to(scores.dtype) / mask.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(total > 0, real / total.where(total > 0, 1), uniform)


def probability_slope(logits: Float[Tensor, "batch classes"]) -> Float[Tensor, "batch classes"]:
    """∂f/∂logits: f(1 − f) for the predicted class and −f·p_c for the others.

    1 − f is summed from the other classes: as a difference it would be 0 once f rounds to 1.
    """
    probability = logits.detach().softmax(-1)
    predicted = probability.argmax(-1, keepdim=True)
    f = probability.gather(-1, predicted)
    others = probability.scatter(-1, predicted, 0)
    return f * (-others).scatter(-1, predicted, others.sum(-1, keepdim=True))


def _through_bilstm(
    model: EmbeddingModel, encoder: BiLSTM, batch: Batch, encoded: Encoded, through_attention: bool
) -> InputGradients:
    """Texts of about the same length together."""
    embedded = model.embed(batch.ids)
    # a word that comes often is projected once
    ids, words = batch.ids.unique(return_inverse=True)
    of_words = model.embed(ids.unsqueeze(0))[0]
    inputs = input_gates(encoder.forwards, of_words), input_gates(encoder.backwards, of_words)
    gradient = torch.zeros_like(embedded)
    lengths = batch.mask.sum(1)

    # not in the threads: `differentiable` switches cuDNN for the whole process
    by_hidden = hidden_gradients(model, encoded, through_attention=through_attention).gradient

    def walk(texts: Int[Tensor, group]) -> None:
        read = texts, slice(int(lengths[texts].max()))
        gradient[read] = back_through_bilstm(
            encoder, inputs, words[read], batch.mask[read], encoded.hidden[read], by_hidden[read]
        )

    over_cores(walk, lengths.argsort(stable=True).split(TEXTS))
    return InputGradients(gradient, embedded, batch.mask)


def _decoded(model: AttentionModel, encoded: Encoded, through_attention: bool) -> Float[Tensor, "batch classes"]:
    weights = model.attend(encoded)
    if not through_attention:
        weights = {site: alpha.detach() for site, alpha in weights.items()}
    return model.decode(encoded, weights)


def _attention_gradient_by_autograd(model: AttentionModel, encoded: Encoded, weights: Weights) -> Tensor:
    with differentiable():
        site = next(iter(weights))
        alpha = leaf(weights[site])
        held = {other: constant(fixed).detach() for other, fixed in weights.items()} | {site: alpha}
        still = constants(encoded)
        logits = model.decode(replace(still, hidden=still.hidden.detach()), held)
        (gradient,) = torch.autograd.grad(logits, alpha, probability_slope(logits))
    return gradient
