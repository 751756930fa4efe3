"""Attributions of today's practice, by captum: integrated gradients, LIME and KernelSHAP.

All explain f, the probability of the class predicted for the whole text. None is in the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.importance.differentiation import constant, constants, differentiable
from attentest.importance.gradients import normalised
from attentest.models.protocol import EmbeddingModel, added_tokens, hiding_id
from attentest.text.batches import Batch

TOKENS = 16_384  # in one pass of the model, padding counted
STEPS = 50  # of integrated gradients


@dataclass(frozen=True)
class Attribution:
    """What each token adds to f: above 0 for the prediction, below 0 against it; 0 on padding."""

    signed: Float[Tensor, "batch tokens"]

    @property
    def magnitude(self) -> Float[Tensor, "batch tokens"]:
        return self.signed.abs()


def integrated_gradients(
    model: EmbeddingModel, batch: Batch, steps: int = STEPS, *, max_padded: int = TOKENS
) -> Attribution:
    """Gradients along the line from embeddings of zeros, times the embeddings (Sundararajan et al. 2017).

    Over a text they add up to f(text) − f(zeros), as closely as `steps` allow.
    """
    captum = _captum()
    with differentiable():
        embedded, still = constant(model.embed(batch.ids)).detach(), constants(batch)
        with torch.no_grad():
            predicted = _logits(model, embedded, still).argmax(-1)
        places = torch.arange(len(batch), device=predicted.device)

        def probability(values: Tensor, places: Tensor, predicted: Tensor) -> Tensor:
            return _of_class(_logits(model, values, still.take(places)), predicted)

        found = captum.IntegratedGradients(probability).attribute(
            embedded,
            baselines=torch.zeros_like(embedded),
            additional_forward_args=(places, predicted),
            n_steps=steps,
            internal_batch_size=max(len(batch), max_padded // (batch.mask.shape[1] + added_tokens(model))),
        )
    return Attribution(found.detach().sum(-1).to(embedded.dtype).masked_fill(~batch.mask, 0))


def lime(
    model: EmbeddingModel, batch: Batch, *, samples: int = 1000, seed: int = 0, max_padded: int = TOKENS
) -> Attribution:
    """Coefficients of a ridge regression of f on the presence of tokens, near the whole text (Ribeiro et al. 2016).

    Kernel, number of removed tokens (uniform) and penalty are those of LIME's own text explainer.
    """
    captum = _captum()

    def explain(presence: Tensor, f: Callable[[Tensor], Tensor], at_once: int) -> Tensor:
        kernel = import_module("captum.attr._core.lime").get_exp_kernel_similarity_function("cosine", 0.25)
        explainer = captum.Lime(f, LinearModel(1.0), kernel, _some_removed)
        return _attribute(explainer, presence, samples, at_once)

    return _by_presence(model, batch, seed, max_padded, explain)


def kernel_shap(
    model: EmbeddingModel, batch: Batch, *, samples: int = 1000, seed: int = 0, max_padded: int = TOKENS
) -> Attribution:
    """Shapley values of the tokens, by regression on sampled coalitions (Lundberg & Lee 2017).

    Over a text they add up to f(text) − f(every token removed), all but exactly: captum weighs these two a millionfold.
    """
    captum = _captum()

    def explain(presence: Tensor, f: Callable[[Tensor], Tensor], at_once: int) -> Tensor:
        if presence.shape[1] == 1:  # there is nothing to share out, and captum divides by 0
            return (f(presence) - f(torch.zeros_like(presence))).float()
        explainer = captum.KernelShap(f)
        explainer.interpretable_model = LinearModel(0.0)  # captum's own needs scikit-learn
        return _attribute(explainer, presence, samples, at_once)

    return _by_presence(model, batch, seed, max_padded, explain)


def _attribute(explainer: Any, presence: Tensor, samples: int, at_once: int) -> Tensor:
    found: Tensor = explainer.attribute(
        presence, n_samples=samples, perturbations_per_eval=at_once, return_input_shape=False
    )
    return found


class LinearModel:
    """Weighted least squares with an intercept and a ridge penalty, as captum wants it."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty
        self.coefficients = torch.zeros(0)

    def fit(self, train_data: Any, **_: object) -> None:
        ((x, y, weight),) = train_data  # captum gives all samples as one batch
        x, y, share = x.double(), y.double(), (weight / weight.sum()).double()
        x, y = x - share @ x, y - share @ y
        root = weight.double().sqrt()
        penalty = self.penalty**0.5 * torch.eye(x.shape[1], dtype=x.dtype)
        rows, wanted = torch.cat((x * root[:, None], penalty)), torch.cat((y * root, penalty[0] * 0))
        # gelsd: with fewer samples than tokens, the smallest of the solutions
        self.coefficients = torch.linalg.lstsq(rows, wanted[:, None], driver="gelsd").solution[:, 0]

    def representation(self) -> Float[Tensor, tokens]:
        return self.coefficients


def _by_presence(
    model: EmbeddingModel, batch: Batch, seed: int, max_padded: int, explain: Callable[..., Tensor]
) -> Attribution:
    """Each text alone and without padding, with randomness of its own row: the rest of the batch changes nothing."""
    found = torch.zeros(batch.mask.shape, dtype=torch.float32)
    for place, row in enumerate(batch.rows):
        alone = batch.select(torch.tensor([place], device=batch.mask.device))
        key = int(np.random.SeedSequence((seed, int(row))).generate_state(1)[0])
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(key)
            f = _probability_with_tokens_left(model, alone)
            length = alone.ids.shape[1]
            explained = explain(torch.ones(1, length), f, max(1, max_padded // (length + added_tokens(model))))
        found[place, batch.mask[place].cpu()] = explained.flatten().float()
    return Attribution(found.to(batch.mask.device))


def _probability_with_tokens_left(
    model: EmbeddingModel, alone: Batch
) -> Callable[[Float[Tensor, "samples tokens"]], Float[Tensor, samples]]:
    """f by the presence of tokens; a removed one is read as <unk> and gets no attention.

    Every place stays, so that the other tokens keep theirs. With no token left, attention is on all the <unk>.
    """

    def logits(presence: Float[Tensor, "samples tokens"]) -> Float[Tensor, "samples classes"]:
        left: Bool[Tensor, "samples tokens"] = presence.to(alone.ids.device) > 0
        copies = alone.take(torch.zeros(len(left), dtype=torch.long, device=left.device))
        read = replace(copies, ids=copies.ids.where(left, hiding_id(model)))
        encoded = model.encode(read)
        attended = left | ~left.any(-1, keepdim=True)
        kept = None if copies.preset is None else normalised(copies.preset * attended, attended)
        encoded = replace(encoded, mask=attended, preset=kept)
        return model.decode(encoded, model.attend(encoded))

    predicted = logits(torch.ones(1, alone.ids.shape[1])).argmax(-1)
    return lambda presence: _of_class(logits(presence), predicted.expand(len(presence))).cpu()


def _some_removed(presence: Float[Tensor, "1 tokens"], **_: object) -> Iterator[Int[Tensor, "1 tokens"]]:
    """The whole text, then texts with 1 to all of the tokens removed, every number as likely."""
    tokens = presence.shape[1]
    yield torch.ones(1, tokens, dtype=torch.long)
    while True:
        sample = torch.ones(1, tokens, dtype=torch.long)
        removed = int(torch.randint(1, tokens + 1, ()))
        sample[0, torch.randperm(tokens)[:removed]] = 0
        yield sample


def _logits(model: EmbeddingModel, embedded: Tensor, batch: Batch) -> Tensor:
    encoded = model.encode_embedded(embedded, batch)
    return model.decode(encoded, model.attend(encoded))


def _of_class(logits: Float[Tensor, "batch classes"], chosen: Int[Tensor, batch]) -> Float[Tensor, batch]:
    return logits.softmax(-1).gather(-1, chosen.unsqueeze(-1)).squeeze(-1)


def _captum() -> Any:
    try:
        return import_module("captum.attr")
    except ImportError as error:
        raise InputError(
            "Integrated gradients, LIME and KernelSHAP need captum, which is not installed: "
            "pip install 'attentest[explain]'"
        ) from error
