"""Verdicts made by hand, with everything that a ruling may have."""

from __future__ import annotations

import math
from typing import Any

from attentest.measures.intervals import Estimate
from attentest.reports.contents import Block, Report
from attentest.studies.results import ModelResult
from attentest.studies.verdict import DEFINITIONS, Criterion, Rates, Ruling, Verdict

ANSWERS = ("yes", "no", "unclear", "not tested", "yes", "no", "unclear")  # of the definitions, in their order
FORMULA = "=HYPERLINK(1)"
HOSTILE = (
    "<img src=x onerror=alert(1)> | **a** [b](https://e.example) `c` www.e.example",
    "---\n- x: {y: [z",
    "a: b # c",
    "]]>&amp;\x00\x0b\x1b[31m\u202e\ufffe",
    FORMULA,
    "\ud800 half a character",
    "'\"\\",
    "👩‍👩‍👧 שלום",
    "null",
    "1e5",
)
RATES = Rates(texts=200, hit=0.97, false_alarm=0.04, miss=0.01, unclear=0.12, models=96)


def figure(value: float = 0.7) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, 400)


def ruling(criterion: Criterion, answer: str, **given: Any) -> Ruling:
    if answer == "not tested":
        return Ruling(criterion, criterion.threshold, criterion.source, None, answer, "the trial was not run")
    whole: dict[str, Any] = {
        "null": figure(0.1),
        "ceiling": figure(0.9),
        "controls": {"positive": figure(0.8), "null": figure(0.0)},
        "rates": RATES,
        "smallest": 0.05,
    }
    return Ruling(criterion, criterion.threshold, criterion.source, figure(), answer, "so it is", **(whole | given))


def verdict(name: str, answer: str, **given: Any) -> Verdict:
    definition = DEFINITIONS[name]
    first, *others = definition.criteria
    decides = answer != "not tested"
    rulings = [
        ruling(first, answer, decides=decides, **given) if decides else ruling(first, answer),
        *(ruling(other, "not tested") for other in others),
    ]
    return Verdict(definition, answer, rulings, f"Because it is {answer}.")


def verdicts(**given: Any) -> list[Verdict]:
    return [verdict(name, answer, **given) for name, answer in zip(DEFINITIONS, ANSWERS, strict=True)]


def block(name: str = "reviews bilstm", corpus: str = "reviews", **given: Any) -> Block:
    about = ModelResult(
        corpus, ["a", "b"], 400, [], {"accuracy": 0.9, "f1": 0.8, "auc": math.nan}, {}, None, None, {"accuracy": 0.85}
    )
    facts = [("classes", corpus), ("corpus hash", "ab12cd34")]
    return Block("model", name, facts, verdicts(**given), [], about=about)


def report(*blocks: Block, title: str = "Audit", notes: tuple[str, ...] = ()) -> Report:
    facts = [("budget", "quick"), ("attentest", "9.9.9")]
    return Report(title, "audit", "Attention is used, but not needed.", facts, notes, blocks or (block(),))
