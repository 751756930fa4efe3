"""Two runs side by side: what they are asked together, against a twin, and what is said where they cannot be."""

from __future__ import annotations

import math
import shutil
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from divergence import divergence
from quick import ON_RUNS
from scipy.stats import kendalltau
from sklearn.metrics import f1_score
from test_engine import Here

import attentest
from attentest.engine import Store
from attentest.engine.scheduler import Outcome
from attentest.measures.intervals import independent_difference
from attentest.reports.contents import Report
from attentest.reports.write import write_report
from attentest.studies import comparison
from attentest.studies.comparison import finding, instances_of_both, plan_comparison
from attentest.studies.expand import StudyPlan
from attentest.studies.run_study import run_planned
from attentest.trials.instances import SHOWN

NAMES = ["small", "sibling"]
SIZE: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}


def held(expanded: StudyPlan, block: str) -> list[str]:
    return [ref.name for ref in expanded.results if ref.kind == "trial" and ref.block == block]


def compared(expanded: StudyPlan, folder: Path) -> tuple[Outcome, Report, Path]:
    outcome = run_planned(expanded, folder / "compare", Here, Store(folder / "store"))
    return outcome, *write_report(folder / "compare")


@pytest.fixture
def two_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the others add nothing but time."""
    monkeypatch.setattr(comparison, "trials_of", lambda budget, rationales, layers: {"uniform": {}, "removal": {}})


@pytest.fixture(scope="module")
def page(run: attentest.Run, sibling: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("comparison")
    outcome, report, _ = compared(plan_comparison(run, sibling, texts=8), folder)
    assert outcome.failed == {}
    return report


def test_the_finding_against_a_twin(run: attentest.Run, sibling: attentest.Run) -> None:
    found = finding(NAMES, run, sibling)
    first, second = run.predictions.to_pylist(), sibling.predictions.to_pylist()
    rows = found.table.to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in first]
    for row, a, b, p, q in zip(rows, first, second, run.shares, sibling.shares, strict=True):
        change = np.abs(np.array(a["probability"]) - np.array(b["probability"])).sum() / 2
        assert (row["predicted"], row["predicted_by_other"]) == (a["predicted"], b["predicted"])
        assert row["tvd"] == pytest.approx(change, abs=1e-6)
        assert row["jsd"] == pytest.approx(divergence(np.array(p), np.array(q)), abs=1e-6)
        assert row["tau"] == pytest.approx(kendalltau(p, q).statistic, abs=1e-6, nan_ok=True)
    same = [a["predicted"] == b["predicted"] for a, b in zip(first, second, strict=True)]
    right = [np.array([row["predicted"] == row["label"] for row in one]) for one in (first, second)]
    names = [[row[key] for row in one] for one in (first, second) for key in ("label", "predicted")]
    f1 = [f1_score(*two, pos_label="class 1") for two in (names[:2], names[2:])]
    value = {name: estimate.value for name, estimate in found.summary.items()}
    assert value["share of the same decisions"] == pytest.approx(np.mean(same))
    assert 0.2 < np.mean(same) < 1  # or the test could not see a mistake
    assert value["accuracy, sibling − small"] == pytest.approx(right[1].mean() - right[0].mean())
    assert value["F1, sibling − small"] == pytest.approx(f1[1] - f1[0])
    for name, key in (("mean JSD of the weights", "jsd"), ("mean TVD of the predictions", "tvd")):
        assert value[name] == pytest.approx(np.mean([row[key] for row in rows]))
    assert value["Kendall τ of the weights"] == pytest.approx(np.nanmean([row["tau"] for row in rows]))
    assert f"{np.mean(same):.3f}" in found.answer


def test_the_other_way_round_the_gains_change_their_sign(run: attentest.Run, sibling: attentest.Run) -> None:
    there, back = finding(NAMES, run, sibling).summary, finding(NAMES[::-1], sibling, run).summary
    for score in ("accuracy", "F1"):
        one, other = there[f"{score}, sibling − small"], back[f"{score}, small − sibling"]
        assert one.value == pytest.approx(-other.value)
        assert one.value > 0  # the sibling was trained for longer
    for same in ("mean JSD of the weights", "mean TVD of the predictions", "share of the same decisions"):
        assert there[same].value == pytest.approx(back[same].value)


def test_heat_maps_of_both_in_the_order_of_the_corpus(run: attentest.Run, sibling: attentest.Run) -> None:
    rows = instances_of_both(NAMES, run, sibling).to_pylist()
    assert [row["variant"] for row in rows] == NAMES * SHOWN
    by_id = {row["id"]: n for n, row in enumerate(run.predictions.to_pylist())}
    places = []
    for mine, other in zip(rows[::2], rows[1::2], strict=True):
        assert mine["id"] == other["id"]
        n = by_id[mine["id"]]
        for row, model in ((mine, run), (other, sibling)):
            said, tokens = (t.slice(n, 1).to_pylist()[0] for t in (model.predictions, model.attention))
            assert row["weight"] == pytest.approx(model.shares[n])
            assert (row["predicted"], row["text"]) == (said["predicted"], said["text"])
            assert row["probability"] == pytest.approx(max(said["probability"]))
            assert (row["start"], row["rationale"]) == (tokens["start"], tokens["rationale"])
        assert (mine["jsd"], mine["tvd"]) == (0, 0)
        places.append(n)
        assert other["jsd"] == pytest.approx(divergence(np.array(run.shares[n]), np.array(sibling.shares[n])), abs=1e-6)
    assert places == sorted(places)


def test_a_whole_comparison(page: Report) -> None:
    assert (page.kind, page.title) == ("comparison", "small vs. sibling")
    both, *models = page.blocks
    assert [block.name for block in models] == ["small", "sibling"]
    assert [section.name for section in both.sections] == ["comparison"]
    assert both.sections[0].how_to_read
    assert len(both.instances) == SHOWN
    assert {variant.role for instance in both.instances for variant in instance.variants} == {"model"}
    for block in models:
        assert [section.name for section in block.sections] == ON_RUNS
        assert len(block.verdicts) == 7
    assert page.lead.startswith("Two models")


def test_differences_of_the_figures_that_both_have(page: Report) -> None:
    _, first, second = page.blocks
    own, others = ({s.name: s.summary for s in block.sections} for block in (first, second))
    assert {row.trial for row in page.differences} == set(ON_RUNS)
    for row in page.differences:
        assert row.first is own[row.trial][row.figure]
        assert row.second is others[row.trial][row.figure]
        np.testing.assert_equal(astuple(row.more), astuple(independent_difference(row.second, row.first)))
    both = sum(entry in others[name] for name, summary in own.items() for entry in summary)
    assert len(page.differences) == both


@pytest.mark.parametrize(
    ("rows", "options", "settings", "why"),
    [
        (300, {}, {"max_tokens": 6}, "split the texts into different tokens"),
        (300, {"classes": 3}, {}, "their classes differ."),
        (300, {"seed": 1}, {}, "were tested on different texts"),
        (200, {}, {}, "were tested on different texts"),
    ],
)
def test_runs_that_are_not_set_against_each_other(
    run: attentest.Run, tmp_path: Path, rows: int, options: dict[str, Any], settings: dict[str, Any], why: str
) -> None:
    corpus = attentest.load("planted", rows=rows, **options)
    other = attentest.train(corpus, tmp_path / "other", **SIZE, **settings)
    expanded = plan_comparison(run, other)
    assert expanded.beside is None
    (note,) = expanded.notes
    assert note.startswith("The two models are not compared text by text: ")
    assert why in note
    assert held(expanded, "small") == held(expanded, "other") == ON_RUNS


@pytest.mark.usefixtures("two_trials")
def test_their_page_has_the_differences_and_the_note(run: attentest.Run, tmp_path: Path) -> None:
    other = attentest.train(attentest.load("planted", rows=200), tmp_path / "other", **SIZE)
    outcome, report, _ = compared(plan_comparison(run, other, texts=5), tmp_path)
    assert outcome.failed == {}
    assert [block.name for block in report.blocks] == ["small", "other"]
    assert any("tested on different texts" in note for note in report.notes)
    assert report.differences


def test_runs_with_and_without_rationales(run: attentest.Run, tmp_path: Path) -> None:
    file = tmp_path / "plain.csv"
    file.write_text("text,label\n" + "".join(f"film {i} is {'good' if i % 2 else 'bad'},{i % 2}\n" for i in range(40)))
    plain = attentest.train(attentest.load(file), tmp_path / "plain", **SIZE)
    expanded = plan_comparison(run, plain)
    assert "rationale" in held(expanded, "small")
    assert held(expanded, "plain") == [name for name in ON_RUNS if name not in ("rationale", "swaps")]


def test_the_same_run_twice_is_refused(run: attentest.Run, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(run.path)
    for other in (run, attentest.open_run(run.path / ".." / run.path.name), attentest.open_run(link)):
        with pytest.raises(attentest.InputError, match="was given twice; give two different runs"):
            plan_comparison(run, other)


@pytest.mark.usefixtures("two_trials")
def test_a_copy_of_a_run_is_no_further_away_than_nothing(run: attentest.Run, tmp_path: Path) -> None:
    copy = attentest.open_run(shutil.copytree(run.path, tmp_path / "a" / "small"))
    expanded = plan_comparison(run, copy, texts=5)
    names = [step.name for step in expanded.plan if step.name.startswith("compare ")]
    outer = run.path.parent.name
    assert names == [f"compare {outer}/small vs. a/small"]  # as much of the paths as tells them apart
    outcome, report, _ = compared(expanded, tmp_path)
    assert outcome.failed == {}
    assert [block.name for block in report.blocks[1:]] == [f"{outer}/small", "a/small"]
    summary = report.blocks[0].sections[0].summary
    assert summary["mean JSD of the weights"].value == pytest.approx(0, abs=1e-9)
    assert summary["share of the same decisions"].value == 1
    assert {row.more.value for row in report.differences if not math.isnan(row.more.value)} == {0}
    maps = [pq.read_table(file) for file in (tmp_path / "compare" / "heat-maps").glob("*.parquet")]
    assert len(maps) == 2


@pytest.mark.usefixtures("two_trials")
def test_one_that_failed_leaves_a_page_of_the_other(run: attentest.Run, sibling: attentest.Run, tmp_path: Path) -> None:
    taken = attentest.open_run(shutil.copytree(sibling.path, tmp_path / "taken"))
    expanded = plan_comparison(run, taken, texts=5)
    (taken.path / "history.parquet").write_bytes(b"another")  # since it was planned
    outcome, report, _ = compared(expanded, tmp_path)
    assert "has changed since" in outcome.failed["take taken"]
    assert [block.name for block in report.blocks] == ["small"]
    assert report.differences == []


def test_bad_input_is_a_sentence(run: attentest.Run, sibling: attentest.Run, tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="did you mean 'standard'"):
        plan_comparison(run, sibling, "standart")
    with pytest.raises(attentest.InputError, match="texts is 0; it must be at least 1"):
        plan_comparison(run, sibling, texts=0)
    half = attentest.open_run(shutil.copytree(sibling.path, tmp_path / "half"))
    (half.path / "result.json").unlink()
    for two in ((run, half), (half, run)):
        with pytest.raises(attentest.InputError, match="is not finished"):
            plan_comparison(*two)


def test_another_pair_in_the_same_folder_is_refused(
    run: attentest.Run, sibling: attentest.Run, tmp_path: Path, two_trials: None
) -> None:
    """Their folders have the same names, so that the names alone would not tell them apart."""
    plans = []
    for name in ("one", "two"):
        a, b = (shutil.copytree(r.path, tmp_path / name / place) for r, place in ((run, "x"), (sibling, "y")))
        plans.append(plan_comparison(attentest.open_run(a), attentest.open_run(b), texts=8))
    assert compared(plans[0], tmp_path)[0].failed == {}
    with pytest.raises(attentest.InputError, match="choose another folder"):
        compared(plans[1], tmp_path)


def test_the_texts_asked_for_count_for_cheap_trials_too(run: attentest.Run, sibling: attentest.Run) -> None:
    plan = plan_comparison(run, sibling, texts=5).plan
    for name, texts in (("correlation", 5), ("flips", 5 * 5)):
        assert {step.settings["texts"] for step in plan if step.name.startswith(name)} == {texts}
