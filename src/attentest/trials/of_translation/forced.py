"""A forced prefix: how far other weights move each step's distribution while the tokens before it stay the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.divergences import tvd
from attentest.translation.data import Pairs, by_length
from attentest.translation.search import FORBIDDEN, shifted
from attentest.translation.tokens import PAD
from attentest.trials.of_translation.changed import Changed
from attentest.trials.of_translation.subject import TranslationSubject

_CELLS_AT_ONCE = 40_000_000  # of the distributions of a batch's steps

Steps = Float[Tensor, "steps"]


@dataclass(frozen=True)
class ForcedChange:
    """What a change does to each pair, as means over the steps of its reference, the end among them."""

    tvd: Float[np.ndarray, "pairs"]
    changed: Float[np.ndarray, "pairs"]  # share of steps with another likeliest token
    score: Float[np.ndarray, "pairs"]  # log-probability of the reference's token, less what it was


def forced_changes(
    subject: TranslationSubject, changes: Sequence[Changed], seed: int, watch: Callable[[int], None]
) -> dict[Changed, ForcedChange]:
    """`watch` is told how many pairs are done."""
    found = {change: ForcedChange(*(np.zeros(len(subject)) for _ in range(3))) for change in changes}
    done = 0
    for places, pairs in _batches(subject):
        for change, means in _of_batch(subject, pairs, changes, seed):
            into = found[change]
            into.tvd[places], into.changed[places], into.score[places] = means
        done += len(places)
        watch(done)
    return found


def likeliest(logits: Float[Tensor, "*steps target"]) -> Int[Tensor, "*steps"]:
    """The token that a search would choose."""
    return logits.index_fill(-1, torch.tensor(FORBIDDEN, device=logits.device), -torch.inf).argmax(-1)


def _of_batch(
    subject: TranslationSubject, pairs: Pairs, changes: Sequence[Changed], seed: int
) -> Iterator[tuple[Changed, list[np.ndarray]]]:
    model, sources = subject.model, pairs.sources
    inputs, real = shifted(pairs.targets), pairs.targets != PAD
    wanted = pairs.targets[real].unsqueeze(-1)
    own_steps = subject.with_weights(None)(sources.texts)
    memory = model.encode(sources.ids, sources.mask, own_steps)
    logits = model.project(model.forced(memory, inputs, own_steps)[real])
    own, own_choice = logits.log_softmax(-1), likeliest(logits)
    own_score, own = own.gather(-1, wanted), own.exp()
    for change in changes:
        steps = change.steps_of(subject, seed)(sources.texts)
        read = model.encode(sources.ids, sources.mask, steps) if change.in_encoder else memory
        logits = model.project(model.forced(read, inputs, steps)[real])
        scores = logits.log_softmax(-1)
        each = (
            tvd(scores.exp(), own),
            (likeliest(logits) != own_choice).to(own.dtype),
            (scores.gather(-1, wanted) - own_score).squeeze(-1),
        )
        yield change, [_mean(values, real) for values in each]


def _mean(values: Steps, real: Bool[Tensor, "batch steps"]) -> Float[np.ndarray, "batch"]:
    padded = torch.zeros(real.shape, dtype=torch.float64, device=real.device)
    padded[real] = values.double()
    found: np.ndarray = (padded.sum(1) / real.sum(1)).cpu().numpy()
    return found


def _batches(subject: TranslationSubject) -> Iterator[tuple[Int[np.ndarray, "batch"], Pairs]]:
    """Few enough at a time for the distributions of all their steps."""
    most = max(1, _CELLS_AT_ONCE // subject.model.target.num_embeddings)
    for places in by_length(subject.targets.lengths):
        parts = math.ceil(len(places) * int(subject.targets.lengths[places].max()) / most)
        for part in np.array_split(places, min(parts, len(places))):
            yield part, subject.pairs(part, subject.targets)
