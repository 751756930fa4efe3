"""How the weights of a text came about, a step at a time, with its own numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attentest.models.classifier import Classifier
from attentest.models.pair import PairReader
from attentest.server.explorer.asked import Reference
from attentest.server.explorer.numbers import sent
from attentest.server.explorer.opened import Opened

SHOWN = 16  # numbers of each vector
OTHERS = "The steps are shown of models with one layer of attention that attentest trains; this one has others."


@torch.no_grad()
def steps_of(opened: Opened, asked: Reference) -> dict[str, Any]:
    reading = opened.look(asked).reading
    model = reading.model
    if type(model) is not Classifier and not isinstance(model, PairReader):
        return {"steps": [], "why": OTHERS}
    states, weights = reading.encoded.hidden[0], reading.weights[0]
    context = weights @ states
    scores = (
        sent(model.alignment(reading.encoded.hidden, reading.encoded.query)[0])
        if model.projection.needs_scores
        else None
    )
    found = [
        _vectors("embedding", "Each token's vector, from the table.", model.embed(reading.batch.ids)[0]),
        _vectors("state", "What the encoder makes of each token among the others.", states),
        {"name": "score", "what": "One number for each state.", "values": scores},
        {
            "name": "weight",
            "what": "The scores as weights that sum to 1.",
            "projection": model.settings.projection,
            "values": sent(weights),
        },
        {
            "name": "context",
            "what": "The sum of the states, each times its weight.",
            "vector": sent(context[:SHOWN]),
            "size": len(context),
        },
        {"name": "logit", "what": "The decoder's number for each class.", "values": sent(reading.logits[0])},
        {"name": "probability", "what": "Their softmax.", "values": sent(reading.probabilities[0])},
    ]
    return {"steps": [step for step in found if step.get("values", 0) is not None], "why": None}


def _vectors(name: str, what: str, vectors: Tensor) -> dict[str, Any]:
    return {
        "name": name,
        "what": what,
        "vectors": sent(vectors[:, :SHOWN]),
        "size": vectors.shape[1],
        "norms": sent(vectors.norm(dim=1)),
    }
