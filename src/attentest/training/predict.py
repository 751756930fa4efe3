"""A model's probabilities and weights on many texts, without gradients and within bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from attentest.models.evaluation import evaluating
from attentest.models.hierarchical import SENTENCE
from attentest.models.protocol import AttentionModel, PartsModel, added_tokens, attention_of, provides
from attentest.text.batches import TOKENS_AT_ONCE, Batch, inference_batches
from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import unpad

Around = Callable[[Batch], AbstractContextManager[None]]  # what a model reads a batch in


def as_it_is(batch: Batch) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class Predictions:
    """In the order of `rows`; the weights of text i are an array as long as the text."""

    rows: Int[np.ndarray, "rows"]
    probabilities: Float[np.ndarray, "rows classes"]
    weights: list[Float[np.ndarray, "tokens"]]
    sentence_weights: list[Float[np.ndarray, "sentences"]] | None = None  # of a hierarchical model


def device_of(model: object) -> torch.device:
    """Where its parameters are; the processor for a model that has none."""
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    return next((parameter.device for parameter in parameters), torch.device("cpu"))


def predict(
    model: AttentionModel,
    data: TokenizedCorpus,
    rows: np.ndarray,
    device: torch.device | str = "cpu",
    around: Around = as_it_is,
    max_padded: int = TOKENS_AT_ONCE,
) -> Predictions:
    batches = inference_batches(data, rows, max_padded, added_tokens(model))
    by_length = predict_batches(model, batches, device, around)
    index = {int(row): i for i, row in enumerate(by_length.rows)}
    order = [index[int(row)] for row in rows]
    sentences = by_length.sentence_weights and [by_length.sentence_weights[i] for i in order]
    return Predictions(rows, by_length.probabilities[order], [by_length.weights[i] for i in order], sentences)


def predict_batches(
    model: AttentionModel,
    batches: Iterable[Batch],
    device: torch.device | str = "cpu",
    around: Around = as_it_is,
) -> Predictions:
    """In the order of the batches."""
    rows, probabilities, weights, sentences = [], [], [], []
    with evaluating(model), torch.inference_mode():
        for batch in batches:
            with around(batch.to(device)):
                encoded = model.encode(batch.to(device))
                attention = model.attend(encoded)
                logits = model.decode(encoded, attention)
            rows.append(batch.rows)
            probabilities.append(logits.softmax(-1).float().cpu().numpy())
            shown = attention_of(model, encoded, attention)
            weights += unpad(shown.float().cpu().numpy(), batch.mask.cpu().numpy())
            if provides(model, PartsModel):
                real = model.part_mask(encoded).cpu().numpy()
                sentences += unpad(attention[SENTENCE].float().cpu().numpy(), real)
    return Predictions(np.concatenate(rows), np.concatenate(probabilities), weights, sentences or None)


def shares(
    weights: Float[np.ndarray, "tokens"],
    sentences: Int[np.ndarray, "tokens"],
    sentence_weights: Float[np.ndarray, "sentences"],
) -> Float[np.ndarray, "tokens"]:
    """Each word's share of the whole text's attention."""
    products: np.ndarray = weights * sentence_weights[sentences]
    return products
