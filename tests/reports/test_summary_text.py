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
    assert warned == "The model has barely learned its task, so the verdicts say little. Attention is needed."


@pytest.mark.parametrize(("accuracy", "above"), [(0.58, "not"), (0.6, "not"), (0.62, "barely"), (0.66, None)])
def test_a_model_near_the_majority_class_is_called_weak(accuracy: float, above: str | None) -> None:
    about = ModelResult("films", ["bad", "good"], 10, [], {"accuracy": accuracy}, {"bad": 4, "good": 6}, None, None)
    expected = (
        f"films bilstm: accuracy on the test texts ({accuracy:.3f}) is {above} above the majority class (0.600). "
        "Train longer, or on more rows, before reading its attention."
    )
    assert weakness("films bilstm", about) == (expected if above else None)
    assert weakness("films bilstm", replace(about, test_rows={})) is None
