"""A known limit: attention trained to suffice fools the test that decides faithful, and other tests notice."""

from __future__ import annotations

from dataclasses import replace

import pytest

import attentest
from attentest.studies.experiments.known_truth import DECEPTIVE, KINDS, prove
from attentest.studies.verdict import judge
from attentest.studies.verdict.judge import NO, UNCLEAR, YES
from attentest.trials import make_trial
from attentest.trials.hold import hold
from attentest.trials.subject import subject_of


@pytest.mark.slow
def test_a_model_that_is_trained_to_suffice_is_deceptive_and_not_called_faithful() -> None:
    corpus = attentest.load("planted", rows=1500, difficulty=0.3)
    settings = {"hidden": 32, "epochs": 20, "patience": 4, "batch_size": 64, "lr": 2e-3}
    run = attentest.train(corpus, encoder="bilstm", **{**settings, **KINDS["suffice"].settings})
    trials = [make_trial(name) for name in ("uniform", "erasure", "swaps", "rationale")]
    trials.append(make_trial("correlation", measures=("leave-one-out",)))
    found = {one.trial: one.summary for one in hold(trials, replace(subject_of(run), folder=None))}
    assert prove(DECEPTIVE, found["swaps"], found["rationale"]).holds
    verdicts = judge({("trial", name): summary for name, summary in found.items()})
    faithful = next(one for one in verdicts if one.definition.name == "faithful")
    answers = {ruling.criterion.name: ruling.answer for ruling in faithful.rulings}
    assert answers["faithful.sufficiency"] == YES
    assert answers["faithful.comprehensiveness"] == answers["faithful.leave-one-out"] == NO
    assert faithful.answer == UNCLEAR
    assert (
        "But comprehensiveness says no, and attention can be trained to pass sufficiency alone." in faithful.confidence
    )
