"""What stands at the top of a page: scores with the texts they stand on, one answer, and advice that fits it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from sample_report import RESULT

from attentest.measures.intervals import Estimate
from attentest.reports.contents import FirstScreen
from attentest.reports.first_screen import first_screen
from attentest.studies.verdict import CRITERIA, DEFINITIONS, Ruling, Verdict
from attentest.studies.verdict.deciding import ToDecide
from attentest.studies.verdict.judge import Summaries
from attentest.trials.erasure import Erasure
from attentest.trials.uniform import Uniform

ERASURE, UNIFORM = ("trial", "erasure"), ("trial", "uniform")


def of(value: float, half: float = 0.02, n: int = 400) -> Estimate:
    return Estimate(value, value - half, value + half, n)


def erased(**reached: float) -> Summaries:
    """Probability lost without the first tokens of each measure."""
    prefix = Erasure.keys["comprehensiveness"].removesuffix("attention")
    return {ERASURE: {prefix + name.replace("_", "-"): of(value) for name, value in reached.items()}}


def verdicts(idle: Any = False, needed: Any = None, **answers: str) -> list[Verdict]:
    made = []
    for name, answer in answers.items():
        criterion = next(c for c in CRITERIA.values() if c.name.startswith(f"{name}."))
        more = ToDecide("", needed) if needed else None
        ruling = Ruling(criterion, 0.5, "", of(0.4), answer, "", decides=True, to_decide=more)
        made.append(Verdict(DEFINITIONS[name], answer, [ruling], f"{name} stands on this.", not idle))
    return made


def screen(given: list[Verdict], summaries: Summaries | None = None, weak: bool = False) -> FirstScreen:
    return first_screen(RESULT, summaries or {}, given, weak)


def test_scores_stand_next_to_what_needs_no_attention_and_say_which_texts_they_are_of() -> None:
    found = screen([], {UNIFORM: {"accuracy": of(0.75, n=400)}}).scores
    assert [(score.name, score.figure.value, score.about) for score in found] == [
        ("this model", pytest.approx(0.764, abs=1e-3), "accuracy on all 1,066 test texts"),
        ("without attention", 0.771, "TF-IDF with logistic regression, the same texts"),
        ("without reading", 0.5, "the most frequent class for every text"),
        ("examined texts", 0.75, "this model on the 400 that the trials use"),
    ]


def test_the_accuracy_has_an_exact_interval() -> None:
    """8 of 10 right: Clopper and Pearson's interval is [0.4439, 0.9748]."""
    ten = replace(RESULT, metrics={"accuracy": 0.8}, test_rows={"a": 5, "b": 5}, baseline=None)
    figure = first_screen(ten, {}, [], False).scores[0].figure
    assert [figure.low, figure.high] == pytest.approx([0.4439, 0.9748], abs=1e-4)


def test_the_same_texts_are_not_told_twice_and_what_is_not_known_is_left_out() -> None:
    assert "examined texts" not in [s.name for s in screen([], {UNIFORM: {"accuracy": of(0.764, n=1066)}}).scores]
    unknown = replace(RESULT, metrics={}, test_rows={}, baseline={"accuracy": None})
    assert first_screen(unknown, {}, [], False).scores == []


def test_where_a_class_is_rare_the_auc_is_shown() -> None:
    rare = replace(RESULT, metrics={"accuracy": 0.95, "auc": 0.99}, test_rows={"a": 95, "b": 5})
    assert [score.figure.value for score in first_screen(rare, {}, [], False).scores if score.name == "AUC"] == [0.99]


@pytest.mark.parametrize(
    ("given", "answer", "says"),
    [
        ({"faithful": "yes", "stable": "yes"}, "yes", "Yes, as the tokens that a decision depends on."),
        ({"faithful": "yes", "stable": "no"}, "yes", "with another seed the model attends to other tokens"),
        ({"faithful": "no", "plausible": "no"}, "no", "No. The decisions do not depend on the tokens with the most"),
        ({"faithful": "no", "plausible": "yes"}, "no", "which makes it look right"),
        ({"faithful": "unclear"}, "unclear", "Not on these figures"),
        ({"faithful": "not tested"}, "not tested", "Not known"),
    ],
)
def test_the_answer_follows_from_faithful(given: Mapping[str, str], answer: str, says: str) -> None:
    found = screen(verdicts(**given))
    assert found.answer == answer
    assert says in found.says


def test_weak_flat_and_idle_attention_may_not_be_shown_whatever_else_is_true() -> None:
    faithful = verdicts(faithful="yes")
    assert "has not learned its task well" in screen(faithful, weak=True).says
    flat = {UNIFORM: {Uniform.keys["entropy"]: of(0.99, 0.005)}}
    assert "nearly the same for all tokens" in screen(faithful, flat).says
    idle = screen(verdicts(idle=True, faithful="yes"))
    assert "hardly change without attention" in idle.says
    assert {screen(faithful, weak=True).answer, screen(faithful, flat).answer, idle.answer} == {"no"}


def decided_by(name: str, answer: str, figure: Estimate, **known: Any) -> Verdict:
    ruling = Ruling(CRITERIA[name], 0.5, "", figure, answer, "", decides=True, **known)
    return Verdict(DEFINITIONS[name.partition(".")[0]], answer, [ruling], f"{name} stands on this.")


def test_the_reason_is_the_figure_that_decides_and_not_another_test() -> None:
    """Sufficiency over trainings says no, while this training loses much without its heaviest tokens."""
    controls = {"positive": of(0.93), "null": of(0.01)}
    fixed = {"null": Estimate(0, 0, 0, 0), "ceiling": Estimate(1, 1, 1, 0)}  # which the words tell
    no = decided_by("faithful.sufficiency", "no", of(0.1), controls=controls, alone=of(0.2), **fixed)
    found = screen([no], erased(attention=0.6, random=0.05, leave_one_out=0.7)).because
    assert found == [
        "Probability lost when only the heaviest tokens are kept, from 0 (as random tokens) to 1 (as tokens ranked by "
        "leave-one-out): 0.100 [0.080, 0.120] (mean over the trainings of this audit; this model: 0.200); a yes needs "
        "at least 0.5. To compare: the positive control of this audit 0.930 and the null control of this audit 0.010."
    ]


def test_measured_references_are_part_of_the_reason() -> None:
    yes = decided_by("faithful.leave-one-out", "yes", of(0.6), null=of(0.02), ceiling=of(0.7))
    assert screen([yes]).because == [
        "Kendall τ of attention with leave-one-out: 0.600 [0.580, 0.620]; a yes needs at least 0.5. To compare: "
        "attention that tells nothing 0.020 and other measures among themselves 0.700."
    ]


def test_idle_attention_is_told_by_the_figures_of_use() -> None:
    idle = verdicts(idle=True, used="no", faithful="yes")
    (reason,) = screen(idle).because
    assert reason.startswith("Share of decisions that change when the weights are made uniform: 0.400")


def test_without_a_test_that_decides_the_reason_is_why() -> None:
    assert screen([Verdict(DEFINITIONS["faithful"], "unclear", [], "Inconclusive.")]).because == ["Inconclusive."]


def test_what_to_show_instead_is_measured_as_the_verdict_is() -> None:
    prefix = Erasure.keys["sufficiency"].removesuffix("attention")
    kept = {f"{prefix}{name}": of(value) for name, value in {"attention": 0.4, "leave-one-out": 0.1}.items()}
    both = {ERASURE: {**erased(attention=0.6, leave_one_out=0.6)[ERASURE], **kept}}
    (advice,) = screen([decided_by("faithful.sufficiency", "no", of(0.1))], both).advice
    assert "with its first tokens alone a decision of this model loses 0.100 of its probability" in advice
    assert advice.endswith("with attention's first tokens alone 0.400.")
    (advice,) = screen([decided_by("faithful.comprehensiveness", "no", of(0.1))], both).advice
    assert "No other measure examined here" in advice


def test_the_measure_to_show_instead_is_found_by_the_figure_of_exchanges() -> None:
    reached = {"attention": 0.1, "leave-one-out": 0.6, "gradient-input": 0.3, "random": 0.05}
    found = {("trial", "exchange"): {f"probability gained, {name}": of(value) for name, value in reached.items()}}
    (advice,) = screen([decided_by("faithful.exchange", "no", of(0.1))], found).advice
    assert advice.startswith("Show leave-one-out")
    assert "with its first tokens from another text that text's class gains 0.600 in probability" in advice
    assert advice.endswith("with attention's first tokens from another text 0.100.")


def test_what_is_unclear_for_want_of_trainings_names_trainings() -> None:
    unclear = decided_by("faithful.sufficiency", "unclear", of(0.5), to_decide=ToDecide("", 1200, 12))
    assert screen([unclear]).advice == [
        "To decide what is unclear, train with more seeds (a larger budget) and examine more texts: about 12 trainings "
        "on 1,200 texts for faithful."
    ]


def test_what_no_number_of_texts_would_decide_says_why() -> None:
    why = "no number of texts would decide: the figure is at the threshold"
    unclear = decided_by("faithful.sufficiency", "unclear", of(0.5), to_decide=ToDecide(why))
    assert screen([unclear]).advice == [f"Faithful: {why}."]


@pytest.mark.parametrize(
    ("reached", "advice"),
    [
        (
            {"leave_one_out": 0.31, "gradient_input": 0.2},
            "Show leave-one-out (the change when a token is removed) i",
        ),
        ({"leave_one_out": 0.2, "integrated_gradients": 0.3}, "Show integrated gradients instead: without its first"),
        ({"leave_one_out": 0.13}, "No other measure examined here finds tokens that matter clearly more"),
        ({"leave_one_out": math.nan}, "The trial erasure tells which other measure finds the tokens that matter"),
    ],
)
def test_what_to_show_instead(reached: Mapping[str, float], advice: str) -> None:
    summaries = erased(attention=0.12, random=0.5, **reached)  # random is no explanation, whatever it reaches
    (given,) = screen([decided_by("faithful.comprehensiveness", "no", of(0.1))], summaries).advice
    assert advice in given


def test_losses_at_one_share_of_the_tokens_are_no_measure() -> None:
    prefix = Erasure.keys["comprehensiveness"]
    only = {ERASURE: {prefix: of(0.1), f"{prefix}, 50 %": of(0.9)}}
    assert (
        "The trial erasure tells" in screen([decided_by("faithful.comprehensiveness", "no", of(0.1))], only).advice[0]
    )


def test_what_is_unclear_tells_how_many_texts_would_decide() -> None:
    (few,) = screen(verdicts(faithful="unclear", needed=900)).advice
    assert few == "To decide what is unclear, examine more texts: about 900 for faithful."
    (many,) = screen(verdicts(faithful="unclear", stable="unclear", needed=13_000)).advice
    assert many.endswith("about 13,000 for faithful and 13,000 for stable; the test split has 1,066.")


def test_a_weak_model_is_to_be_trained_and_nothing_else() -> None:
    assert screen(verdicts(faithful="no"), weak=True).advice == [
        "Train longer, on more texts or with better word vectors, then audit again."
    ]
