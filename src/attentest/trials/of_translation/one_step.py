"""One step of decoding at a forced prefix: what came before is computed once, and the step again under many weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.translation.data import by_length
from attentest.translation.interventions import Recorder, Steps, one_after_other
from attentest.translation.model import Tensors, take
from attentest.translation.search import shifted
from attentest.trials.base import BIN_EDGES, BIN_NAMES, Columns, column, with_several_items
from attentest.trials.of_translation.subject import TranslationSubject

PERCENTILE = 25  # of the references' lengths (Vashishth et al. 2019 §4.1)
POSITION = "position"  # column: the number of the examined token, counted from 1


def position_of(subject: TranslationSubject) -> int:
    """The number of the target token that is examined, counted from 1."""
    words = subject.targets.lengths - 1  # without the end
    return int(np.percentile(words, PERCENTILE, method="lower"))


@dataclass(frozen=True)
class OneStep:
    """The pairs at these places of the subject, as they are before the step with this number."""

    subject: TranslationSubject
    places: Int[np.ndarray, "pairs"]
    memory: Tensors
    state: Tensors
    tokens: Int[Tensor, "pairs"]  # that are put in
    number: int
    logits: Float[Tensor, "pairs target"]  # the model's own
    weights: Float[Tensor, "pairs tokens"]  # on the source; the mean over layers and heads where there are several

    @property
    def texts(self) -> Int[np.ndarray, "pairs"]:
        found: np.ndarray = self.subject.rows[self.places]
        return found

    @property
    def mask(self) -> Bool[Tensor, "pairs tokens"]:
        return self.memory["mask"]

    def changed(self, rows: Int[Tensor, "chosen"], change: Steps) -> Float[Tensor, "chosen target"]:
        """Logits of these pairs, each as often as it is named, when their weights are changed at this step alone."""
        own = self.subject.with_weights(None)(self.texts[rows.cpu().numpy()])
        steps = one_after_other(own, change)
        model = self.subject.model
        outputs, _ = model.step(take(self.memory, rows), take(self.state, rows), self.tokens[rows], self.number, steps)
        return model.project(outputs)


def one_steps(subject: TranslationSubject, position: int) -> Iterator[OneStep]:
    """All pairs whose reference is long enough, in batches."""
    long = np.flatnonzero(subject.targets.lengths - 1 >= position)
    model = subject.model
    for some in by_length(subject.sources.lengths[long]):
        places = long[some]
        pairs = subject.pairs(places, subject.targets)
        own = subject.with_weights(None)(pairs.sources.texts)
        memory = model.encode(pairs.sources.ids, pairs.sources.mask, own)
        state, inputs = model.begin(memory), shifted(pairs.targets)
        for number in range(position - 1):
            _, state = model.step(memory, state, inputs[:, number], number, own)
        recorder, tokens = Recorder(own), inputs[:, position - 1]
        outputs, _ = model.step(memory, state, tokens, position - 1, recorder)
        found = recorder.weights()
        weights = torch.cat([found[site][:, :, 0] for site in model.source_sites], 1).mean(1)
        yield OneStep(subject, places, memory, state, tokens, position - 1, model.project(outputs), weights)


def common_columns(subject: TranslationSubject, position: int, largest: Float[np.ndarray, "pairs"]) -> Columns:
    """What a table of such a trial begins with; `largest` is NaN where a reference is too short."""
    bins = np.array([*BIN_NAMES, ""], dtype=object)
    return {
        "tokens": subject.sources.lengths,
        POSITION: np.full(len(subject), position),
        "max_attention": largest,
        "bin": bins[np.where(np.isnan(largest), len(BIN_NAMES), np.digitize(largest, BIN_EDGES))],
    }


def examined(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """The pairs in which weight can be moved at the examined step, and sentences about it and the other pairs."""
    several, notes = with_several_items(table)
    reached = ~np.isnan(column(several, "max_attention"))
    position = int(column(table, POSITION)[0])
    about = [
        f"Examined is the step of target token {position}, the {PERCENTILE}th percentile of the references' lengths."
    ]
    if not reached.all():
        about.append(f"{int((~reached).sum()):,} pairs have a shorter reference; they are left out.")
    return several.filter(pa.array(reached)), about + notes
