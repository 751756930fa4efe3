"""How the weights of a text came about, a step at a time, with its own numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from attentest.models.classifier import Classifier, MeanClassifier
from attentest.models.hierarchical import WORD, EncodedDocument, Hierarchical
from attentest.models.pair import PairReader, QueryPairClassifier
from attentest.models.summaries import mean_state
from attentest.server.explorer.asked import Reference
from attentest.server.explorer.numbers import sent
from attentest.server.explorer.opened import Opened
from attentest.trials.reading import Reading

SHOWN, TOKENS_SHOWN = 16, 100  # numbers of each vector, and vectors
OTHERS = (
    "The steps are shown for models with one layer of attention that attentest trains; a pretrained encoder has "
    "many layers. Choose a layer and a head to look at their weights."
)
Step = dict[str, Any]


@torch.no_grad()
def steps_of(opened: Opened, asked: Reference) -> dict[str, Any]:
    looked = opened.look(asked)
    if opened.run.is_pretrained:
        return {"steps": [], "why": OTHERS}
    reading = looked.reading
    model = reading.model
    if isinstance(model, Hierarchical):
        found = [*_weights(reading, model.alignment[WORD], opened), *_sentences(reading, model)]
    else:
        assert isinstance(model, Classifier | PairReader)
        found = [*_weights(reading, model.alignment, opened), *_context(reading, model)]
    found += [
        _values("logit", "The decoder's number for each class.", reading.logits[0]),
        _values("probability", "The softmax of the logits.", reading.probabilities[0]),
    ]
    return {"steps": found, "why": None}


def _weights(reading: Reading, alignment: Any, opened: Opened) -> Iterator[Step]:
    """From the text to its weights."""
    model: Any = reading.model
    of_sentences = opened.run.is_hierarchical and not isinstance(model, Hierarchical)
    embedding = (
        "Each sentence's vector: the weighted sum of the states of its words."
        if of_sentences
        else "Each token's vector, from the table of embeddings."
    )
    yield _vectors("embedding", embedding, model.embed(reading.batch.ids)[0])
    around = "sentences" if of_sentences else "tokens"
    yield _vectors("state", f"What the encoder makes of each vector and the {around} around it.", _states(reading))
    query = reading.encoded.query
    if query is not None:
        yield _vector("query", "What the encoder of the second text makes of it: the question that is asked.", query[0])
    if not model.projection.needs_scores:
        yield _projected(reading, "The weights are not computed from the text: they are fixed.")
        return
    asked = () if query is None else (query,)
    scores = alignment(reading.encoded.hidden, *asked)[0]
    what = "One number for each state" if query is None else "One number for each state, given the query"
    yield _values("score", f"{what}: how much attention it should get.", scores)
    within = " within each sentence" if reading.within is not None else ""
    yield _projected(reading, f"The scores as weights that sum to 1{within}.") | _threshold(reading, scores)


def _states(reading: Reading) -> Tensor:
    return reading.encoded.hidden[0]


def _projected(reading: Reading, what: str) -> Step:
    model: Any = reading.model
    return _values("weight", what, reading.weights[0]) | {"projection": model.settings.projection}


def _threshold(reading: Reading, scores: Tensor) -> Step:
    """Of sparsemax: what is taken from every score; those below it get no weight."""
    model: Any = reading.model
    weights, positive = reading.weights[0].double(), reading.weights[0] > 0
    if model.projection.name != "sparsemax" or reading.within is not None or not positive.any():
        return {}
    return {"threshold": float((scores.double() - weights)[positive].mean())}


def _context(reading: Reading, model: Any) -> Iterator[Step]:
    """From the weights to what the decoder reads."""
    states = _states(reading)
    yield _vector("context", "The sum of the states, each times its weight.", reading.weights[0] @ states)
    if isinstance(model, MeanClassifier):
        what = "The mean of the states, which reaches the decoder around the attention."
        yield _vector("mean", what, mean_state(reading.encoded.hidden, reading.encoded.mask)[0])
    if isinstance(model, QueryPairClassifier):
        values, query = model.values(reading.encoded), reading.encoded.query
        assert query is not None
        inner = (reading.weights[0] @ values[0] + model.decoder.query(query[0]) + model.decoder.context.bias).tanh()
        yield _vector("hidden", "The tanh of an affine map of the weighted sum and the query.", inner)


def _sentences(reading: Reading, model: Hierarchical) -> Iterator[Step]:
    """From the weights of words to sentences, which are attended to in turn."""
    encoded = reading.encoded
    assert isinstance(encoded, EncodedDocument)
    vectors = encoded.layout.sums(reading.weights.unsqueeze(-1), encoded.hidden).squeeze(1)
    weights = model.attend(encoded)["sentence"][0]
    parts = [
        {"name": f"sentence {n}", "vector": sent(vector[:SHOWN]), "weight": weight}
        for n, (vector, weight) in enumerate(zip(vectors[:TOKENS_SHOWN], sent(weights), strict=False), 1)
    ]
    what = (
        "Each sentence's vector is the sum of its words' states, each times its weight. The sentences are then "
        "encoded and weighted in the same way; the site `sentence` shows their steps."
    )
    yield {"name": "sentence", "what": what, "parts": parts, "size": vectors.shape[1]}


def _values(name: str, what: str, values: Tensor) -> Step:
    return {"name": name, "what": what, "values": sent(values)}


def _vector(name: str, what: str, vector: Tensor) -> Step:
    return {"name": name, "what": what, "vector": sent(vector[:SHOWN]), "size": len(vector)}


def _vectors(name: str, what: str, vectors: Tensor) -> Step:
    return {
        "name": name,
        "what": what,
        "vectors": sent(vectors[:TOKENS_SHOWN, :SHOWN]),
        "size": vectors.shape[1],
        "norms": sent(vectors.norm(dim=1)),
    }
