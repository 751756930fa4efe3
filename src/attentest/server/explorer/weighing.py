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
from attentest.server.explorer.state import not_draggable, one_row
from attentest.trials.adversary import EXACT, InstanceAdversary
from attentest.trials.scores import ScoreSettings, require_usable, score


def decoded(opened: Opened, asked: Weighed) -> dict[str, Any]:
    looked = _changeable(opened, asked)
    return _under(looked, _normalised(looked, asked.weights))


def adversary(opened: Opened, asked: Reference) -> dict[str, Any]:
    looked = _changeable(opened, asked)
    epsilon = 0.05 if opened.data.corpus.answers is not None else 0.01
    with torch.no_grad():
        found = InstanceAdversary(epsilon=epsilon).furthest(looked.reading)
    weights = found.weights[0].flatten(0, -2)[0] if looked.reading.inner else found.weights[0]
    return {
        "weights": sent(weights),
        **_under(looked, weights.double()),
        "exact": found.method == EXACT,
        "within_tvd": epsilon,
    }


def measured(opened: Opened, asked: Measured) -> dict[str, Any]:
    if asked.measure not in opened.measures:
        raise unknown_name("importance measure", asked.measure, opened.measures)
    looked = opened.look(reference(asked))
    require_usable(looked.reading.model, (asked.measure,), looked.reading.site)
    found = score(looked.reading, asked.measure, ScoreSettings())
    return {"measure": asked.measure, "scores": sent(found[0]), "of": "predicted class"}


def _changeable(opened: Opened, asked: Reference) -> Looked:
    looked = opened.look(reference(asked))
    why = not_draggable(asked, looked)
    if why is not None:
        raise InputError(why)
    return looked


def _normalised(looked: Looked, given: list[float]) -> Tensor:
    """Summing to 1, within each part where a text has some."""
    own = one_row(looked)
    if len(given) != len(own):
        raise InputError(f"{len(given)} weights were given; the text has {len(own)} tokens.")
    if not all(math.isfinite(weight) and 0 <= weight <= 1e9 for weight in given):
        raise InputError("Every weight must be a number of at least 0.")
    weights = torch.tensor(given, dtype=torch.float64)
    part = (
        torch.zeros(len(given), dtype=torch.long) if looked.reading.within is None else looked.reading.within[0].cpu()
    )
    sums = torch.zeros(int(part.max()) + 1, dtype=torch.float64).index_add(0, part, weights)
    if not (sums > 0).all():
        raise InputError("The weights of a part of the text are all 0; they cannot be made to sum to 1.")
    return weights / sums[part]


@torch.no_grad()
def _under(looked: Looked, weights: Tensor) -> dict[str, Any]:
    reading = looked.reading
    own, other = (_probabilities(looked, one) for one in (one_row(looked).double().cpu(), weights.cpu()))
    parts = 1 if reading.within is None else int(reading.within.max()) + 1
    return {
        "probabilities": sent(other),
        "tvd": float(tvd(own, other)),
        "jsd": float(jsd(one_row(looked).double().cpu(), weights.cpu(), parts)),
    }


def _probabilities(looked: Looked, weights: Tensor) -> Tensor:
    """In double precision where the decoder is affine, as the page computes them itself."""
    reading = looked.reading
    if reading.token_logits is not None and reading.bias is not None:
        return (weights @ reading.token_logits[0].double().cpu() + reading.bias.double().cpu()).softmax(-1)
    given = weights.to(reading.weights).view(1, 1, *[1] * len(reading.inner), -1)
    return reading.decode(given)[0, 0].softmax(-1).double().cpu()
