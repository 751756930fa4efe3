"""Which adversary counts is decided on dev: test texts have no say in it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from told_on_dev import told

import attentest
from attentest.studies.experiments import make_experiment
from attentest.studies.experiments.adversary import OnDev, best_far_on_dev, furthest_on_dev
from attentest.studies.experiments.base import BASE, Result, difference

NO_FINDINGS: Any = {f"{BASE} adversary": SimpleNamespace(summary={})}


@pytest.fixture(scope="module")
def adversaries(run: attentest.Run, corpus: attentest.Corpus) -> list[attentest.Run]:
    """Of two strengths, the second further away; each trained three times."""
    size: dict[str, Any] = {"dimension": 16, "hidden": 8, "objective": "adversary", "select_by": "loss", "lr": 0.03}
    pairs = [(strength, seed) for strength in (0.0, 0.5) for seed in (3, 4, 5)]
    return [attentest.train(corpus, base=run, epochs=2, strength=s, seed=seed, **size) for s, seed in pairs]


def concluded(base: attentest.Run, near: list[attentest.Run], far: list[attentest.Run]) -> Result:
    labels = [["lambda 0", "lambda 0, seed 1", "lambda 0, seed 2"], ["lambda 0.5"]]
    labels[1] += [f"lambda 0.5, seed {seed}" for seed in (1, 2)]
    runs = {BASE: base, "uniform": base}
    for names, trained in zip(labels, (near, far), strict=True):
        runs |= dict(zip(names, trained, strict=False))
    experiment = make_experiment("adversary", {"lambdas": [0.0, 0.5], "seeds": 0, "repeats": len(near)})
    assert {training.label for training in experiment.trainings()} <= runs.keys()
    return experiment.conclude(runs, NO_FINDINGS)


def test_the_best_of_those_far_on_dev_or_the_furthest() -> None:
    found = {"a": OnDev(0.5, 0.7), "b": OnDev(0.6, 0.8), "c": OnDev(0.39, 0.9), "d": OnDev(0.69, 0.1)}
    assert best_far_on_dev(found, 0.4) == "b"
    assert best_far_on_dev(found, 0.69) is None
    assert furthest_on_dev(found) == "d"


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_far_adversary_is_the_one_that_dev_names(
    chosen: int, run: attentest.Run, adversaries: list[attentest.Run], tmp_path: Path
) -> None:
    near, far = (
        told(adversaries[place], tmp_path / f"{n}", jsd=0.5, f1=0.9 if n == chosen else 0.8)
        for n, place in enumerate((0, 3))
    )
    summary = concluded(run, [near], [far]).conclusion.summary
    assert summary["JSD, far"].value == pytest.approx(difference(run, (near, far)[chosen]).jsd.mean())
    assert summary["F1, far − base"].value == pytest.approx((near, far)[chosen].metrics["f1"] - run.metrics["f1"])


def test_where_none_is_far_it_says_how_far_the_furthest_got(
    run: attentest.Run, adversaries: list[attentest.Run], tmp_path: Path
) -> None:
    near, far = (told(adversaries[place], tmp_path / f"{place}", jsd=place / 10) for place in (0, 3))
    result = concluded(run, [near], [far])
    summary = result.conclusion.summary
    assert "F1, far − base" not in summary
    assert "JSD, far" not in summary
    assert summary["JSD, furthest"].value == pytest.approx(difference(run, far).jsd.mean())
    assert "the furthest, λ = 0.5" in result.conclusion.answer
    (note,) = result.conclusion.notes
    assert "do not cover how trainings differ" in note


def test_several_adversaries_of_a_strength(
    run: attentest.Run, adversaries: list[attentest.Run], tmp_path: Path
) -> None:
    """Their means on dev decide, and the interval covers how they differ."""
    said = [0.1, 0.6, 0.6]  # 0.43 on average; the first alone would not be far
    far = [told(one, tmp_path / f"{n}", jsd=said[n]) for n, one in enumerate(adversaries[3:])]
    result = concluded(run, adversaries[:3], far)
    summary = result.conclusion.summary
    apart = np.array([difference(run, one).jsd for one in far])
    assert summary["JSD, far"].value == pytest.approx(apart.mean())
    over_texts = 1.96 * apart.mean(0).std(ddof=1) / np.sqrt(apart.shape[1])
    assert summary["JSD, far"].high - summary["JSD, far"].value > over_texts
    lost = np.mean([one.metrics["f1"] for one in far]) - run.metrics["f1"]
    assert summary["F1, far − base"].value == pytest.approx(lost)
    assert result.conclusion.notes == []
    cells = {(one.variant, one.measure): one.value for one in result.cells}
    assert cells[("adversary, far", "f1 gain over base")] == pytest.approx(lost)
    assert cells[("adversary, lambda=0.5", "f1")] == pytest.approx(far[0].metrics["f1"])  # the paper has one


@pytest.mark.parametrize("label", ["frozen", "unfrozen"])
def test_the_frozen_and_the_unfrozen_adversary_that_count_are_chosen_on_dev(
    run: attentest.Run, adversaries: list[attentest.Run], tmp_path: Path, label: str
) -> None:
    other = "unfrozen" if label == "frozen" else "frozen"
    strengths = {f"{label}_strengths": [1.0, 0.01, 0.1], f"{other}_strengths": [0.5]}
    for name, far, chosen in (("some", (0.1, 0.5, 0.6), 1), ("none", (0.1, 0.3, 0.2), 1)):
        trained = [told(one, tmp_path / f"{name} {n}", jsd=far[n]) for n, one in enumerate(adversaries[:3])]
        runs = dict(zip((f"{label} 0.01", f"{label} 0.1", f"{label} 1"), trained, strict=True))
        experiment = make_experiment("frozen", strengths)
        assert {one.label for one in experiment.trainings()} == {*runs, f"{other} 0.5"}
        found = experiment.conclude(runs | {BASE: run, f"{other} 0.5": adversaries[0]}, {})
        expected = difference(run, trained[chosen]).jsd.mean()
        assert found.conclusion.summary[f"JSD, {label}"].value == pytest.approx(expected)
