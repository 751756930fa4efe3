"""Verdicts: a figure's interval against its threshold, rulings together, and figures that real findings have."""

from __future__ import annotations

import json
import math
import re

import pytest

import attentest
from attentest.audits import Audit
from attentest.measures.intervals import Estimate
from attentest.studies.experiments import EXPERIMENTS
from attentest.studies.results import EXPERIMENT, TRIAL
from attentest.studies.verdict import (
    CRITERIA,
    DEFINITIONS,
    Verdict,
    check_failures,
    check_thresholds,
    definitions,
    failed,
    judge,
)
from attentest.studies.verdict.definitions import AT_LEAST, AT_MOST, MORE_THAN, PEOPLE
from attentest.studies.verdict.judge import FAILURES, NO, UNCLEAR, UNTESTED, YES, Ruling, Summaries
from attentest.trials import TRIALS

NAN = math.nan


def of(low: float, high: float, value: float | None = None) -> Estimate:
    return Estimate((low + high) / 2 if value is None else value, low, high, 50)


def verdict(name: str, summaries: Summaries, thresholds: dict[str, float] | None = None) -> Verdict:
    return next(v for v in judge(summaries, thresholds) if v.definition.name == name)


def ruling(name: str, summaries: Summaries, thresholds: dict[str, float] | None = None) -> Ruling:
    rulings = verdict(name.partition(".")[0], summaries, thresholds).rulings
    return next(r for r in rulings if r.criterion.name == name)


# one criterion of each side, what it looks at, and its threshold
SIDES = {
    AT_LEAST: ("faithful.permutation", (TRIAL, "permutation"), "mean of median TVD", 0.1),
    MORE_THAN: ("faithful.removal", (TRIAL, "removal"), "mean ΔJS", 0.0),
    AT_MOST: ("stable.seeds", (EXPERIMENT, "seeds"), "mean JSD of pairs", 0.2),
}


@pytest.mark.parametrize(
    ("side", "low", "high", "answer"),
    [
        (AT_LEAST, 0.15, 0.3, YES),
        (AT_LEAST, 0.1, 0.3, YES),  # touching: 0.1 is at least 0.1
        (AT_LEAST, 0.05, 0.1, UNCLEAR),
        (AT_LEAST, 0.05, 0.15, UNCLEAR),
        (AT_LEAST, 0.05, 0.09, NO),
        (AT_LEAST, 0.1, 0.1, UNCLEAR),  # no width: 3/50 may be missed on either side
        (AT_LEAST, 0.17, 0.17, YES),
        (MORE_THAN, 0.01, 0.02, YES),
        (MORE_THAN, 0.0, 0.02, UNCLEAR),  # touching: 0 is not more than 0
        (MORE_THAN, -0.01, 0.02, UNCLEAR),
        (MORE_THAN, -0.01, 0.0, NO),
        (MORE_THAN, -0.02, -0.01, NO),
        (MORE_THAN, 0.0, 0.0, UNCLEAR),
        (AT_MOST, 0.1, 0.15, YES),
        (AT_MOST, 0.1, 0.2, YES),
        (AT_MOST, 0.2, 0.3, UNCLEAR),
        (AT_MOST, 0.1, 0.3, UNCLEAR),
        (AT_MOST, 0.21, 0.3, NO),
        (AT_MOST, 0.2, 0.2, UNCLEAR),
        (AT_MOST, 0.3, 0.3, NO),
    ],
)
def test_an_interval_against_each_side_of_a_threshold(side: str, low: float, high: float, answer: str) -> None:
    name, place, entry, threshold = SIDES[side]
    assert (CRITERIA[name].side, CRITERIA[name].threshold) == (side, threshold)
    found = ruling(name, {place: {entry: of(low, high)}})
    assert found.answer == answer
    assert found.figure == of(low, high)
    words = {YES: "whole interval meets", NO: "whole interval fails", UNCLEAR: "95 % interval includes"}
    assert found.why == f"the {words[answer]} the threshold"


def test_losses_are_gains_turned_round() -> None:
    """Accuracy under uniform weights less the model's own is −0.03 [−0.05, −0.02]: 0.03 [0.02, 0.05] are lost."""
    found = ruling("needed.inference", {(TRIAL, "uniform"): {"difference, uniform": of(-0.05, -0.02, -0.03)}})
    assert found.figure == Estimate(0.03, 0.02, 0.05, 50)
    assert found.answer == YES
    gained = ruling("needed.inference", {(TRIAL, "uniform"): {"difference, uniform": of(0.02, 0.05)}})
    assert gained.answer == NO


def test_a_figure_set_against_another() -> None:
    """0.5 [0.46, 0.53] − 0.2 [0.16, 0.23]: below by hypot(0.04, 0.03), above by hypot(0.03, 0.04)."""
    summaries = {
        (EXPERIMENT, "seeds"): {"mean JSD of pairs": of(0.16, 0.23, 0.2)},
        (TRIAL, "adversary"): {"mean max JSD": of(0.46, 0.53, 0.5)},
    }
    found = ruling("stable.adversary", summaries)
    assert found.figure is not None
    assert [found.figure.value, found.figure.low, found.figure.high] == pytest.approx([0.3, 0.25, 0.35])
    assert found.answer == YES
    assert ruling("stable.adversary", summaries, {"stable.adversary": 0.4}).answer == NO


@pytest.mark.parametrize(
    ("figure", "answer", "why"),
    [
        (Estimate(NAN, NAN, NAN, 0), UNTESTED, "the figure is not defined for these texts"),
        (Estimate(0.5, NAN, NAN, 1), UNCLEAR, "the figure has no interval"),
        (Estimate(0.5, 0.4, NAN, 1), UNCLEAR, "the figure has no interval"),
    ],
)
def test_figures_that_are_not_whole(figure: Estimate, answer: str, why: str) -> None:
    found = ruling("faithful.permutation", {(TRIAL, "permutation"): {"mean of median TVD": figure}})
    assert (found.answer, found.why) == (answer, why)


def test_nothing_held_is_not_tested_and_says_what_is_missing() -> None:
    for found in judge({}):
        assert found.answer == UNTESTED
        assert found.confidence.startswith("Not tested: the ")
        assert "asking people" not in found.confidence  # never tested: no news
        for one in found.rulings:
            assert (one.answer, one.figure) == (UNTESTED, None)
            wanted = one.criterion.against or one.criterion.asks
            untested = f"the {wanted.kind} {wanted.name} was not run"
            expected = one.criterion.absent if one.criterion.kind == PEOPLE else untested
            assert one.why == expected


def test_what_cannot_be_run_has_its_reason() -> None:
    plausible = judge({}, impossible={(TRIAL, "rationale"): "the corpus has no rationales"})[-1]
    assert plausible.confidence == "Not tested: the corpus has no rationales."


def test_what_was_not_held_is_named_also_where_it_is_the_one_set_against() -> None:
    trial, seeds = (
        {(TRIAL, "adversary"): {"mean max JSD": of(0.4, 0.5)}},
        {(EXPERIMENT, "seeds"): {"mean JSD of pairs": of(0, 1)}},
    )
    assert ruling("stable.adversary", trial).why == "the experiment seeds was not run"
    assert ruling("stable.adversary", seeds).why == "the trial adversary was not run"
    held = {(EXPERIMENT, "adversary"): {"JSD, λ = 0": of(0, 0.1)}}
    assert ruling("stable.model", held).why == "the experiment seeds was not run"
    assert ruling("stable.model", held | seeds).why == CRITERIA["stable.model"].absent
    assert ruling("exclusive.model", held).why == CRITERIA["exclusive.model"].absent
    missing = ruling("faithful.gradient", {(TRIAL, "correlation"): {}})
    assert missing.why == "the model has no gradients with respect to its inputs"


# by what is left of faithful's tests when the others are not held: its two tests of what is more than 0
PLAUSIBLE = "weight − tokens in the rationale"
PLACES = {"removal": "mean ΔJS", "flips": "flips, heaviest − random"}
FIGURES = {YES: of(0.1, 0.2), NO: of(-0.2, -0.1), UNCLEAR: of(-0.1, 0.1), UNTESTED: Estimate(NAN, NAN, NAN, 0)}


@pytest.mark.parametrize(
    ("removal", "flips", "together"),
    [
        (YES, YES, YES),
        (YES, UNTESTED, YES),
        (YES, UNCLEAR, UNCLEAR),
        (UNCLEAR, UNTESTED, UNCLEAR),
        (YES, NO, NO),
        (UNCLEAR, NO, NO),
        (NO, UNTESTED, NO),
        (UNTESTED, UNTESTED, UNTESTED),
    ],
)
def test_no_beats_unclear_beats_yes(removal: str, flips: str, together: str) -> None:
    for first, second in ((removal, flips), (flips, removal)):
        entries = zip(PLACES.items(), (first, second), strict=True)
        found = verdict("faithful", {(TRIAL, trial): {entry: FIGURES[a]} for (trial, entry), a in entries})
        assert found.answer == together
        held = [answer for answer in (first, second) if answer != UNTESTED]
        count = f"{held.count(together)} of {len(held)} test"
        begins = {YES: f"Passes {count}", NO: f"Fails {count}", UNCLEAR: "Inconclusive: ", UNTESTED: "Not tested: "}
        assert found.confidence.startswith(begins[together])
        assert ("; not tested: permutation, gradient, " in found.confidence) == bool(held)


def test_how_sure_names_the_tests_that_decide() -> None:
    summaries = {(TRIAL, "removal"): {"mean ΔJS": FIGURES[NO]}, (TRIAL, "flips"): {PLACES["flips"]: FIGURES[UNCLEAR]}}
    assert verdict("faithful", summaries).confidence.startswith("Fails 1 of 2 tests: removal; not tested: ")
    unclear = {(TRIAL, "removal"): {"mean ΔJS": FIGURES[YES]}, (TRIAL, "flips"): {PLACES["flips"]: FIGURES[UNCLEAR]}}
    expected = "Inconclusive: the 95 % interval includes the threshold (flips); not tested: "
    assert verdict("faithful", unclear).confidence.startswith(expected)
    whole = {(TRIAL, "rationale"): {"heaviest token in the rationale": of(0.6, 0.7), PLAUSIBLE: of(0.1, 0.2)}}
    assert verdict("plausible", whole).confidence == "Passes 2 of 2 tests; not tested: people."
    several = {(TRIAL, "rationale"): {"heaviest token in the rationale": of(0.4, 0.7), PLAUSIBLE: Estimate(0, 0, 1, 5)}}
    assert verdict("plausible", several).confidence == (
        "Inconclusive: the 95 % interval includes the threshold (heaviest); 5 texts are too few (weight); "
        "not tested: people."
    )


def test_thresholds_can_be_set_one_by_one() -> None:
    summaries = {(TRIAL, "permutation"): {"mean of median TVD": of(0.15, 0.18)}}
    assert ruling("faithful.permutation", summaries).answer == YES
    stricter = ruling("faithful.permutation", summaries, {"faithful.permutation": 0.2})
    assert (stricter.answer, stricter.threshold) == (NO, 0.2)
    assert ruling("faithful.permutation", summaries, {"faithful.sets": 0.9}).threshold == 0.1
    assert check_thresholds({"faithful.gradient": 1})["faithful.gradient"] == 1.0
    assert set(check_thresholds({})) == set(CRITERIA)


@pytest.mark.parametrize("value", [True, math.inf, -math.inf, NAN, "0.5", None, [0.5], 10**309])
def test_thresholds_that_are_no_numbers_are_refused(value: object) -> None:
    with pytest.raises(attentest.InputError, match=r"The threshold faithful\.gradient is .*; expected a number\."):
        check_thresholds({"faithful.gradient": value})


def test_an_unknown_threshold_suggests_the_nearest() -> None:
    with pytest.raises(attentest.InputError, match=r"did you mean 'faithful\.gradient'"):
        judge({}, {"faithful.gradiant": 0.5})
    with pytest.raises(attentest.InputError, match="Unknown threshold 'needed'"):
        check_thresholds({"needed": 0.5})  # a definition has no threshold of its own


def test_verdicts_to_fail_on() -> None:
    assert len(FAILURES) == 3 * len(DEFINITIONS)
    assert check_failures(["not-faithful", "untested-plausible"]) == ["not-faithful", "untested-plausible"]
    with pytest.raises(attentest.InputError, match="did you mean 'not-faithful'"):
        check_failures(["not-faithfull"])
    found = judge(
        {(TRIAL, "removal"): {"mean ΔJS": FIGURES[NO]}, (TRIAL, "uniform"): {"difference, uniform": of(-1, 1)}}
    )
    on = ["not-faithful", "not-needed", "unclear-needed", "untested-stable", "unclear-faithful"]
    assert failed(found, on) == ["not-faithful", "unclear-needed", "untested-stable"]
    assert failed(found, []) == []


def test_a_model_without_verdicts_fails_on_none() -> None:
    """Its training failed, say, which is told of itself."""
    assert failed([], ["not-faithful", "untested-stable"]) == []


def test_verdicts_are_json() -> None:
    summaries = {(TRIAL, "permutation"): {"mean of median TVD": of(0.1, 0.2)}}
    content = [json.loads(json.dumps(v.as_dict(), allow_nan=False)) for v in judge(summaries)]
    assert [row["definition"] for row in content] == list(DEFINITIONS)
    (held,) = [row for v in content for row in v["rulings"] if row["figure"]]
    assert held["name"] == "faithful.permutation"
    assert held["figure"] == pytest.approx({"value": 0.15, "low": 0.1, "high": 0.2, "n": 50})
    assert (held["side"], held["threshold"], held["answer"]) == (AT_LEAST, 0.1, YES)


PAPERS = r"(Jain & Wallace|Wiegreffe & Pinter|Serrano & Smith|Vashishth et al\.|Wen et al\.|Meister et al\.)"


@pytest.mark.parametrize("name", CRITERIA)
def test_every_threshold_has_a_source(name: str) -> None:
    source = CRITERIA[name].source
    as_other = re.fullmatch(r"the same as for (\S+)", source)
    if as_other:
        assert CRITERIA[as_other.group(1)].threshold == CRITERIA[name].threshold
        source = CRITERIA[as_other.group(1)].source
    assert source.startswith("our convention") or re.search(PAPERS, source), source
    assert len(source.split()) >= 4
    assert not re.search(r"[.]\s*$", source)  # it ends a line of the page that goes on


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_definition_has_a_meaning_and_a_caveat(name: str) -> None:
    definition = DEFINITIONS[name]
    assert definition.means.endswith(".")
    assert definition.caveat.endswith(".")
    assert re.search(PAPERS + r" \d{4}", definition.paper)
    for criterion in definition.criteria:
        assert criterion.name.startswith(f"{name}.")
        known = {TRIAL: TRIALS, EXPERIMENT: EXPERIMENTS, PEOPLE: {"people"}}[criterion.kind]
        assert criterion.trial in known


def test_every_criterion_finds_its_figure_in_real_findings(audited: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every trial and experiment held, and any adversary far enough, only people are missing."""
    sections = audited.report.blocks[0].sections
    summaries = {(section.kind, section.name): section.summary for section in sections}
    assert set(summaries) == {(TRIAL, name) for name in TRIALS} | {(EXPERIMENT, name) for name in EXPERIMENTS}
    monkeypatch.setattr(definitions, "FAR", -1.0)
    monkeypatch.setattr(definitions, "NEAR", -1.0)
    rulings = {r.criterion.name: r for v in judge(summaries) for r in v.rulings}
    assert set(rulings) == set(CRITERIA)
    without = [name for name, r in rulings.items() if r.figure is None or r.answer == UNTESTED]
    assert without == ["plausible.people"]
    for name, found in rulings.items():
        if found.figure is not None:
            assert found.figure.low <= found.figure.value <= found.figure.high, name
            assert found.answer in (YES, NO, UNCLEAR)


def test_few_texts_decide_nothing() -> None:
    few = ruling("faithful.permutation", {(TRIAL, "permutation"): {"mean of median TVD": Estimate(0.5, 0.4, 0.6, 19)}})
    assert (few.answer, few.why) == (UNCLEAR, "19 texts are too few")
    information = {(TRIAL, "information"): {"weighted τ": Estimate(0.9, 0.85, 0.95, 5)}}
    assert ruling("informative.information", information).answer == YES  # over clusterings, not over texts


def test_weights_that_cannot_move_are_not_set_against_the_seeds() -> None:
    found = {
        (EXPERIMENT, "seeds"): {"mean JSD of pairs": of(0.0, 0.01)},
        (TRIAL, "adversary"): {"mean max JSD": of(0.0, 0.02)},
    }
    still = ruling("stable.adversary", found)
    assert (still.answer, still.why) == (UNTESTED, CRITERIA["stable.adversary"].absent)


def test_a_figure_that_is_not_defined_and_one_whose_experiment_failed_say_so() -> None:
    nothing = {(TRIAL, "correlation"): {"τ attention – leave-one-out": Estimate(math.nan, math.nan, math.nan, 0)}}
    assert ruling("faithful.leave-one-out", nothing).why == "the figure is not defined for these texts"
    rulings = {r.criterion.name: r for v in judge({}, broken={(EXPERIMENT, "guides")}) for r in v.rulings}
    assert rulings["informative.guide"].why == "the experiment guides failed"
    assert rulings["informative.fix"].why == "the experiment fix was not run"


@pytest.mark.parametrize(("apart", "answer"), [(0.41, YES), (0.4, UNTESTED), (0.1, UNTESTED)])
def test_an_adversary_counts_for_its_information_when_it_is_far(apart: float, answer: str) -> None:
    entries = {"Δ weighted τ, adversary": of(0.0, 0.05), "JSD, adversary": of(apart, apart)}
    found = ruling("informative.adversary", {(EXPERIMENT, "informed-adversary"): entries})
    assert found.answer == answer
    assert answer == YES or found.why == CRITERIA["informative.adversary"].absent
