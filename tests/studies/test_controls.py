"""Controls of an audit: what is planned, when they are left out, and how their figures come back to the verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from verdict_cases import of

import attentest
from attentest.audits import Audit
from attentest.measures.intervals import Estimate
from attentest.studies.audit import BUDGETS, plan_audit
from attentest.studies.expand import StudyPlan
from attentest.studies.experiments import controls as module
from attentest.studies.experiments.base import Result
from attentest.studies.experiments.controls import CONTROLS, POSITIVE, TRIALS, Controls, figures_of_controls
from attentest.studies.experiments.known_truth import (
    DECEPTIVE,
    FOLLOWS,
    HONEST,
    KINDS,
    NULL,
    OFF,
    ON,
    PLAIN,
    SELDOM,
    prove,
)
from attentest.trials import trial_class
from attentest.trials.rationale import Rationale
from attentest.trials.stored import StoredFinding
from attentest.trials.swaps import Swaps

ROWS = {"rows": 120}


def held(expanded: StudyPlan) -> list[str]:
    return [ref.name for ref in expanded.results if ref.kind == "experiment"]


# the plan


def test_an_audit_trains_three_controls_on_its_own_texts_with_planted_words() -> None:
    expanded = plan_audit("planted", columns=ROWS)
    (planting,) = [step for step in expanded.plan if step.name.startswith("plant words in ")]
    trained = [s for s in expanded.plan if s.name.startswith("train ") and s.inputs.get("corpus") == planting.key]
    assert len(trained) == len(CONTROLS) == 3
    base = next(s for s in expanded.plan if s.name.startswith("train "))
    for step, kind in zip(trained, CONTROLS.values(), strict=True):
        assert {name: step.settings[name] for name in kind.settings} == dict(kind.settings)
        assert step.settings["hidden"] == base.settings["hidden"]  # its architecture
    assert {kind.truth for kind in CONTROLS.values()} == {HONEST, NULL, DECEPTIVE}
    assert CONTROLS[POSITIVE].truth == HONEST  # the one that `judge` asks for
    assert held(expanded)[0] == "controls"


def test_every_budget_has_controls_and_they_can_be_left_out() -> None:
    for budget in BUDGETS:
        assert "controls" in BUDGETS[budget].experiments
    without = plan_audit("planted", columns=ROWS, controls=False)
    assert held(without) == [name for name in BUDGETS["quick"].experiments if name != "controls"]
    assert not any(step.name.startswith("plant words") for step in without.plan)


@pytest.mark.parametrize(
    ("source", "training", "why"),
    [
        ("babi1-generated", {}, "words are planted into single texts only."),
        ("planted", {"structure": "hierarchical"}, "it is not possible with a hierarchical model."),
    ],
)
def test_where_there_can_be_none_a_note_says_so(source: str, training: dict[str, Any], why: str) -> None:
    expanded = plan_audit(source, columns=ROWS, training=training)
    assert "controls" not in held(expanded)
    assert f"The experiment controls was left out: {why}" in expanded.notes


def test_the_trials_of_controls_are_those_that_verdicts_read_and_the_proof() -> None:
    assert {Swaps.name, Rationale.name} <= set(TRIALS)
    labels = {(asked.label, asked.trial) for asked in Controls().trials()}
    assert labels == {(label, name) for label in CONTROLS for name in TRIALS}


# the proof


def proven(truth: str, follows: float = 0.95, heaviest: float = 0.5, more: float = 0.0) -> tuple[bool, str]:
    swaps = {Swaps.keys["follows"]: of(follows, follows)}
    rationale = {"heaviest": heaviest, "more weight": more}
    found = prove(truth, swaps, {Rationale.keys[key]: of(value, value) for key, value in rationale.items()})
    return found.holds, found.failure


@pytest.mark.parametrize(
    ("truth", "figures", "failure"),
    [
        (HONEST, {"heaviest": ON}, ""),
        (HONEST, {"heaviest": 0.79}, "its heaviest token is a planted word in 79% of the texts only"),
        (HONEST, {"heaviest": 1.0, "follows": 0.79}, "only 79% of its decisions follow the planted words"),
        (HONEST, {"heaviest": 1.0, "follows": FOLLOWS}, ""),
        (NULL, {"heaviest": SELDOM, "more": OFF}, ""),
        (NULL, {"heaviest": 0.31}, "its heaviest token is one of them in 31% of the texts"),
        (DECEPTIVE, {"heaviest": 0.0, "more": 0.11}, "its weight on the planted words is 0.11 above chance"),
        (DECEPTIVE, {"heaviest": 0.0, "follows": 0.5}, "only 50% of its decisions follow"),
    ],
)
def test_what_a_model_was_made_to_be_is_proven(truth: str, figures: dict[str, float], failure: str) -> None:
    holds, said = proven(truth, **figures)
    assert holds == (failure == "")
    assert failure in said
    assert holds == (said == "")


def test_a_plain_model_has_nothing_to_prove() -> None:
    assert proven(PLAIN, heaviest=1.0) == (False, "")


def test_an_undefined_figure_proves_nothing() -> None:
    for truth in (HONEST, NULL, DECEPTIVE):
        assert proven(truth, follows=math.nan)[0] is False
        assert proven(truth, heaviest=math.nan)[0] is False


def test_every_kind_has_settings_and_each_truth_several_kinds() -> None:
    truths = [kind.truth for kind in KINDS.values()]
    assert min(truths.count(truth) for truth in (HONEST, NULL, DECEPTIVE)) >= 3
    assert len({str(kind.settings) for kind in KINDS.values()}) == len(KINDS)


# what it concludes


def concluded(monkeypatch: pytest.MonkeyPatch, **heaviest: float) -> Result:
    """From findings that have every figure verdicts read; `heaviest` is how often it is a planted word."""
    monkeypatch.setattr(module, "scores", lambda run: {"accuracy": of(0.8, 0.9)})
    findings: dict[str, Any] = {}
    for label in CONTROLS:
        for name in TRIALS:
            summary = {entry: of(0.1, 0.2) for entry in trial_class(name).keys.values()}
            findings[f"{label} {name}"] = SimpleNamespace(summary={**summary, "of no verdict": of(0, 1)})
        findings[f"{label} swaps"].summary[Swaps.keys["follows"]] = of(0.9, 0.95)
        often = heaviest[label]
        findings[f"{label} rationale"].summary[Rationale.keys["heaviest"]] = of(often, often)
        findings[f"{label} rationale"].summary[Rationale.keys["more weight"]] = of(0.0, 0.0)
    return Controls().conclude(dict.fromkeys(CONTROLS), cast(Mapping[str, StoredFinding], findings))  # type: ignore[arg-type]


GOOD = {"positive": 0.9, "null": 0.1, "deceptive": 0.0}


def test_what_is_written_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found = concluded(monkeypatch, **GOOD)
    read = figures_of_controls(found.table)
    assert list(read) == list(CONTROLS)
    for label in CONTROLS:
        assert {name for _, name in read[label]} == {name for name in TRIALS if trial_class(name).keys}
        for (kind, name), figures in read[label].items():
            assert kind == "trial"
            assert set(figures) == set(trial_class(name).keys.values())
    assert read["positive"]["trial", "rationale"][Rationale.keys["heaviest"]] == of(0.9, 0.9)
    assert found.conclusion.notes == []
    assert found.conclusion.answer.startswith("3 of 3 controls are what they were made to be.")
    (chart,) = Controls.charts(found.table, found.conclusion.summary).values()
    assert chart


def test_a_control_that_is_not_what_it_was_made_to_be_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = concluded(monkeypatch, **{**GOOD, "positive": 0.4})
    assert list(figures_of_controls(found.table)) == ["null", "deceptive"]
    why = "its heaviest token is a planted word in 40% of the texts only"
    assert found.conclusion.notes == [f"The positive control is left out: {why}."]
    assert found.conclusion.answer.startswith("2 of 3 controls")
    none = concluded(monkeypatch, positive=0.4, null=0.9, deceptive=0.9)
    assert figures_of_controls(none.table) == {}
    assert len(none.conclusion.notes) == 3


# tables of anybody


def table(**columns: list[Any]) -> pa.Table:
    usual: dict[str, list[Any]] = {
        **{"label": ["null"], "kind": ["trial"], "name": ["flips"], "entry": ["x"]},
        **{"value": [0.5], "low": [0.4], "high": [0.6], "n": [30]},
    }
    return pa.table({**usual, **columns})


def test_a_figure_that_is_not_defined_is_read_as_such() -> None:
    assert figures_of_controls(table()) == {"null": {("trial", "flips"): {"x": Estimate(0.5, 0.4, 0.6, 30)}}}
    (found,) = figures_of_controls(table(value=[None], low=[math.nan]))["null"]["trial", "flips"].values()
    assert math.isnan(found.value)
    assert math.isnan(found.low)


@pytest.mark.parametrize(
    "columns",
    [
        {"n": [-1]},
        {"n": [None]},
        {"n": [math.inf]},
        {"n": [2.0**60]},
        {"n": ["many"]},
        {"value": ["high"]},
        {"label": [7]},
        {"label": [None]},
    ],
)
def test_a_table_that_is_no_table_of_controls_is_refused(columns: dict[str, list[Any]]) -> None:
    with pytest.raises(attentest.InputError) as told:
        figures_of_controls(table(**columns))
    assert next(iter(columns)) in str(told.value)


@pytest.mark.parametrize("column", ["label", "kind", "name", "entry", "value", "low", "high", "n"])
def test_a_table_without_a_column_is_refused(column: str) -> None:
    with pytest.raises(attentest.InputError, match=f"'{column}'"):
        figures_of_controls(table().drop_columns([column]))


# the whole


def test_the_page_of_an_audit_tells_of_its_controls(audited: Audit) -> None:
    sections = {section.name: section for section in audited.report.blocks[0].sections if section.kind == "experiment"}
    found = sections["controls"]
    left_out = [note for note in found.notes if "control is left out: " in note]
    read = {label for v in audited.verdicts for r in v.rulings for label in r.controls}
    assert len(left_out) + len(read) == len(CONTROLS)
    page = Path(audited.page).read_text(encoding="utf-8")
    assert found.answer.partition(".")[0] in page
    assert Controls.question in page
