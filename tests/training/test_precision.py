"""Pretrained encoders in bfloat16: loaded or put into it, examined by every trial, and told apart from the usual."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from program import Program
from tiny_encoders import marked_corpus, save_classifier

import attentest
from attentest.models.pretrained.architectures import tolerance
from attentest.models.pretrained.explanations import EXPLANATIONS
from attentest.models.pretrained.view import View
from attentest.studies.audit import plan_audit
from attentest.studies.comparison import plan_comparison
from attentest.studies.examined import Finished
from attentest.training.take import take_pretrained
from attentest.trials import TRIALS, hold, make_trial, subject_of

BF16 = "bfloat16"
STEP = 2.0**-8  # half of the distance of bfloat16 numbers near 1: the most that one rounding moves them
FEW: dict[str, dict[str, Any]] = {
    "adversary": {"steps": 5, "k": 2},
    "permutation": {"permutations": 5},
    "conicity": {"permutations": 5},
    "dispersion": {"influence_texts": 2},
    "information": {"runs": 2, "clusters": 2},
}


@pytest.fixture(scope="module")
def coarse(encoder_run: attentest.Run) -> attentest.Run:
    return encoder_run.computed_in(BF16)


@pytest.mark.parametrize("name", TRIALS)
def test_every_trial_examines_it(name: str, encoder_run: attentest.Run, coarse: attentest.Run) -> None:
    trial = make_trial(name, **FEW.get(name, {}))
    (found,) = hold([trial], replace(subject_of(coarse, texts=4), folder=None))
    assert found.signature["dtype"] == BF16
    if name == "unidentified":  # its other weights are rounded, too, so that logits change by more than it allows
        assert any("so rounding in the model hides whether the output is the same" in note for note in found.notes)
    elif name != "exchange" or found.summary["position"].n:  # its texts may be decided alike
        assert any(math.isfinite(estimate.value) for estimate in found.summary.values())
    (usual,) = hold([trial], replace(subject_of(encoder_run, texts=4), folder=None))
    assert "dtype" not in usual.signature
    assert found.summary.keys() == usual.summary.keys()
    for largest, tokens in zip(
        found.table["max_attention"].to_pylist(), found.table["tokens"].to_pylist(), strict=True
    ):
        assert 1 / tokens - 1e-6 <= largest <= 1 + 1e-6  # weights are divided by their sum in single precision


@pytest.mark.parametrize("weights", EXPLANATIONS)
def test_all_weights_that_explain_are_in_single_precision(weights: str, coarse: attentest.Run) -> None:
    (shown,) = coarse.seen(View(weights=weights)).attend("the film was good")
    assert sum(shown.weights) == pytest.approx(1, abs=1e-5)  # they are divided by their sum in single precision


def test_the_run_itself_stays_as_it_is(encoder_run: attentest.Run, coarse: attentest.Run) -> None:
    kinds = [{p.dtype for p in run.model.parameters()} for run in (encoder_run, coarse)]
    assert kinds == [{torch.float32}, {torch.bfloat16}]
    assert encoder_run.computed_in("auto") is encoder_run
    assert coarse.seen(View(head=0)).dtype == BF16


def test_logits_may_lie_four_steps_apart() -> None:
    """1e-5 is 84 steps of single precision, and less than one of bfloat16."""
    assert tolerance(torch.float32) == 1e-5
    assert tolerance(torch.bfloat16) == 4 * 2 * STEP


def test_a_classifier_is_loaded_in_it_and_stays_so(tmp_path: Path) -> None:
    theirs = save_classifier(tmp_path / "theirs")
    run = take_pretrained(marked_corpus(), theirs, tmp_path / "run", dtype=BF16)
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.bfloat16}
    assert "The model computes in bfloat16." in run.notes
    (finding,) = hold([make_trial("uniform")], subject_of(run, texts=4))
    assert math.isfinite(finding.summary["accuracy"].value)


def test_models_of_our_own_are_refused(run: attentest.Run, encoder_run: attentest.Run, command: Program) -> None:
    for work in (
        lambda: run.computed_in(BF16),
        lambda: plan_audit(run, dtype=BF16),
        lambda: plan_comparison(run, encoder_run, dtype=BF16),
    ):
        with pytest.raises(attentest.InputError, match="compute in float32"):
            work()
    with pytest.raises(attentest.InputError, match="Models are trained in float32"):
        plan_audit(attentest.load("planted", rows=300), dtype=BF16)
    answer = command("trial", "uniform", run.path, "--dtype", BF16)
    assert answer.code == 2
    assert "leave out --dtype" in answer.err
    answer = command("trial", "uniform", encoder_run.path, "--dtype", "float61")
    assert answer.code == 2
    assert "Unknown number type" in answer.err


def test_steps_in_it_have_keys_of_their_own(encoder_run: attentest.Run) -> None:
    usual, other = plan_audit(encoder_run), plan_audit(encoder_run, dtype=BF16)
    kinds = ("trial", "instances")
    keys = [{step.key for ref, step in plan.results.items() if ref.kind in kinds} for plan in (usual, other)]
    assert len(keys[0]) == len(keys[1])
    assert not keys[0] & keys[1]
    assert any("computes in bfloat16" in note for note in other.notes)


def test_a_finished_model_in_it_is_another_step(tmp_path: Path) -> None:
    theirs, corpus = str(save_classifier(tmp_path / "theirs")), marked_corpus()
    plans = [plan_audit(corpus, model=Finished(source=theirs, dtype=dtype)) for dtype in ("auto", BF16)]
    taken = [next(step for step in plan.plan if step.name.startswith("take ")) for plan in plans]
    assert taken[0].key != taken[1].key
    assert taken[1].settings["dtype"] == BF16
    assert "dtype" not in taken[0].settings


def test_the_commands_have_it(command: Program, encoder_run: attentest.Run, tmp_path: Path) -> None:
    own = shutil.copytree(encoder_run.path, tmp_path / "run")
    answer = command("trial", "uniform", own, "--texts", 4, "--dtype", BF16, "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["signature"]["dtype"] == BF16
    assert (own / "trials" / "uniform-bfloat16").is_dir()
    shown = [
        json.loads(command("show", own, "--n", 2, "--json", *options).out)
        for options in ([], ["--dtype", BF16], ["--device", "cpu"])
    ]
    assert shown[0] == shown[2]
    assert [one["id"] for one in shown[1]] == [one["id"] for one in shown[0]]
    assert shown[1] != shown[0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_show_says_that_there_is_no_gpu(command: Program, encoder_run: attentest.Run) -> None:
    answer = command("show", encoder_run.path, "--device", "cuda")
    assert answer.code == 2
    assert "The device 'cuda' cannot be used here" in answer.err
