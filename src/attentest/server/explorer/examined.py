"""What the list of texts can be sorted by beyond their predictions, worked out while the page is used.

- adversary: the largest JSD between the model's weights and others with nearly the same prediction (the trial
  `adversary`).
- disagreement: 1 − Kendall's τ-b of the weights with leave-one-out (the trial `correlation`), from 0 (the same order)
  to 2 (reversed).

What trials have stored is taken from there. The rest is found a few texts at a time, in the order of the corpus, and
waits while a request is being answered.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch

from attentest.errors import InputError
from attentest.measures.kendall import kendall_tau
from attentest.models.protocol import AffineModel, AttentionModel, MultiSiteModel, ValuesModel, provides
from attentest.server.explorer.opened import Opened
from attentest.server.explorer.stored import stored_figures
from attentest.server.explorer.weighing import epsilon_of
from attentest.text.batches import make_batch
from attentest.training.predict import device_of
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.reading import Reading, readings
from attentest.trials.scores import ATTENTION, ScoreSettings, ranked
from attentest.trials.sinks import sinks_of
from attentest.trials.subject import Subject

ADVERSARY, DISAGREEMENT = "adversary", "disagreement"
FIGURES = (ADVERSARY, DISAGREEMENT)
TEXTS, TOKENS = 64, 1_024  # that are looked at in one go: texts of the list, tokens at a time
SEARCHED = (
    "In this model adversaries are found by a search that takes seconds a text. Run `attentest trial adversary` on the "
    "run first: the explorer reads what it stores there."
)


class Examined:
    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        count = opened.run.predictions.num_rows
        self.values = {name: np.full(count, np.nan) for name in FIGURES}
        self.known = {name: np.zeros(count, bool) for name in FIGURES}
        self.why: dict[str, str] = {}  # a figure cannot be had
        self.stopped = False
        self._take_stored()
        if not _is_quick(opened) and not self.known[ADVERSARY].any():
            self.why[ADVERSARY] = SEARCHED

    @property
    def sorts(self) -> list[str]:
        return [name for name in FIGURES if name not in self.why]

    def progress(self, name: str) -> dict[str, Any]:
        """Of a figure, or of both where another one is asked for; one that cannot be had is as good as done."""
        chosen = [name] if name in FIGURES else self.sorts
        done = min((int(self.known[one].sum()) for one in chosen if one not in self.why), default=None)
        of = len(self.known[ADVERSARY])
        return {"done": of if done is None else done, "of": of}

    def chunks(self) -> Iterator[None]:
        """The work in pieces, between which it may be left."""
        try:
            yield from self._look_for_sinks()
            for start in range(0, len(self._rows), TEXTS):
                yield from self._examine(self._rows[start : start + TEXTS])
        except (InputError, RuntimeError, MemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            for name in FIGURES:
                if not self.known[name].all():
                    self.why.setdefault(name, f"It could not be computed for all texts: {reason}")

    @cached_property
    def _rows(self) -> np.ndarray:
        """A row of each text, as trials choose them."""
        data = self.opened.data
        return data.one_of_each_text(np.arange(len(data.rows)))

    @cached_property
    def _model(self) -> AttentionModel:
        return self.opened.model_of(self.opened.run, self._give_way)

    def _give_way(self) -> None:
        while self.opened.asking and not self.stopped:
            time.sleep(0.005)

    def _take_stored(self) -> None:
        data = self.opened.data
        ids = data.ids(self._rows)
        for name, figures in stored_figures(self.opened).items():
            for row, id in zip(data.rows[self._rows].tolist(), ids, strict=True):
                if id in figures:
                    self._put(name, row, figures[id])

    def _put(self, name: str, text: Any, value: Any) -> None:
        self.values[name][text] = value
        self.known[name][text] = True

    def _look_for_sinks(self) -> Iterator[None]:
        opened = self.opened
        if opened.heads and opened.sinks is None:
            rows = np.arange(len(opened.data.rows))
            subject = Subject(self._model, opened.data, rows, device=device_of(opened.run.model), trusted=True)
            opened.sinks = sinks_of(subject, opened.run.vocabulary.tokens, TOKENS)
            yield

    def _examine(self, rows: np.ndarray) -> Iterator[None]:
        opened = self.opened
        texts = opened.data.rows[rows]
        wanted = [~self.known[name][texts] for name in self.sorts if name != ADVERSARY or _is_quick(opened)]
        left = rows[np.logical_or.reduce([np.zeros(len(rows), bool), *wanted])]
        for reading in readings(self._model, opened.data, left, device_of(opened.run.model), TOKENS):
            self._give_way()
            here = opened.data.rows[reading.rows]
            if ADVERSARY in self.sorts and _is_quick(opened):
                self._put(ADVERSARY, here, _distance(reading, epsilon_of(opened)))
            self._give_way()
            self._put(DISAGREEMENT, here, _disagreement(reading))
            yield
        if not _is_quick(opened):
            self.known[ADVERSARY][texts] = True  # those that a finding leaves out stay unknown


@torch.no_grad()
def _distance(reading: Reading, epsilon: float) -> np.ndarray:
    found: np.ndarray = InstanceAdversary(epsilon=epsilon).furthest(reading).jsd.double().cpu().numpy()
    return found


def _disagreement(reading: Reading) -> np.ndarray:
    settings = ScoreSettings()
    attention, left_out = (ranked(reading, name, settings) for name in (ATTENTION, "leave-one-out"))
    found: np.ndarray = 1 - kendall_tau(attention, left_out, reading.mask)[0]
    return found


def _is_quick(opened: Opened) -> bool:
    """Whether adversaries are known in closed form, or searched for without running the model again."""
    model: Any = opened.run.model
    if provides(model, MultiSiteModel) and not opened.run.is_pretrained:
        model = model.at_site(opened.sites[-1], make_batch(opened.data, np.array([0])))[0]
    return provides(model, AffineModel) or provides(model, ValuesModel)
