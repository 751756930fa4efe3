"""Scores of tokens and hidden states by name; each is worked out once for a reading, whichever trials ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.errors import InputError, unknown_name
from attentest.importance.attribution import STEPS, integrated_gradients, kernel_shap, lime
from attentest.importance.erasure import leave_one_out, removed_probabilities
from attentest.importance.gradients import (
    HiddenGradients,
    InputGradients,
    attention_gradient,
    hidden_gradients,
    input_gradients,
)
from attentest.importance.lstm_gradients import plain_bilstm
from attentest.importance.sums import sums_without_each
from attentest.measures.divergences import tvd
from attentest.measures.ties import tie
from attentest.models.hierarchical import WORD
from attentest.models.protocol import EmbeddingModel, provides
from attentest.trials.reading import Reading
from attentest.trials.reduced_weights import without
from attentest.trials.work import Load, Work, Works

ATTENTION = "attention"
STATES, WEIGHTS = "hidden gradients", "attention gradient"  # taken once, whichever scores are made of them
Scores = Float[Tensor, "batch tokens"]


@dataclass(frozen=True)
class ScoreSettings:
    tolerance: float = 1e-6  # of leave-one-out on a BiLSTM
    samples: int = 1000  # of LIME and KernelSHAP, a text
    seed: int = 0


@dataclass(frozen=True)
class Score:
    summary: str
    find: Callable[[Reading, ScoreSettings], Scores]
    needs_embedding: bool = False  # the model must be an `EmbeddingModel`
    of_whole_texts: bool = (
        False  # it may take a sentence's every word, so it cannot score those of a hierarchical model
    )
    exactness: Callable[[Reading, ScoreSettings], float] | None = None  # scores this close are the same; None: unknown
    works: Callable[[Load, ScoreSettings], Works] = lambda load, settings: {}  # what it runs


def score(reading: Reading, name: str, settings: ScoreSettings) -> Scores:
    chosen = SCORES[name]
    return reading.once((name, settings), lambda: chosen.find(reading, settings))


def ranked(reading: Reading, name: str, settings: ScoreSettings) -> Scores:
    """Scores to be ranked: those that differ by less than they are exact to are tied, for their order is noise."""
    exactness = SCORES[name].exactness
    scores = score(reading, name, settings)
    return scores if exactness is None else tie(scores, reading.mask, exactness(reading, settings))


def works_of_scores(load: Load, names: Iterable[str], settings: ScoreSettings) -> Works:
    """What is run for these scores."""
    found: dict[str, Work] = {}
    for name in names:
        found |= SCORES[name].works(load, settings)
    return found


def check_names(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in SCORES:
            raise unknown_name("importance measure", name, SCORES)


def usable(model: object, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names whose scores this model can give."""
    embeds = provides(model, EmbeddingModel)
    return tuple(name for name in names if embeds or not SCORES[name].needs_embedding)


def require_usable(model: object, names: tuple[str, ...], site: str | None = None) -> None:
    blind = sorted(name for name in names if site == WORD and SCORES[name].of_whole_texts)
    if blind:
        raise InputError(
            f"{', '.join(blind)}: these cover the sites token and sentence, not the words within a sentence."
        )
    missing = sorted(set(names) - set(usable(model, names)))
    if missing:
        raise InputError(
            f"{', '.join(missing)}: these need a model with the methods embed and encode_embedded, which "
            f"{type(model).__name__} lacks."
        )


def hidden_leave_one_out(reading: Reading) -> Scores:
    """TVD(ŷ, ŷ with h_i dropped from the attention and the rest renormalised); 0 where nothing else has weight."""
    if reading.token_logits is not None and reading.bias is not None:
        added = reading.weights.unsqueeze(-1) * (reading.token_logits + reading.bias)
        rest = sums_without_each(reading.weights).unsqueeze(-1)
        tiny = torch.finfo(rest.dtype).tiny
        logits = torch.where(rest > 0, sums_without_each(added) / rest.clamp(min=tiny), reading.logits.unsqueeze(1))
    else:
        every = torch.arange(reading.mask.shape[1], device=reading.mask.device).expand(len(reading.batch), -1)
        some = every.split(reading.variants_at_once(every.shape[1]), 1)
        logits = torch.cat([reading.decode(without(reading, items)) for items in some], 1)
    return tvd(logits.softmax(-1), reading.probabilities.unsqueeze(1)).masked_fill(~reading.mask, 0)


def random_scores(reading: Reading, settings: ScoreSettings) -> Scores:
    drawn = keyed_uniform(settings.seed, "random scores", reading.rows, reading.mask.shape[1])
    return torch.from_numpy(drawn).to(reading.weights).masked_fill(~reading.mask, 0)


def _embedding(reading: Reading) -> EmbeddingModel:
    return cast(EmbeddingModel, reading.model)  # `usable` has made sure


def _by_inputs(reading: Reading, through_attention: bool) -> InputGradients:
    return reading.once(
        ("input gradients", through_attention),
        lambda: input_gradients(
            _embedding(reading), reading.batch, through_attention=through_attention, encoded=reading.encoded
        ),
    )


def _by_states(reading: Reading) -> HiddenGradients:
    return reading.once(STATES, lambda: hidden_gradients(reading.model, reading.encoded))


def _by_weights(reading: Reading) -> Float[Tensor, "batch *rows tokens"]:
    return reading.once(WEIGHTS, lambda: attention_gradient(reading.model, reading.encoded, reading.by_site))


def _without_each(reading: Reading, removal: str, settings: ScoreSettings) -> Float[Tensor, "batch tokens classes"]:
    return reading.once(
        ("without each", removal, settings.tolerance),
        lambda: removed_probabilities(
            reading.model,
            reading.batch,
            removal=removal,
            tolerance=settings.tolerance,
            max_padded=reading.tokens_at_once,
        ),
    )


def _left_out(reading: Reading, removal: str, settings: ScoreSettings) -> Scores:
    return leave_one_out(reading.probabilities, _without_each(reading, removal, settings), reading.mask)


def _lost_without_each(reading: Reading, settings: ScoreSettings) -> Scores:
    removed = _without_each(reading, "remove", settings)
    chosen = reading.predicted.unsqueeze(1)
    own = reading.probabilities.gather(1, chosen)
    lost = own - removed.gather(2, chosen.unsqueeze(1).expand(-1, removed.shape[1], 1)).squeeze(2)
    return lost.masked_fill(~reading.mask, 0)


ROUNDINGS = 8  # two differences of probabilities that should be equal are at most so many roundings apart


def _rounding(reading: Reading, settings: ScoreSettings) -> float:
    return ROUNDINGS * torch.finfo(reading.probabilities.dtype).eps


def _rounding_and_stop(reading: Reading, settings: ScoreSettings) -> float:
    """A BiLSTM's removals also stop when states are within the tolerance of what they were."""
    stopped = 0.0 if plain_bilstm(reading.model) is None else settings.tolerance
    return stopped + _rounding(reading, settings)


def _works_by_inputs(through_attention: bool) -> Callable[[Load, ScoreSettings], Works]:
    return lambda load, settings: {
        f"input gradients, {through_attention}": Work(load.reading, load.texts, held="graph"),
    }


def _works_above(load: Load, settings: ScoreSettings) -> Works:
    """Gradients from the site on, by its states."""
    return {STATES: Work(load.above, load.above, held="graph")}


def _works_of_a_variant(load: Load, settings: ScoreSettings) -> Works:
    """Gradients by the weights: those of one variant."""
    return {WEIGHTS: Work(load.decoded(1), load.decoded(1), held="graph")}


def _works_without_each(removal: str) -> Callable[[Load, ScoreSettings], Works]:
    shorter = 1 if removal == "remove" else 0
    return lambda load, settings: {
        f"without each, {removal}, {settings.tolerance}": Work(load.copies(load.lengths, load.lengths - shorter))
    }


def _works_by_presence(name: str) -> Callable[[Load, ScoreSettings], Works]:
    return lambda load, settings: {f"{name}, {settings}": Work(settings.samples * load.reading)}


SCORES = {
    ATTENTION: Score("the model's own weights", lambda r, s: r.attention),
    "random": Score("drawn at random for each text", random_scores),
    "gradient": Score(
        "L2 norm of ∂f/∂x (Meister et al. 2021, eq. 4)",
        lambda r, s: _by_inputs(r, True).l2,
        True,
        works=_works_by_inputs(True),
    ),
    "gradient-l1": Score("L1 norm of ∂f/∂x", lambda r, s: _by_inputs(r, True).l1, True, works=_works_by_inputs(True)),
    "gradient-input": Score(
        "|x · ∂f/∂x|", lambda r, s: _by_inputs(r, True).times_input, True, works=_works_by_inputs(True)
    ),
    "gradient-input-fixed": Score(
        "|x · ∂f/∂x| with attention held fixed (Jain & Wallace 2019)",
        lambda r, s: _by_inputs(r, False).times_input,
        True,
        works=_works_by_inputs(False),
    ),
    "leave-one-out": Score(
        "TVD when the token is removed (Jain & Wallace 2019; Meister et al. 2021, eq. 6)",
        lambda r, s: _left_out(r, "remove", s),
        exactness=_rounding_and_stop,
        works=_works_without_each("remove"),
    ),
    "leave-one-out-signed": Score(
        "probability of the decided class that is lost when the token is removed",
        lambda r, s: _lost_without_each(r, s),
        exactness=_rounding_and_stop,
        works=_works_without_each("remove"),
    ),
    "leave-one-out-mask": Score(
        "TVD when the token becomes <unk>",
        lambda r, s: _left_out(r, "mask", s),
        exactness=_rounding,
        works=_works_without_each("mask"),
    ),
    "integrated-gradients": Score(
        "magnitude of integrated gradients",
        lambda r, s: integrated_gradients(_embedding(r), r.batch, max_padded=r.tokens_at_once).magnitude,
        True,
        works=lambda load, s: {
            "integrated gradients": Work((STEPS + 1) * load.reading, STEPS * load.texts, held="graph")
        },
    ),
    "lime": Score(
        "magnitude of LIME's coefficients",
        lambda r, s: (
            lime(_embedding(r), r.batch, samples=s.samples, seed=s.seed, max_padded=r.tokens_at_once).magnitude
        ),
        True,
        True,
        works=_works_by_presence("lime"),
    ),
    "kernel-shap": Score(
        "magnitude of KernelSHAP's values",
        lambda r, s: (
            kernel_shap(_embedding(r), r.batch, samples=s.samples, seed=s.seed, max_padded=r.tokens_at_once).magnitude
        ),
        True,
        True,
        works=_works_by_presence("kernel-shap"),
    ),
    "hidden-gradient": Score(
        "L2 norm of ∂f/∂h (Meister et al. 2021)", lambda r, s: _by_states(r).l2, works=_works_above
    ),
    "hidden-gradient-l1": Score("L1 norm of ∂f/∂h", lambda r, s: _by_states(r).l1, works=_works_above),
    "hidden-gradient-input": Score("|h · ∂f/∂h|", lambda r, s: _by_states(r).times_input, works=_works_above),
    "hidden-leave-one-out": Score(
        "TVD when the state is dropped from the attention (Meister et al. 2021)",
        lambda r, s: hidden_leave_one_out(r),
        exactness=_rounding,
        works=lambda load, s: {"hidden leave-one-out": Work(load.decoded(load.lengths))},
    ),
    "attention-gradient": Score(
        "∂f/∂α (Serrano & Smith 2019)", lambda r, s: r.over_rows(_by_weights(r)), works=_works_of_a_variant
    ),
    "attention-times-gradient": Score(
        "α · ∂f/∂α (Serrano & Smith 2019)",
        lambda r, s: r.over_rows(r.weights * _by_weights(r)),
        works=_works_of_a_variant,
    ),
}
