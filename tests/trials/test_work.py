"""What trials say they run is what they run: every layer of a tiny encoder is watched, forwards and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import BAD, GOOD, OTHERS, save_classifier
from torch import Tensor

import attentest
from attentest.models.pretrained.sinks import Sinks
from attentest.text.aside import set_aside
from attentest.text.batches import make_batch
from attentest.training.take import take_pretrained
from attentest.trials import TRIALS, Subject, hold, make_trial, subject_of
from attentest.trials.base import works_of
from attentest.trials.work import Load

LAYERS, TEXTS, TOKENS = 3, 10, 12
FEW: dict[str, dict[str, Any]] = {
    "permutation": {"permutations": 40},
    "conicity": {"permutations": 40},
    "adversary": {"steps": 30, "k": 3},
    "information": {"runs": 2, "clusters": 2},
}


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Texts of one length, so that a run of the network is the same for all of them."""
    chance, place = np.random.default_rng(0), tmp_path_factory.mktemp("work")
    texts, marks = [], []
    for i in range(TEXTS):
        words = [str(word) for word in chance.choice(OTHERS, TOKENS)]
        deciding = int(chance.integers(TOKENS))
        words[deciding] = str(chance.choice(GOOD if i % 2 else BAD))
        texts.append(" ".join(words))
        marks.append([int(j == deciding) for j in range(TOKENS)])
    rows = {"text": texts, "label": ["good" if i % 2 else "bad" for i in range(TEXTS)], "rationale": marks}
    rows["split"] = ["test"] * TEXTS
    corpus = attentest.load(rows, name="alike", rationale="rationale", split="split")
    theirs = save_classifier(place / "theirs", num_hidden_layers=LAYERS)
    found = replace(subject_of(take_pretrained(corpus, theirs, place / "run")), folder=None)
    assert set(found.lengths) == {TOKENS}
    assert len(found.rows) == TEXTS
    model: Any = found.model
    with (
        torch.no_grad()
    ):  # no class ahead on average, so that decisions differ: else no text has another to exchange with
        logits = model.whole(make_batch(found.data, found.rows))
        next(value for name, value in model.named_parameters() if name.endswith("classifier.bias")).sub_(logits.mean(0))
    return found


@contextmanager
def counted(model: Any) -> Iterator[dict[str, float]]:
    """Within, runs of the whole network on a text, by the positions that its layers give and get gradients for."""
    found = {"forward": 0.0, "backward": 0.0}
    run = LAYERS * (TOKENS + 2)

    def watch(_layer: Any, _inputs: Any, output: Any) -> None:
        states: Tensor = output[0] if isinstance(output, tuple) else output
        share = states.shape[0] * states.shape[1] / run
        found["forward"] += share

        def back(_gradient: Tensor) -> None:
            found["backward"] += share

        if states.requires_grad:
            states.register_hook(back)

    handles = [layer.register_forward_hook(watch) for layer in model.about.stack]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_runs_what_it_says(name: str, subject: Subject) -> None:
    trial = make_trial(name, **FEW.get(name, {}))
    said = works_of([trial], subject).values()
    with counted(subject.model) as found:
        hold([trial], subject)
    for way in ("forward", "backward"):
        told = sum(getattr(work, way) for work in said)
        assert found[way] / 1.25 <= told <= found[way] * 1.25, (way, told, found[way])


def test_what_trials_share_is_counted_once(subject: Subject) -> None:
    trials = [make_trial(name) for name in ("correlation", "overlap", "rationale")]
    together = works_of(trials, subject)
    alone = [work for trial in trials for work in works_of([trial], subject).values()]
    assert sum(work.forward for work in together.values()) < sum(work.forward for work in alone)
    with counted(subject.model) as found:
        hold(trials, subject)
    told = sum(work.forward for work in together.values())
    assert found["forward"] / 1.25 <= told <= found["forward"] * 1.25


def test_runs_on_copies_are_counted_by_hand(subject: Subject) -> None:
    """12 tokens between 3 that the model adds at most: a copy of 6 is 9/15 of a run."""
    load = Load(subject)
    assert load.longest.added == 3
    whole = (2 * 15 + 1) / (3 * 15)  # in the last of three layers only the token that decides
    assert load.longest.whole == pytest.approx(whole)
    assert load.copies(2, load.lengths // 2) == pytest.approx(TEXTS * 2 * 9 / 15 * whole)
    assert load.decoded(LAYERS * 15) == pytest.approx(TEXTS)  # one row in one layer each
    assert load.above == pytest.approx(TEXTS / LAYERS)


def with_half_aside(subject: Subject) -> Subject:
    """Every second token of each text is read and counts as none of its items."""
    data = subject.data
    chosen = np.arange(len(data.sequences.ids)) % 2 == 1
    model: Any = subject.model
    seen = model.seen(replace(model.view, sinks=Sinks(first=True)))  # which are set aside, the data says
    return replace(subject, model=seen, data=set_aside(data, chosen))


def test_tokens_set_aside_are_counted_by_hand(subject: Subject) -> None:
    """6 tokens, 6 set aside and 3 that the model adds: a copy of 2 tokens is 11/15 of a run."""
    load = Load(with_half_aside(subject))
    assert set(load.lengths) == {6}
    assert set(load.read) == {12}
    assert load.longest == Load(subject).longest
    assert load.copies(3, load.lengths // 3) == pytest.approx(TEXTS * 3 * 11 / 15 * load.longest.whole)
    assert load.decoded(LAYERS * 15) == pytest.approx(TEXTS)


@pytest.mark.parametrize("name", ["correlation", "exchange", "swaps"])  # erasure runs copies that are the same once
def test_a_trial_runs_what_it_says_with_tokens_set_aside(name: str, subject: Subject) -> None:
    apart, trial = with_half_aside(subject), make_trial(name, **FEW.get(name, {}))
    told = sum(work.forward for work in works_of([trial], apart).values())
    with counted(subject.model) as found:
        hold([trial], apart)
    assert found["forward"] / 1.25 <= told <= found["forward"] * 1.25, (told, found)
