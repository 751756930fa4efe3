"""Attention trained to suffice fools the test of sufficiency, and not the test that decides faithful."""

from __future__ import annotations

from dataclasses import replace

import pytest

import attentest
from attentest.studies.experiments.known_truth import DECEPTIVE, KINDS, prove
from attentest.studies.verdict import judge
from attentest.studies.verdict.judge import NO
from attentest.trials import make_trial
from attentest.trials.hold import hold
from attentest.trials.subject import subject_of


@pytest.mark.slow
def test_a_model_that_is_trained_to_suffice_is_deceptive_and_not_called_faithful() -> None:
    corpus = attentest.load("planted", rows=1500, difficulty=0.3)
    settings = {"hidden": 32, "epochs": 20, "patience": 4, "batch_size": 64, "lr": 2e-3}
    run = attentest.train(corpus, encoder="bilstm", **{**settings, **KINDS["suffice"].settings})
    trials = [make_trial(name) for name in ("uniform", "exchange", "erasure", "swaps", "rationale")]
    found = {one.trial: one.summary for one in hold(trials, replace(subject_of(run), folder=None))}
    assert prove(DECEPTIVE, found["swaps"], found["rationale"]).holds
    verdicts = judge({("trial", name): summary for name, summary in found.items()})
    faithful = next(one for one in verdicts if one.definition.name == "faithful")
    assert found["erasure"]["sufficiency position"].low > 0.9  # as if leave-one-out itself had chosen the tokens
    assert faithful.deciding is not None
    assert faithful.deciding.criterion.name == "faithful.exchange"
    assert faithful.answer == NO
