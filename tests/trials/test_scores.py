"""Importance scores by name, and the trials that stand on them, against numbers worked by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hand_model import HandModel, OpaqueModel, random_readings, reading_of

import attentest
from attentest.importance.erasure import leave_one_out, removed_probabilities
from attentest.trials import adversary_search, make_trial, subject_of
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.correlation import PAPERS
from attentest.trials.reading import Reading, readings
from attentest.trials.scores import SCORES, ScoreSettings, score
from attentest.trials.subject import Subject

# Three tokens with margins 2, 0, −1 and weights .5, .3, .2, as in test_exact
MARGINS, WEIGHTS = [[2.0, 0.0, -1.0]], [[0.5, 0.3, 0.2]]


def subject_of_hand(model: OpaqueModel) -> Subject:
    lengths = (model.weights >= 0).sum(1).numpy()
    data = SimpleNamespace(sequences=SimpleNamespace(lengths=lengths))
    at = {"rows": np.arange(len(lengths)), "lengths": lengths, "chosen_site": "token"}
    return SimpleNamespace(model=model, data=data, **at)  # type: ignore[return-value]


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_correlation_by_hand(kind: type[OpaqueModel]) -> None:
    # dropping states moves σ(.8) = .690 to σ(−.4) = .401, σ(8/7) = .758 and σ(1.25) = .777: the order is 0, 2, 1;
    # of the pairs (0, 1), (0, 2), (1, 2) attention agrees on the first two: τ = (2 − 1)/3; 2 of 6 orders of three are
    # as far from either end, and as many from the other: p = 1
    model = kind(MARGINS, WEIGHTS)
    trial = make_trial("correlation", measures="hidden-leave-one-out")
    columns = trial.examiner(subject_of_hand(model)).examine(reading_of(model))
    assert columns["tau attention – hidden-leave-one-out"][0] == pytest.approx(1 / 3)
    assert columns["p attention – hidden-leave-one-out"][0] == pytest.approx(1.0)


def test_dispersion_by_hand() -> None:
    # −(.5 ln .5 + .3 ln .3 + .2 ln .2)/ln 3 = (.34657 + .36119 + .32189)/1.09861 = .93723
    model = HandModel(MARGINS, WEIGHTS)
    examiner = make_trial("dispersion").examiner(subject_of_hand(model))
    columns = replace(examiner, scored=("attention",)).examine(reading_of(model))  # type: ignore[type-var]
    assert columns["attention"][0] == pytest.approx(0.93723, abs=1e-4)
    assert np.isnan(columns["influence on hidden states"]).all()  # the model cannot embed


def test_information_by_hand() -> None:
    # the heavier state is ±4 and decides the output, the lighter one is 0 everywhere: MI is ln 2 and 0, and the order
    # of the weights (.7, .3) is that of the information
    margins = [[4.0 * sign, 0.0] for sign in (1, -1) * 6]
    model = HandModel(margins, [[0.7, 0.3]] * 12)
    examiner = make_trial("information", clusters=2, runs=2).examiner(subject_of_hand(model))
    examiner.examine(reading_of(model))
    summary = examiner.conclude(None).summary
    assert summary["MI at rank 1"].value == pytest.approx(math.log(2))
    assert summary["MI at rank 2"].value == pytest.approx(0)
    assert summary["weighted τ"].value == pytest.approx(1)


def test_every_score_is_one_number_a_token_and_0_on_padding(run: attentest.Run) -> None:
    subject = subject_of(run, texts=6)
    reading = next(iter(_readings(subject)))
    for name in SCORES:
        found = score(reading, name, ScoreSettings(samples=50))
        assert found.shape == reading.mask.shape, name
        assert not found.masked_select(~reading.mask).any(), name
        assert found is score(reading, name, ScoreSettings(samples=50)), name  # worked out once


def _readings(subject: Subject) -> Iterator[Reading]:
    return readings(subject.model, subject.data, subject.rows)


def test_scores_are_what_their_names_say(run: attentest.Run) -> None:
    reading = next(iter(_readings(subject_of(run, texts=6))))
    for name, removal in (("leave-one-out", "remove"), ("leave-one-out-mask", "mask")):
        removed = removed_probabilities(reading.model, reading.batch, removal=removal)
        assert torch.equal(
            score(reading, name, ScoreSettings()), leave_one_out(reading.probabilities, removed, reading.mask)
        )
    gradient = score(reading, "attention-gradient", ScoreSettings())
    assert torch.equal(score(reading, "attention-times-gradient", ScoreSettings()), reading.weights * gradient)
    l2, l1 = (score(reading, name, ScoreSettings()) for name in ("gradient", "gradient-l1"))
    assert (l1 >= l2 - 1e-9).all()
    other = score(reading, "random", ScoreSettings(seed=1))
    assert not torch.equal(score(reading, "random", ScoreSettings()), other)


def test_measures_can_be_chosen(own_run: attentest.Run) -> None:
    chosen = attentest.trial("correlation", own_run, texts=10, measures=["random", "leave-one-out-mask", "attention"])
    assert [n for n in chosen.table.column_names if n.startswith("tau ")] == [
        "tau attention – random",
        "tau attention – leave-one-out-mask",
        "tau random – leave-one-out-mask",
    ]
    one = attentest.trial("correlation", own_run, texts=10, measures="gradient")
    assert "among themselves" not in one.answer
    with pytest.raises(attentest.InputError, match="did you mean 'gradient'"):
        attentest.trial("correlation", own_run, measures="gradiant")
    with pytest.raises(attentest.InputError, match="at least 1"):
        attentest.trial("correlation", own_run, samples=0)


def test_a_model_with_the_three_methods_alone(run: attentest.Run) -> None:
    class Bare:
        sites = ("token",)

        def __init__(self, model: attentest.Run) -> None:
            self.encode, self.attend, self.decode = model.encode, model.attend, model.decode  # type: ignore[attr-defined]

    subject = replace(subject_of(run, texts=12), model=Bare(run.model), folder=None)  # type: ignore[arg-type]
    found = attentest.trial("correlation", subject)
    assert {n for n in PAPERS if f"tau attention – {n}" in found.table.column_names} == {
        "leave-one-out",
        "hidden-gradient",
        "hidden-leave-one-out",
    }
    dispersion = attentest.trial("dispersion", subject)
    assert dispersion.notes == ("Gradients were left out: the model lacks embed and encode_embedded.",)
    with pytest.raises(attentest.InputError, match="gradient: these need a model with the methods embed"):
        attentest.trial("correlation", subject, measures="gradient")


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_slope_of_the_search_is_that_of_its_loss(k: int) -> None:
    reading, _ = random_readings(6, 7, k)
    generator = torch.Generator().manual_seed(k)
    scores = torch.randn(6, k, reading.mask.shape[1], generator=generator)
    scores = scores.masked_fill(~reading.mask.unsqueeze(1), -1e4).requires_grad_()
    by_autograd = adversary_search._slope_by_autograd(reading, scores, 0.01)
    assert reading.margins is not None
    by_hand = adversary_search._written_out(reading.margins, reading.weights, reading.probabilities[:, 1:], 0.01, k)
    assert torch.allclose(by_hand(scores), by_autograd, atol=1e-4)


def test_what_counts_as_an_adversary_can_be_wider_than_what_is_searched_for() -> None:
    reading, _ = random_readings(12, 9, 0)
    narrow, wide = (
        InstanceAdversary(accepted=accepted, method="search", steps=50).examine(reading) for accepted in (0.0, 0.05)
    )
    assert (wide["candidates"] >= narrow["candidates"]).all()
    assert (wide["candidates"] > narrow["candidates"]).any()
    exact = InstanceAdversary(accepted=0.05).examine(reading)
    assert np.nanmax(exact["tvd"]) == pytest.approx(0.05, abs=1e-4)
    with pytest.raises(attentest.InputError, match="between epsilon and 1"):
        InstanceAdversary(epsilon=0.1, accepted=0.05)
