"""Every trial on models of two texts, with both decoders."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from quick import ON_RUNS, QUICK

import attentest
from attentest.trials import hold, make_trial, subject_of
from attentest.trials.reading import readings

SMALL: dict[str, Any] = {"epochs": 2, "dimension": 12, "hidden": 8}


@pytest.fixture(
    scope="module",
    params=[
        {"decoder": "context"},
        {"decoder": "context+query"},
        {"decoder": "context", "pairing": "conditional", "alignment": "scaled-dot"},
        {"decoder": "context+query", "encoder": "cnn", "alignment": "deep", "projection": "sparsemax"},
    ],
    ids=lambda settings: "-".join(settings.values()),
)
def asked(request: pytest.FixtureRequest) -> attentest.Run:
    return attentest.train(attentest.load("babi1-generated", rows=150), **SMALL, **request.param)


@pytest.mark.parametrize("name", ON_RUNS)
def test_every_trial_on_pairs(asked: attentest.Run, name: str) -> None:
    finding = attentest.trial(name, asked, **QUICK.get(name, {}))
    assert finding.table["id"].to_pylist() == asked.predictions["id"].to_pylist()
    assert finding.table["predicted"].to_pylist() == asked.predictions["predicted"].to_pylist()
    assert finding.answer.endswith(".")


@pytest.mark.parametrize("name", [n for n in ON_RUNS if n != "information"])
def test_batches_change_nothing(asked: attentest.Run, name: str) -> None:
    """The second texts of half of the pairs are padded otherwise."""
    subject = subject_of(asked, texts=16)
    # in float64: measures that are all but equal would change ranks by rounding
    subject = replace(subject, folder=None, model=deepcopy(asked.model).double())
    (whole,) = hold([make_trial(name, **QUICK.get(name, {}))], subject)
    (half,) = hold([make_trial(name, **QUICK.get(name, {}))], replace(subject, rows=subject.rows[::-2]))
    there = {row["id"]: row for row in whole.table.to_pylist()}
    for row in half.table.to_pylist():
        for key in set(row) - {"influence on hidden states"}:
            value, expected = row[key], there[row["id"]][key]
            near = pytest.approx(expected, abs=2e-5, nan_ok=True) if isinstance(value, float) else expected
            assert value == near, key


def test_what_is_found_once_gives_what_the_decoder_gives(asked: attentest.Run) -> None:
    subject = subject_of(asked, texts=20)
    for reading in readings(subject.model, subject.data, subject.rows):
        drawn = torch.rand(len(reading.batch), 7, reading.mask.shape[1]) * reading.mask.unsqueeze(1)
        weights = drawn / drawn.sum(-1, keepdim=True)
        places = torch.arange(len(reading.batch)).flip(0)
        wanted = reading._decode_each(weights[places], places)
        assert (reading.decode(weights[places], places) - wanted).abs().max() <= 1e-5


def test_answers_may_move_further(asked: attentest.Run) -> None:
    """JW's ε is 0.05 for questions, and the finding says so."""
    assert attentest.trial("adversary", asked, steps=5).signature["settings"]["epsilon"] == 0.05
    assert attentest.trial("adversary", asked, steps=5, epsilon=0.02).signature["settings"]["epsilon"] == 0.02


def test_the_rationale_by_hand(asked: attentest.Run) -> None:
    """The share of questions whose heaviest token stands in the supporting fact, counted one by one."""
    finding = attentest.trial("rationale", asked)
    hits, shares = [], []
    for row in asked.attention.to_pylist():
        heaviest = max(range(len(row["weight"])), key=lambda i: row["weight"][i])
        hits.append(row["rationale"][heaviest])
        shares.append(sum(row["rationale"]) / len(row["rationale"]))
    assert finding.summary["heaviest token in the rationale"].value == pytest.approx(np.mean(hits))
    assert finding.summary["tokens in the rationale"].value == pytest.approx(np.mean(shares))
    assert 0 < np.mean(shares) < 1


def test_a_corpus_without_rationales(run: attentest.Run) -> None:
    subject = subject_of(run)
    bare = replace(subject, data=replace(subject.data, rationale=None))
    assert not make_trial("rationale").fits(bare)
    with pytest.raises(attentest.InputError, match="has no rationales"):
        hold([make_trial("rationale")], bare)
