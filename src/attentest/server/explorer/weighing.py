"""The prediction under other weights: given ones, and the furthest that keep it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attentest.errors import InputError, unknown_name
from attentest.measures.divergences import jsd, tvd
from attentest.server.explorer.asked import Measured, Reference, Weighed, reference
from attentest.server.explorer.numbers import sent
from attentest.server.explorer.opened import Looked, Opened
from attentest.server.explorer.picked import check_query, has_queries, not_draggable, row_at
from attentest.trials.adversary import EXACT, InstanceAdversary
from attentest.trials.scores import ScoreSettings, require_usable, score

ONE_OF_MANY = "Adversaries are searched for where the prediction reads one row of weights: at the last site."


def decoded(opened: Opened, asked: Weighed) -> dict[str, Any]:
    looked = _changeable(opened, asked)
    return _under(asked, looked, _normalised(asked, looked))


def adversary(opened: Opened, asked: Reference) -> dict[str, Any]:
    looked = _changeable(opened, asked)
    if adversary_method(looked) is None:
        raise InputError(ONE_OF_MANY)
    epsilon = epsilon_of(opened)
    with torch.no_grad():
        found = InstanceAdversary(epsilon=epsilon).furthest(looked.reading)
    weights = found.weights[(0, *row_at(asked, looked))]
    return {
        "weights": sent(weights),
        **_under(asked, looked, weights.double()),
        "exact": found.method == EXACT,
        "within_tvd": epsilon,
    }


def adversary_method(looked: Looked) -> str | None:
    """How it is found; None where it cannot be."""
    if has_queries(looked):
        return None
    return EXACT if looked.reading.margins is not None else "search"


def epsilon_of(opened: Opened) -> float:
    """How far an adversary may move the prediction (Jain & Wallace 2019)."""
    return 0.05 if opened.data.corpus.answers is not None else 0.01


def measured(opened: Opened, asked: Measured) -> dict[str, Any]:
    if asked.measure not in opened.measures:
        raise unknown_name("importance measure", asked.measure, opened.measures)
    looked = opened.look(reference(asked))
    check_query(asked, looked)
    require_usable(looked.reading.model, (asked.measure,), looked.reading.site)
    found = score(looked.reading, asked.measure, ScoreSettings())
    return {"measure": asked.measure, "scores": sent(found[0]), "of": "predicted class"}


def _changeable(opened: Opened, asked: Reference) -> Looked:
    looked = opened.look(reference(asked))
    check_query(asked, looked)
    why = not_draggable(asked, looked)
    if why is not None:
        raise InputError(why)
    return looked


def own_row(asked: Reference, looked: Looked) -> Tensor:
    return looked.reading.weights[(0, *row_at(asked, looked))]


def _normalised(asked: Weighed, looked: Looked) -> Tensor:
    """Summing to 1, within each part where a text has some."""
    given, own = asked.weights, own_row(asked, looked)
    if len(given) != len(own):
        raise InputError(f"{len(given)} weights were given; the text has {len(own)} tokens.")
    if not all(math.isfinite(weight) and 0 <= weight <= 1e9 for weight in given):
        raise InputError("Every weight must be a number from 0 to 1e9.")
    weights = torch.tensor(given, dtype=torch.float64)
    part = (
        torch.zeros(len(given), dtype=torch.long) if looked.reading.within is None else looked.reading.within[0].cpu()
    )
    sums = torch.zeros(int(part.max()) + 1, dtype=torch.float64).index_add(0, part, weights)
    if not (sums > 0).all():
        raise InputError("The weights of a part of the text are all 0; they cannot be made to sum to 1.")
    return weights / sums[part]


@torch.no_grad()
def _under(asked: Reference, looked: Looked, weights: Tensor) -> dict[str, Any]:
    reading = looked.reading
    rows = own_row(asked, looked).double().cpu(), weights.cpu()
    other = _probabilities(asked, looked, rows[1])
    affine = reading.token_logits is not None
    own = _probabilities(asked, looked, rows[0]) if affine else reading.probabilities[0].double().cpu()
    parts = 1 if reading.within is None else int(reading.within.max()) + 1
    return {
        "probabilities": sent(other),
        "tvd": float(tvd(own, other)),
        "jsd": float(jsd(*rows, parts)),
    }


def _probabilities(asked: Reference, looked: Looked, weights: Tensor) -> Tensor:
    """In double precision where the decoder is affine, as the page computes them itself."""
    reading = looked.reading
    if reading.token_logits is not None and reading.bias is not None:
        return (weights @ reading.token_logits[0].double().cpu() + reading.bias.double().cpu()).softmax(-1)
    every = reading.weights.clone()
    every[(0, *row_at(asked, looked))] = weights.to(every)
    return reading.decode(every.unsqueeze(1))[0, 0].softmax(-1).double().cpu()
