"""Every registered trial on a small trained run: one table test, and input that is hard to judge."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hand_model import HandModel, reading_of
from quick import ON_RUNS, QUICK, is_whole

import attentest
from attentest.trials import hold, make_trial, subject_of, trial_class
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.reading import readings


@pytest.fixture(scope="module", params=["bilstm", "cnn", "average"])
def trained(request: pytest.FixtureRequest, corpus: attentest.Corpus) -> attentest.Run:
    return attentest.train(corpus, epochs=2, dimension=12, hidden=8, encoder=request.param)


@pytest.mark.parametrize("name", ON_RUNS)
def test_every_trial_gives_a_whole_finding(trained: attentest.Run, name: str, tmp_path: Path) -> None:
    finding = attentest.trial(name, trained, **QUICK.get(name, {}))
    assert finding.table["id"].to_pylist() == trained.predictions["id"].to_pylist()
    assert finding.table["predicted"].to_pylist() == trained.predictions["predicted"].to_pylist()
    assert finding.answer.endswith(".")
    assert len(finding.summary) >= 1
    for label, estimate in finding.summary.items():
        assert is_whole(label, estimate), label
    assert finding.svg().startswith("<svg")
    assert finding.figure is not None
    finding.figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "<table>" in finding._repr_html_()
    kind = trial_class(name)
    assert set(finding.signature["settings"]) == {f.name for f in fields(kind)}  # type: ignore[arg-type]
    assert finding.signature["corpus_hash"] == trained.settings["corpus"]["fingerprint"]
    stored = json.loads(Path(finding.files["finding"]).read_text(encoding="utf-8"))
    assert stored["answer"] == finding.answer
    assert repr(pq.read_table(finding.files["table"]).to_pylist()) == repr(finding.table.to_pylist())
    assert kind.question.endswith("?")
    assert kind.source
    assert kind.needs


@pytest.mark.parametrize("name", [n for n in ON_RUNS if n != "information"])  # that one is about all texts together
def test_batches_and_order_change_nothing(trained: attentest.Run, name: str) -> None:
    subject = replace(subject_of(trained, texts=20), folder=None)
    (whole,) = hold([make_trial(name, **QUICK.get(name, {}))], subject)
    part = replace(subject, rows=subject.rows[::-2])
    (half,) = hold([make_trial(name, **QUICK.get(name, {}))], part)
    there = {row["id"]: row for row in whole.table.to_pylist()}
    sampled = {"influence on hidden states"}  # who is in the sample hangs on who is there
    for row in half.table.to_pylist():
        for key in set(row) - sampled:
            value, expected = row[key], there[row["id"]][key]
            near = pytest.approx(expected, abs=2e-5, nan_ok=True) if isinstance(value, float) else expected
            assert value == near, key


def test_same_seed_same_table_other_seed_other_draws(own_run: attentest.Run) -> None:
    first, second, other = (attentest.trial("removal", own_run, seed=seed).table for seed in (0, 0, 1))
    assert first.equals(second)
    assert not first.equals(other)


def test_many_classes_take_the_general_ways() -> None:
    run = attentest.train(attentest.load("planted", rows=200, classes=4), epochs=1, dimension=8, hidden=4)
    for name in ON_RUNS:
        finding = attentest.trial(name, run, **QUICK.get(name, {}))
        assert finding.table.num_rows == run.predictions.num_rows
    assert set(attentest.trial("adversary", run, steps=20).table["method"].to_pylist()) == {"search"}
    with pytest.raises(attentest.InputError, match="two classes and an affine decoder"):
        attentest.trial("adversary", run, method="exact")


# these run the model on other texts, or need a whole subject
FURTHER = {"correlation", "dispersion", "erasure", "exchange", "information", "overlap", "rationale", "swaps"}


@pytest.mark.parametrize("name", [name for name in ON_RUNS if name not in FURTHER])
@pytest.mark.parametrize(
    ("margins", "weights"),
    [
        ([[1.0]], [[1.0]]),  # a text of one token
        ([[1.0, -2.0, 0.5]], [[1 / 3] * 3]),  # weights that are uniform already
        ([[0.7, 0.7, 0.7]], [[0.2, 0.5, 0.3]]),  # a model that is constant
        ([[3.0, -3.0]], [[1.0, 0.0]]),  # all weight on one token
    ],
)
def test_texts_that_are_hard_to_judge(name: str, margins: list[Any], weights: list[Any]) -> None:
    subject = SimpleNamespace(data=SimpleNamespace(corpus=attentest.load("planted", rows=10)))
    columns = make_trial(name).examiner(subject).examine(reading_of(HandModel(margins, weights)))  # type: ignore[arg-type]
    for key, values in columns.items():
        numbers = np.asarray(values)
        if numbers.dtype.kind == "f":
            assert (np.isnan(numbers) | np.isfinite(numbers)).all(), key
    if name == "permutation" and margins != [[1.0, -2.0, 0.5]] and len(margins[0]) != 2:
        assert columns["median_tvd"][0] == pytest.approx(0, abs=1e-7)


def test_one_token_has_no_adversary_but_itself() -> None:
    columns = InstanceAdversary(0.01, k=3).examine(reading_of(HandModel([[1.0]], [[1.0]])))
    assert columns["max_jsd"][0] == pytest.approx(0, abs=1e-6)
    assert columns["candidates"][0] == 1


def test_fewer_vertices_than_k_is_said(own_run: attentest.Run) -> None:
    finding = attentest.trial("adversary", own_run, k=100_000, texts=10)
    assert "fewer than 100000 adversaries" in finding.notes[0]


def test_logits_that_are_not_finite_are_refused_with_the_id(run: attentest.Run) -> None:
    subject = subject_of(run)
    model = attentest.open_run(run.path).model
    with torch.no_grad():
        model.get_parameter("decoder.weight").fill_(torch.nan)
    with pytest.raises(attentest.InputError, match="the text with id '"):
        list(readings(model, subject.data, subject.rows))


def test_too_few_texts_for_the_clusters_is_said(own_run: attentest.Run) -> None:
    finding = attentest.trial("information", own_run, texts=20, runs=1)
    assert "20 texts are too few for 50 clusters" in finding.notes[0]


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("permutatoin", {}, "did you mean 'permutation'"),
        ("permutation", {"permutation": 3}, "did you mean 'permutations'"),
        ("permutation", {"permutations": 0}, "at least 1"),
        ("permutation", {"permutations": "many"}, "expected int"),
        ("adversary", {"epsilon": -0.1}, "between 0 and 1"),
        ("adversary", {"method": "exakt"}, "did you mean 'exact'"),
        ("information", {"clusters": 1}, "at least 2"),
    ],
)
def test_bad_settings(run: attentest.Run, name: str, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        attentest.trial(name, run, **settings)


def test_lengths_apart_or_together_give_the_same(run: attentest.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    model = attentest.open_run(run.path).model
    subject = replace(subject_of(run), folder=None, model=model)
    with torch.no_grad():  # weights far from uniform, and logits far from 0
        for name in ("alignment.outer.weight", "decoder.weight"):
            model.get_parameter(name).mul_(100)
    found = []
    for enough in (0, 10**9):  # every length on its own, and all together
        monkeypatch.setattr("attentest.trials.permutation._ENOUGH", enough)
        (finding,) = hold([make_trial("permutation", permutations=20)], subject)
        found.append(finding.table["median_tvd"].to_numpy())
    assert np.abs(found[0] - found[1]).max() <= 1e-6
    assert found[0].max() > 1e-2


def test_differences_that_a_verdict_needs_are_taken_text_by_text(own_run: attentest.Run) -> None:
    def mean(values: list[Any]) -> float:
        kept = np.array(values, float)
        return float(kept[~np.isnan(kept)].mean())

    flips = attentest.trial("flips", own_run)
    pairs = zip(*(flips.table[f"flip_{name}"].to_pylist() for name in ("heaviest", "random")), strict=True)
    assert flips.summary["flips, heaviest − random"].value == pytest.approx(
        mean([float(h) - float(r) for h, r in pairs])
    )
    sets = attentest.trial("importance-sets", own_run)
    removed = {name: np.nan_to_num(sets.table[name].to_numpy(), nan=1.0) for name in sets.table.column_names[6:]}
    for other in ("attention-times-gradient", "attention-gradient"):
        expected = float((removed["attention"] - removed[other]).mean())
        assert sets.summary[f"attention − {other}"].value == pytest.approx(expected, abs=1e-6)
    known = attentest.trial("rationale", own_run)
    chance = known.table["rationale_share"].to_numpy()
    for name, label in (("weight_on_rationale", "weight"), ("heaviest_in_rationale", "heaviest in the rationale")):
        found = known.summary[f"{label} − tokens in the rationale"].value
        assert found == pytest.approx(mean(known.table[name].to_numpy() - chance))
