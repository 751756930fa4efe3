"""The words at the top of a page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attentest.reports.contents import Block
from attentest.reports.summary_text import lead_of, weakness
from attentest.studies.results import ModelResult
from attentest.studies.verdict import DEFINITIONS, Verdict

NAMES = ("needed", "stable", "exclusive", "faithful", "informative", "plausible")


def block(**answers: str) -> Block:
    verdicts = [Verdict(DEFINITIONS[name], answer.replace("_", " "), [], "") for name, answer in answers.items()]
    return Block("model", "model", [], verdicts, [])


@pytest.mark.parametrize(
    ("answers", "lead"),
    [
        (
            {"needed": "unclear", "stable": "yes", "exclusive": "no", "faithful": "no"},
            "Attention is stable, but neither exclusive nor faithful. Inconclusive: needed.",
        ),
        (
            {"needed": "no", "stable": "yes", "faithful": "yes", "plausible": "not tested"},
            "Attention is stable and faithful, but not needed. Not tested: plausible.",
        ),
        (dict.fromkeys(NAMES, "yes"), f"Attention is {', '.join(NAMES[:-1])} and plausible."),
        (dict.fromkeys(NAMES[:3], "no"), "Attention is not needed, stable or exclusive."),
        ({"needed": "unclear", "stable": "unclear"}, "Inconclusive: needed, stable."),
    ],
)
def test_the_lead_names_every_verdict(answers: dict[str, str], lead: str) -> None:
    assert lead_of([block(**answers)]) == lead


def test_the_lead_warns_of_a_weak_model() -> None:
    warned = lead_of([block(needed="yes")], weak=True)
    assert warned == "The model has not learned its task well, so the verdicts say little. Attention is needed."


MAIL = {"spam": 5, "mail": 95}
TOPICS = dict.fromkeys(map(str, range(20)), 5)
HALVES = {"bad": 40, "good": 60}
HARDLY = "The model has not learned its task well: train longer, or on more texts, before reading its attention."


Metrics = dict[str, float | None]


def result(rows: dict[str, int], metrics: Metrics, baseline: Metrics | None = None) -> ModelResult:
    return ModelResult("films", list(rows), 100, [], metrics, rows, None, None, baseline)


@pytest.mark.parametrize(("accuracy", "above"), [(0.58, "not"), (0.6, "not"), (0.62, "barely"), (0.66, None)])
def test_without_a_baseline_a_model_near_the_majority_class_is_called_weak(accuracy: float, above: str | None) -> None:
    about = result(HALVES, {"accuracy": accuracy})
    expected = (
        f"films bilstm: accuracy on all 100 test texts ({accuracy:.3f}) is {above} above the majority class (0.600). "
        f"{HARDLY}"
    )
    assert weakness("films bilstm", about) == (expected if above else None)
    assert weakness("films bilstm", replace(about, test_rows={})) is None


@pytest.mark.parametrize(
    ("rows", "metrics", "baseline", "why"),
    [
        (TOPICS, {"accuracy": 0.192}, {"accuracy": 0.79}, "clearly below what TF-IDF with logistic regression reaches"),
        (TOPICS, {"accuracy": 0.75}, {"accuracy": 0.97}, "reaches without attention (0.970)"),
        (HALVES, {"accuracy": 0.75}, {"accuracy": 0.79}, None),
        (HALVES, {"accuracy": 0.93}, {"accuracy": 1.0}, None),  # it has learned nearly all that can be
        (HALVES, {"accuracy": 0.62}, {"accuracy": 0.64}, None),  # the task is hard for both
        (HALVES, {"accuracy": 0.6}, {"accuracy": 0.61}, "not above the majority class (0.600)"),
        (MAIL, {"accuracy": 0.95, "auc": 0.99}, {"accuracy": 0.97, "auc": 0.995}, None),
        (MAIL, {"accuracy": 0.95, "auc": 0.99}, None, None),
        (MAIL, {"accuracy": 0.95, "auc": 0.8}, {"accuracy": 0.97, "auc": 0.95}, "AUC on all 100 test texts (0.800) is"),
        (MAIL, {"accuracy": 0.95, "auc": 0.5}, None, "not above chance (0.500)"),
        (MAIL, {"accuracy": 0.95, "auc": None}, None, "not above the majority class (0.950)"),
        (HALVES, {"accuracy": 0.75}, {"accuracy": None}, None),
        (HALVES, {}, {"accuracy": 0.9}, None),
    ],
)
def test_a_model_is_weak_compared_with_one_without_attention(
    rows: dict[str, int], metrics: Metrics, baseline: Metrics | None, why: str | None
) -> None:
    said = weakness("films bilstm", result(rows, metrics, baseline))
    assert (said is None) == (why is None)
    if said is not None and why is not None:
        assert why in said
        assert said.endswith(HARDLY)
