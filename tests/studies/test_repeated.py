"""Figures over several trainings: as counted one by one, with intervals that cover trainings where these are enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_engine import Here

import attentest
from attentest.chance import keyed_uniform
from attentest.engine import Store
from attentest.engine.scheduler import run_plan
from attentest.measures.intervals import Estimate, mean, two_level
from attentest.measures.quantiles import student_quantile
from attentest.studies.cells import f1_difference
from attentest.studies.expand import StudyPlan, expand
from attentest.studies.experiments import EXPERIMENTS, make_experiment
from attentest.studies.experiments.base import BASE
from attentest.studies.experiments.pairs import Pairs
from attentest.studies.experiments.repeated import (
    accuracy_change,
    estimate_over,
    f1_change,
    labels_of,
    notes_on,
    scores_over,
)
from attentest.studies.experiments.seeds import over_trainings
from attentest.studies.schema import Study
from attentest.training.run import Run
from attentest.trials import trial_class
from attentest.trials.stored import finding_in

LN2 = math.log(2)


@pytest.fixture(scope="module")
def third(run: attentest.Run, corpus: attentest.Corpus) -> attentest.Run:
    return attentest.train(corpus, epochs=6, dimension=16, hidden=8, seed=5, lr=0.03)


@pytest.fixture(scope="module")
def sides(
    run: attentest.Run, sibling: attentest.Run, third: attentest.Run
) -> tuple[list[attentest.Run], list[attentest.Run]]:
    return [sibling, third, sibling], [run, run, third]


def decided(run: attentest.Run) -> list[tuple[str, str]]:
    return list(zip(run.predictions["label"].to_pylist(), run.predictions["predicted"].to_pylist(), strict=True))


def f1_of(pairs: Sequence[tuple[str, str]], positive: str) -> float:
    hits = sum(label == said == positive for label, said in pairs)
    total = sum((label == positive) + (said == positive) for label, said in pairs)
    return 2 * hits / total if total else 0.0


def added_to_f1(pairs: Sequence[tuple[str, str]], positive: str) -> list[float]:
    """By each text, of the positive class: F1 and its derivative, text by text."""
    total = sum((label == positive) + (said == positive) for label, said in pairs)
    f1 = f1_of(pairs, positive)
    return [
        f1 + (2 * (label == said == positive) - f1 * ((label == positive) + (said == positive))) * len(pairs) / total
        for label, said in pairs
    ]


def test_f1_over_trainings_by_hand(sides: tuple[list[attentest.Run], list[attentest.Run]]) -> None:
    ours, theirs = ([decided(run) for run in side] for side in sides)
    positive = sides[0][0].classes[1]
    each = [f1_of(more, positive) - f1_of(less, positive) for more, less in zip(ours, theirs, strict=True)]
    values = [
        np.subtract(added_to_f1(more, positive), added_to_f1(less, positive))
        for more, less in zip(ours, theirs, strict=True)
    ]
    found = f1_change(*sides)
    assert found.value == pytest.approx(np.mean(each))
    over_texts = mean(np.mean(values, 0))
    half = student_quantile(0.975, len(each) - 1) * np.std(each, ddof=1) / math.sqrt(len(each))
    # without bounds an interval may only be narrower
    assert found.low <= found.value - math.hypot(found.value - over_texts.low, half) + 1e-9
    assert found.high >= found.value + math.hypot(over_texts.high - found.value, half) - 1e-9
    assert -1 <= found.low < found.high <= 1


def test_accuracy_over_trainings_by_hand(sides: tuple[list[attentest.Run], list[attentest.Run]]) -> None:
    values = [
        [float(a == b) - float(c == d) for (a, b), (c, d) in zip(decided(more), decided(less), strict=True)]
        for more, less in zip(*sides, strict=True)
    ]
    assert asdict(accuracy_change(*sides)) == pytest.approx(asdict(two_level(np.array(values), (-1, 1))))


def test_one_training_has_an_interval_over_texts_and_a_note(run: attentest.Run, sibling: attentest.Run) -> None:
    assert asdict(f1_change([sibling], [run])) == pytest.approx(asdict(f1_difference(sibling, run)))
    (note,) = notes_on(1)
    assert "do not cover how trainings differ" in note
    assert notes_on(3) == []
    scores = scores_over([run])
    assert scores["f1"].value == pytest.approx(run.metrics["f1"])
    assert scores["accuracy"].value == pytest.approx(run.metrics["accuracy"])
    assert not any(math.isnan(one.low) or math.isnan(one.high) for one in scores.values())


def test_estimates_of_trainings_are_averaged_and_widened_by_how_they_differ() -> None:
    same = [Estimate(0.5, 0.4, 0.7, 100)] * 3
    assert asdict(estimate_over(same)) == pytest.approx(asdict(same[0]))
    two = estimate_over([Estimate(0.5, 0.4, 0.7, 100), Estimate(0.1, 0.0, 0.2, 80)])
    assert asdict(two) == pytest.approx(asdict(Estimate(0.3, 0.2, 0.45, 80)))
    apart = estimate_over([Estimate(value, value - 0.1, value + 0.1, 100) for value in (0.5, 0.9, -0.3)])
    assert apart.value == pytest.approx(1.1 / 3)
    between = np.var([0.5, 0.9, -0.3], ddof=1) / 3
    half = math.hypot(0.1, student_quantile(0.975, 2) * math.sqrt(between))
    assert (apart.low, apart.high) == pytest.approx((apart.value - half, apart.value + half))


def test_a_figure_that_one_seed_lacks_is_not_defined_over_trainings() -> None:
    experiment: Any = make_experiment("seeds", {"seeds": 2, "examine": ["uniform"]})
    share = Estimate(0.5, 0.4, 0.6, 100)
    nowhere = Estimate(math.nan, math.nan, math.nan, 0)
    whole, *entries = dict.fromkeys(trial_class("uniform").keys.values())
    missing, not_defined = entries[:2]
    every = [
        {whole: share, missing: share, not_defined: share},
        {whole: share, not_defined: nowhere},
        {whole: share, missing: share, not_defined: share},
    ]
    labels = labels_of(BASE, 3)
    findings = {f"{label} uniform": SimpleNamespace(summary=one) for label, one in zip(labels, every, strict=True)}
    found = experiment._over_trainings(findings)
    assert found.keys() == {over_trainings(entry) for entry in (whole, missing, not_defined)}
    assert found[over_trainings(whole)].value == 0.5
    assert math.isnan(found[over_trainings(missing)].value)
    assert math.isnan(found[over_trainings(not_defined)].value)


def jsd(p: Sequence[float], q: Sequence[float]) -> float:
    def kl(a: Sequence[float], b: Sequence[float]) -> float:
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return kl(p, middle) / 2 + kl(q, middle) / 2


def maps(trainings: int, texts: int, alike: float, seed: int = 0) -> list[Any]:
    """Weights of several trainings: as much of each as `alike` is the same in all."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(3, 12, texts)
    common = [generator.dirichlet(np.full(length, 0.3)) for length in lengths]
    own = [[generator.permutation(weights) for weights in common] for _ in range(trainings)]
    return [
        SimpleNamespace(shares=[(alike * a + (1 - alike) * b).tolist() for a, b in zip(common, mine, strict=True)])
        for mine in own
    ]


@pytest.mark.parametrize("trainings", [2, 3, 5])
def test_pairs_by_hand(trainings: int) -> None:
    runs = maps(trainings, 30, 0.5)
    found = Pairs.of(runs)
    apart = np.zeros((trainings, trainings, 30))
    chance = np.zeros((trainings, trainings, 30))
    for a, b in combinations(range(trainings), 2):
        for text in range(30):
            first, second = runs[a].shares[text], runs[b].shares[text]
            drawn = keyed_uniform(a, "permuted weights", np.array([text]), len(first))[0]
            mixed = [first[place] for place in np.argsort(drawn)]
            apart[a, b, text] = apart[b, a, text] = jsd(first, second)
            chance[a, b, text] = chance[b, a, text] = jsd(mixed, second)
    pairs = trainings * (trainings - 1)
    means = {name: values.sum() / pairs / 30 for name, values in (("apart", apart), ("permuted", chance))}
    assert found.mean(found.apart).value == pytest.approx(means["apart"])
    assert found.mean(found.permuted).value == pytest.approx(means["permuted"])
    agreement = found.agreement()
    assert agreement.value == pytest.approx(1 - means["apart"] / means["permuted"])
    assert agreement.low < agreement.value < agreement.high
    if trainings > 2:
        # the jackknife over trainings, each left out with all its pairs
        left_out = []
        for gone in range(trainings):
            kept = [n for n in range(trainings) if n != gone]
            some = np.mean([apart[a, b] for a, b in combinations(kept, 2)], 0)
            left_out.append(trainings * apart.sum((0, 1)) / pairs - (trainings - 1) * some)
        expected = two_level(np.array(left_out), (0, LN2))
        high = expected.value * math.exp(expected.high / expected.value - 1)  # more above than below: JSD is skewed
        assert asdict(found.mean(found.apart)) == pytest.approx(asdict(expected) | {"high": min(high, LN2)})


def test_agreement_is_one_for_the_same_maps_and_none_for_permuted_ones() -> None:
    same = Pairs.of(maps(3, 50, alike=1.0)).agreement()
    assert same.value == pytest.approx(1)
    assert same.high == pytest.approx(1)
    assert same.low > 0.8
    none = Pairs.of(maps(4, 400, alike=0.0)).agreement()
    assert none.low < 0 < none.high
    assert abs(none.value) < 0.05
    partly = Pairs.of(maps(4, 400, alike=0.5)).agreement()
    assert none.high < partly.low < partly.high < same.low


def test_agreement_of_weights_that_no_order_changes_is_not_defined() -> None:
    uniform = [SimpleNamespace(shares=[[0.25] * 4] * 10) for _ in range(3)]
    found = Pairs.of(uniform).agreement()  # type: ignore[arg-type]
    assert math.isnan(found.value)
    assert math.isnan(found.low)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_training_is_selected_as_the_base_is_except_an_imitation(name: str) -> None:
    for training in make_experiment(name, {}).trainings():
        chosen = {"select_by", "patience"} & training.settings.keys()
        if "objective" in training.settings:  # an imitation sees no label, and weights with a goal take longer
            assert training.settings["select_by"] == "loss"
        else:
            assert not chosen, training.label


@pytest.mark.parametrize("name", ["uniform", "guides", "adversary", "fix", "informed-adversary", "gumbel"])
def test_repeats_train_each_model_with_other_seeds(name: str) -> None:
    once, thrice = (make_experiment(name, {"repeats": count}) for count in (1, 3))
    named = {training.label: training for training in thrice.trainings()}
    assert len(named) == len(thrice.trainings())
    assert [training.label for training in once.trainings() if training.label not in named] == []
    standing = {BASE, *named}
    for training in thrice.trainings():
        assert {training.preset, training.start, training.base} - {None} <= standing
    seeds = [training.settings["seed"] for training in thrice.trainings() if training.label.endswith(", seed 2")]
    assert seeds
    assert set(seeds) == {2}
    assert {on.label for on in thrice.trials()} <= standing


def test_a_repeated_fix_starts_from_the_base_of_its_own_seed() -> None:
    starts = {t.label: t.start for t in make_experiment("fix", {"repeats": 3}).trainings() if t.start}
    assert starts == {
        "fix representation": BASE,
        "fix representation, seed 1": "seed 1",
        "fix representation, seed 2": "seed 2",
    }


@pytest.fixture(scope="module")
def repeated_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyPlan, Store]:
    three = {"repeats": 3}
    short = {"epochs": 1, "patience": 1}
    study = Study(
        "repeated",
        corpora=("planted",),
        columns={"rows": 150},
        training={"epochs": 1, "dimension": 8, "hidden": 4, "select_by": "f1"},
        texts=20,
        experiments={
            "uniform": {"weights": ["uniform"], **three},
            "guides": {**short, **three},
            "adversary": {"lambdas": [0.001], "seeds": 2, "far": 0.0, **short, **three},
            "fix": {"runs": 2, **three},
            "informed-adversary": {"strength": 0.001, "runs": 2, **short, **three},
            "gumbel": {"runs": 2, **three},
        },
    )
    planned, store = expand(study), Store(tmp_path_factory.mktemp("store"))
    wanted = [step for ref, step in planned.results.items() if ref.kind == "experiment"]
    assert run_plan(planned.plan, store, Here(store), targets=wanted).failed == {}
    return planned, store


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("uniform", ["F1, uniform − base", "accuracy, uniform − base", "f1, base"]),
        ("guides", ["F1, base LSTM − uniform", "f1, adversary"]),
        ("adversary", ["F1, far − base", "JSD, far", "JSD, furthest"]),
        ("fix", ["Δ weighted τ, fix representation", "Δ weighted τ, fix attention, random"]),
        ("informed-adversary", ["Δ weighted τ, adversary", "JSD, adversary"]),
        ("gumbel", ["Δ weighted τ, gumbel"]),
    ],
)
def test_repeated_experiments_as_a_whole(
    name: str, entries: list[str], repeated_study: tuple[StudyPlan, Store]
) -> None:
    planned, store = repeated_study
    (step,) = [step for ref, step in planned.results.items() if (ref.kind, ref.name) == ("experiment", name)]
    finding = finding_in(store.path(step.key))
    assert not any("do not cover" in note for note in finding.record.notes)
    for entry in entries:
        estimate = finding.summary[entry]
        assert estimate.low <= estimate.value <= estimate.high, entry
    runs = {role: Run(store.path(key)) for role, key in step.inputs.items() if role.startswith("run ")}
    assert {run.record.training.seed for run in runs.values()} == {0, 1, 2}
    for run in runs.values():  # what judges a model selects its epoch
        expected = "loss" if run.record.training.objective == "adversary" else "f1"
        assert run.record.training.select_by == expected
    if name == "uniform":
        pairs = [("uniform", BASE), ("uniform, seed 1", "seed 1"), ("uniform, seed 2", "seed 2")]
        change = [runs[f"run {a}"].metrics["f1"] - runs[f"run {b}"].metrics["f1"] for a, b in pairs]
        assert finding.summary["F1, uniform − base"].value == pytest.approx(np.mean(change))
    if name in ("fix", "gumbel"):
        variant = "fix attention, random" if name == "fix" else "gumbel"
        taus = [
            [finding_in(store.path(step.inputs[f"finding {label} information"])).summary["weighted τ"].value
             for label in labels_of(kind, 3)]
            for kind in (BASE, variant)
        ]  # fmt: skip
        expected_loss = np.mean(np.array(taus[0]) - np.array(taus[1]))
        assert finding.summary[f"Δ weighted τ, {variant}"].value == pytest.approx(expected_loss)


def test_other_seeds_of_the_base_are_trained_once_for_all_experiments() -> None:
    experiments = {"seeds": {"seeds": 2}, **{name: {"repeats": 3} for name in ("uniform", "fix", "gumbel")}}
    study = Study("shared", corpora=("planted",), columns={"rows": 100}, experiments=experiments)
    names = [step.name for step in expand(study).plan if step.work.endswith("training:run")]
    assert sum(name.endswith(", seed 1") and name.count(",") == 1 for name in names) == 1
    assert len(names) == len(set(names))
