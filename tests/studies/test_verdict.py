"""Verdicts: a figure's interval against its threshold, the one test that decides, and figures of real findings."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from quick import ON_RUNS
from verdict_cases import NOTHING, calibrated, of, rates_of, ruling, summaries, verdict

import attentest
from attentest.audits import Audit
from attentest.measures.intervals import Estimate, two_level
from attentest.measures.quantiles import student_quantile
from attentest.studies.experiments import EXPERIMENTS
from attentest.studies.results import EXPERIMENT, TRIAL
from attentest.studies.verdict import (
    CRITERIA,
    DEFINITIONS,
    Calibration,
    check_failures,
    check_thresholds,
    failed,
    figures,
    judge,
)
from attentest.studies.verdict.calibration import calibration
from attentest.studies.verdict.criterion import AT_LEAST, AT_MOST, CALIBRATED, DEFINES, MORE_THAN, PEOPLE, People
from attentest.studies.verdict.deciding import NO_NUMBER as NEVER
from attentest.studies.verdict.deciding import ToDecide, by_more_trainings
from attentest.studies.verdict.judge import EVERY_CRITERION, FAILURES, NO, UNCLEAR, UNTESTED, YES, Summaries, figure_of
from attentest.studies.verdict.of_translation import CRITERIA_OF_TRANSLATION
from attentest.trials import TRIALS
from attentest.trials.of_translation import is_of_translation

NAN = math.nan
NO_INTERVAL = "the figure has no interval"
UNDEFINED = Estimate(NAN, NAN, NAN, 0)
SUFFICIENCY, LEFT_OUT, REMOVAL = "faithful.sufficiency", "faithful.leave-one-out", "faithful.removal"
SIDES = {  # a criterion of each side, and its threshold where no calibration has one
    AT_LEAST: ("used.permutation", 0.1),
    MORE_THAN: (REMOVAL, 0.0),
    AT_MOST: ("exclusive.texts", 0.5),
}


@pytest.mark.parametrize(
    ("side", "low", "high", "answer"),
    [
        (AT_LEAST, 0.15, 0.3, YES),
        (AT_LEAST, 0.1, 0.3, YES),  # touching: 0.1 is at least 0.1
        (AT_LEAST, 0.05, 0.1, UNCLEAR),
        (AT_LEAST, 0.05, 0.15, UNCLEAR),
        (AT_LEAST, 0.05, 0.09, NO),
        (MORE_THAN, 0.01, 0.02, YES),
        (MORE_THAN, 0.0, 0.02, UNCLEAR),  # touching: 0 is not more than 0
        (MORE_THAN, -0.01, 0.02, UNCLEAR),
        (MORE_THAN, -0.01, 0.0, NO),
        (MORE_THAN, -0.02, -0.01, NO),
        (AT_MOST, 0.1, 0.45, YES),
        (AT_MOST, 0.1, 0.5, YES),
        (AT_MOST, 0.5, 0.6, UNCLEAR),
        (AT_MOST, 0.4, 0.6, UNCLEAR),
        (AT_MOST, 0.51, 0.6, NO),
    ],
)
def test_an_interval_against_each_side_of_a_threshold(side: str, low: float, high: float, answer: str) -> None:
    name, threshold = SIDES[side]
    assert (CRITERIA[name].side, CRITERIA[name].threshold) == (side, threshold)
    found = ruling(name, summaries({name: of(low, high)}))
    assert (found.answer, found.figure, found.threshold) == (answer, of(low, high), threshold)
    words = {YES: "whole interval meets", NO: "whole interval fails", UNCLEAR: "95 % interval includes"}
    assert found.why.startswith(f"the {words[answer]} the threshold")
    assert found.smallest == pytest.approx((high - low) / 2)


def test_losses_are_gains_turned_round() -> None:
    """F1 trained with uniform weights less the model's own is −0.03 [−0.05, −0.02]: 0.03 [0.02, 0.05] are lost."""
    found = ruling("needed.trained", summaries({"needed.trained": of(-0.05, -0.02, -0.03)}))
    assert found.figure == Estimate(0.03, 0.02, 0.05, 50)
    assert found.answer == YES
    assert ruling("needed.trained", summaries({"needed.trained": of(0.02, 0.05)})).answer == NO


def test_a_figure_set_against_another() -> None:
    """0.5 [0.46, 0.53] − 0.2 [0.16, 0.23]: below by hypot(0.04, 0.03), above by hypot(0.03, 0.04)."""
    apart = {
        (EXPERIMENT, "seeds"): {"mean JSD of pairs": of(0.16, 0.23, 0.2)},
        (TRIAL, "adversary"): {"mean max JSD": of(0.46, 0.53, 0.5)},
    }
    found = ruling("stable.adversary", apart)
    assert found.figure is not None
    assert [found.figure.value, found.figure.low, found.figure.high] == pytest.approx([0.3, 0.25, 0.35])
    assert found.answer == YES
    assert ruling("stable.adversary", apart, {"stable.adversary": 0.4}).answer == NO


@pytest.mark.parametrize(
    ("figure", "answer", "why"),
    [
        (UNDEFINED, UNTESTED, "the figure is not defined for these texts"),
        (Estimate(0.5, NAN, NAN, 1), UNCLEAR, NO_INTERVAL),
        (Estimate(0.5, 0.4, NAN, 1), UNCLEAR, NO_INTERVAL),
        (
            Estimate(0.5, 0.4, NAN, 100),
            UNCLEAR,
            f"the figure has no interval; {NEVER}, as there is no interval to narrow",
        ),
        (Estimate(0.5, 0.4, 0.6, 19), UNCLEAR, "19 texts are too few; at least 20 texts are needed"),
        (Estimate(0.5, 0.4, 0.6, 20), YES, "the whole interval meets the threshold"),
    ],
)
@pytest.mark.parametrize("name", ["used.decisions", "informative.information"])
def test_figures_that_are_not_whole_or_of_few_texts(name: str, figure: Estimate, answer: str, why: str) -> None:
    """No criterion is excepted, T13 neither."""
    if why == NO_INTERVAL:  # figures of information have one from 100 texts on
        why += "; at least 20 texts are needed" if name == "used.decisions" else "; at least 100 texts are needed"
    found = ruling(name, summaries({name: figure}))
    assert (found.answer, found.why) == (answer, why)
    if name == "used.decisions" and answer == UNCLEAR:  # it decides, and says why it is unclear
        assert verdict("used", summaries({name: figure})).confidence.endswith(f"; {why}.")


def test_an_unclear_figure_says_how_many_texts_would_decide() -> None:
    """Half a width of 0.02 at 100 texts, and 0.01 from the threshold: four times the texts halve the width."""
    found = verdict("used", summaries({"used.decisions": of(0.04, 0.08, n=100)}))
    assert found.deciding is not None
    assert (found.answer, found.to_decide) == (UNCLEAR, ToDecide("about 400 texts would decide", 400))
    assert found.as_dict()["to_decide"] == {"texts": 400, "trainings": None, "says": "about 400 texts would decide"}
    assert (found.as_dict()["rulings"][0]["texts_needed"], found.deciding.to_decide) == (400, found.to_decide)
    assert found.deciding.why == "the 95 % interval includes the threshold; about 400 texts would decide"
    assert "about 400 texts would decide" in found.confidence
    clear = verdict("used", summaries({"used.decisions": of(0.06, 0.08, n=100)}))
    assert clear.deciding is not None
    assert clear.deciding.to_decide is clear.to_decide is clear.as_dict()["to_decide"] is None


@pytest.mark.parametrize(
    ("figure", "texts", "says"),
    [
        # .01 from the threshold, and the side that faces it is .02 wide: four times the 10 texts, but 20 at least
        (of(0.04, 0.08, n=10), 40, "at least 40 texts are needed"),
        (of(0.02, 0.08, 0.06, n=3), 48, "at least 48 texts are needed"),  # .04 wide: sixteen times 3
        (of(0.04, 0.08, n=3), 20, "at least 20 texts are needed"),  # four times 3 are too few anyway
        (of(0.04, 0.06, 0.05, n=400), None, "no number of texts would decide: the figure is at the threshold"),
        # .0001 from the threshold and .02 wide: 40,000 times the texts
        (
            of(0.0301, 0.0701, 0.0501, n=400),
            None,
            "more than a million texts would be needed to decide: the figure is nearly at the threshold",
        ),
    ],
)
def test_texts_that_would_decide(figure: Estimate, texts: int | None, says: str) -> None:
    found = verdict("used", summaries({"used.decisions": figure}))
    assert (found.answer, found.to_decide) == (UNCLEAR, ToDecide(says, texts))
    assert says in found.confidence


def needed_over(trainings: int, change: Estimate) -> dict[tuple[str, str], dict[str, Estimate]]:
    made = summaries({"needed.trained": change})
    made[EXPERIMENT, "uniform"]["trainings"] = Estimate(trainings, trainings, trainings, trainings)
    return made


@pytest.mark.parametrize(
    ("change", "texts", "trainings", "says"),
    [
        # .02 are lost, .01 more than the threshold, and the side that faces it is .02 wide: four times the texts.
        # Student's t over the root is 2.776/√5 = 1.242 for 5 trainings; half of that, .621, is not reached by 12
        # (2.201/√12 = .635) but by 13 (2.179/√13 = .604)
        (
            of(-0.04, 0.0, -0.02, n=500), 2000, 13,
            "about 13 trainings, each tested on about 2,000 texts, would decide",
        ),
        # .012 are lost, .002 more, and .02 wide: a hundred times the texts, and a tenth of 1.242 is 1.969/√252:
        # more than anybody will train
        (
            of(-0.032, 0.008, -0.012, n=500), None, None,
            "no practical number would decide: so near the threshold it would take about 260 trainings, each tested on "
            "about 50,000 texts",
        ),
        (of(-0.03, 0.01, -0.01, n=500), None, None, "no number of texts would decide: the figure is at the threshold"),
    ],
)  # fmt: skip
def test_over_trainings_and_texts_both_count(
    change: Estimate, texts: int | None, trainings: int | None, says: str
) -> None:
    found = verdict("needed", needed_over(5, change))
    assert (found.answer, found.to_decide) == (UNCLEAR, ToDecide(says, texts, trainings))
    assert says in found.confidence
    plain = found.as_dict()["rulings"][0]
    assert (plain["texts_needed"], plain["trainings_needed"]) == (texts, trainings)


def test_twice_the_trainings_and_texts_are_half_the_squares() -> None:
    """The rule above, on an interval over both that is computed: values that alternate, in 4 trainings that differ."""
    values = np.tile([0.0, 1.0], 50) + np.array([0.0, 0.1, 0.2, 0.3])[:, None]
    one = two_level(values)
    many = two_level(np.tile(values, (25, 25)))
    assert (many.high - many.value) / (one.high - one.value) == pytest.approx(1 / 5, rel=0.4)
    assert many.high - many.value <= (one.high - one.value) / 5  # fewer degrees of freedom are lost, too


def test_trainings_that_decide_are_the_fewest_by_their_own_interval() -> None:
    """Values that differ by training alone: with the number that is named, the interval is off the threshold."""
    spread, threshold = 0.02, 0.0

    def over(trainings: int) -> Estimate:
        half = student_quantile(0.975, trainings - 1) * spread / math.sqrt(trainings)
        return Estimate(0.01, 0.01 - half, 0.01 + half, 500)

    for trainings in (2, 3, 5):
        needed = by_more_trainings(over(trainings), threshold, trainings).trainings
        assert needed == 18  # by hand: 2.110 · .02/√18 = .00995, and 2.120 · .02/√17 = .01028
        assert over(needed).low > threshold >= over(needed - 1).low
    assert "texts would decide" in by_more_trainings(over(3), threshold, 1).says  # one has no spread


def test_nothing_held_is_not_tested_and_says_what_is_missing() -> None:
    for found in judge({}, rates=NOTHING):
        assert (found.answer, found.deciding) == (UNTESTED, None)
        assert found.confidence.startswith("Not tested: the ")
        assert "people" not in found.confidence  # that nobody was asked is no news
        for one in found.rulings:
            assert (one.answer, one.figure) == (UNTESTED, None)
            wanted = one.criterion.against or one.criterion.asks
            untested = f"the {wanted.kind} {wanted.name} was not run"
            assert one.why == (one.criterion.absent if one.criterion.kind == PEOPLE else untested)


def test_what_cannot_be_run_has_its_reason() -> None:
    plausible = judge({}, impossible={(TRIAL, "rationale"): "the corpus has no rationales"}, rates=NOTHING)[-1]
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
    searched = {(EXPERIMENT, "adversary"): {"JSD, furthest": of(0, 0.1)}}
    assert ruling("exclusive.model", searched | seeds).why == CRITERIA["exclusive.model"].absent
    missing = ruling("faithful.gradient", {(TRIAL, "correlation"): {}})
    assert missing.why == "the model has no gradients with respect to its inputs"


def test_a_finding_of_an_earlier_version_is_not_called_undefined() -> None:
    old: Summaries = {place: {} for place in ((EXPERIMENT, "seeds"), (EXPERIMENT, "adversary"), (TRIAL, "uniform"))}
    for name in ("stable.seeds", "exclusive.model", "exclusive.search", "used.decisions"):
        assert ruling(name, old).why == "made by an earlier version; run the audit again"


def test_this_models_own_figure_is_kept_next_to_the_mean_over_trainings() -> None:
    entry = CRITERIA["used.decisions"].asks.keys["decisions"]
    alone = {(TRIAL, "uniform"): {entry: of(0.2, 0.3)}}
    over = {(EXPERIMENT, "seeds"): {f"{entry}, over trainings": of(0.1, 0.2), "trainings": of(5, 5)}}
    found = ruling("used.decisions", alone | over)
    assert (found.figure, found.alone) == (of(0.1, 0.2), of(0.2, 0.3))
    assert ruling("used.decisions", alone).alone is None


def test_a_position_that_is_not_defined_is_not_put_down_to_gradients_alone() -> None:
    why = ruling("faithful.top", {(TRIAL, "overlap"): {}}).why
    assert why == "not defined: other measures share no more than chance, or the model gives no gradients"


def test_a_figure_whose_experiment_failed_says_so() -> None:
    rulings = {r.criterion.name: r for v in judge({}, broken={(EXPERIMENT, "guides")}) for r in v.rulings}
    assert rulings["informative.guide"].why == "the experiment guides failed"
    assert rulings["informative.fix"].why == "the experiment fix was not run"


def test_weights_that_cannot_move_are_not_set_against_the_seeds() -> None:
    still = {
        (EXPERIMENT, "seeds"): {"mean JSD of pairs": of(0.0, 0.01)},
        (TRIAL, "adversary"): {"mean max JSD": of(0.0, 0.02)},
    }
    found = ruling("stable.adversary", still)
    assert (found.answer, found.why) == (UNTESTED, CRITERIA["stable.adversary"].absent)


@pytest.mark.parametrize(("apart", "answer"), [(0.41, YES), (0.4, UNTESTED), (0.1, UNTESTED)])
def test_an_adversary_counts_for_its_information_when_it_is_far(apart: float, answer: str) -> None:
    entries = {"Δ weighted τ, adversary": of(0.0, 0.05), "JSD, adversary": of(apart, apart)}
    found = ruling("informative.adversary", {(EXPERIMENT, "informed-adversary"): entries})
    assert found.answer == answer
    assert answer == YES or found.why == CRITERIA["informative.adversary"].absent


# which test decides

YES_BY_ONE = summaries({SUFFICIENCY: of(0.6, 0.7), LEFT_OUT: of(0.1, 0.2), REMOVAL: of(0.4, 0.5)})
ONE_AND_ALL = calibrated(sufficiency=0.95, leave_one_out=0.9, removal=0.99)


def test_a_definition_that_is_a_figure_is_decided_by_it_whatever_the_others_say() -> None:
    found = verdict("used", summaries({"used.decisions": of(0.2, 0.3), "used.permutation": of(0.01, 0.02)}))
    assert found.answer == YES
    assert [r.criterion.name for r in found.rulings if r.decides] == ["used.decisions"]
    assert found.confidence == (
        "decisions 0.250 [0.200, 0.300] meets the threshold (at least 0.05). Evidence to the contrary: permutation."
    )
    alone = verdict("used", summaries({"used.permutation": of(0.2, 0.3)}))
    assert (alone.answer, alone.deciding) == (UNTESTED, None)
    assert alone.confidence == "Not tested: only evidence that does not decide (permutation)."


def test_without_a_calibration_no_calibrated_test_decides() -> None:
    found = verdict("faithful", YES_BY_ONE)
    assert (found.answer, found.deciding) == (UNTESTED, None)
    assert found.confidence == "Not tested: only evidence that does not decide (sufficiency, leave-one-out, removal)."
    assert [r.answer for r in found.rulings if r.figure is not None] == [YES, NO, YES]


KNOWN = {"sufficiency", "leave_one_out"}  # a test whose error rates are not known is no evidence to tell


@pytest.mark.parametrize(
    ("areas", "best", "answer"),
    [
        ({"sufficiency": 0.95, "leave_one_out": 0.9}, SUFFICIENCY, YES),
        ({"sufficiency": 0.9, "leave_one_out": 0.95}, LEFT_OUT, NO),
        ({"comprehensiveness": 0.99, "leave_one_out": 0.9}, LEFT_OUT, NO),  # the best was not run
    ],
)
def test_the_best_calibrated_test_decides_alone(areas: dict[str, float], best: str, answer: str) -> None:
    found = verdict("faithful", YES_BY_ONE, rates=calibrated(**areas))
    assert [r.criterion.name for r in found.rulings if r.decides] == [best]
    assert found.answer == answer
    contrary = "leave-one-out" if answer == YES else "sufficiency"
    assert (f"Evidence to the contrary: {contrary}." in found.confidence) == (len(set(areas) & KNOWN) == 2)


def test_a_test_that_the_calibration_found_wanting_does_not_decide() -> None:
    poor = rates_of(first_auroc=0.99, decides=False, why="AUROC 0.70 is below 0.85")
    rates = Calibration({LEFT_OUT: poor, SUFFICIENCY: rates_of(first_auroc=0.9)})
    found = verdict("faithful", YES_BY_ONE, rates=rates)
    assert found.deciding is not None
    assert (found.deciding.criterion.name, found.answer) == (SUFFICIENCY, YES)


def test_evidence_never_decides_whatever_a_calibration_says() -> None:
    found = verdict(
        "plausible",
        summaries({"plausible.weight": of(0.1, 0.2)}),
        rates=Calibration({"plausible.weight": rates_of(threshold=0.0)}),
    )
    assert (found.answer, found.deciding) == (UNTESTED, None)
    for definition in DEFINITIONS.values():
        assert any(c.role in (DEFINES, CALIBRATED) for c in definition.criteria)


def control(**figures: Estimate) -> dict[tuple[str, str], dict[str, Estimate]]:
    return summaries({f"faithful.{name.replace('_', '-')}": figure for name, figure in figures.items()})


TOLD_APART = {
    "positive": control(removal=of(0.2, 0.4), sufficiency=of(0.8, 0.9)),
    "null": control(removal=of(0.1, 0.3), sufficiency=of(0.0, 0.1)),  # removal: the two overlap
    "deceptive": control(removal=of(0.0, 0.1), sufficiency=of(0.1, 0.2)),
}


def test_a_test_that_is_blind_to_the_controls_leaves_the_decision_to_the_next_best() -> None:
    without = verdict("faithful", YES_BY_ONE, rates=ONE_AND_ALL)
    assert without.deciding is not None
    assert without.deciding.criterion.name == REMOVAL
    found = verdict("faithful", YES_BY_ONE, rates=ONE_AND_ALL, controls=TOLD_APART)
    assert found.deciding is not None
    assert found.deciding.criterion.name == SUFFICIENCY
    assert found.deciding.controls == {
        "positive": of(0.8, 0.9),
        "null": of(0.0, 0.1),
        "deceptive": of(0.1, 0.2),
    }
    told = {told["name"]: told for told in found.as_dict()["rulings"]}
    assert told[SUFFICIENCY]["controls"]["null"] == of(0.0, 0.1).as_dict()


def test_where_no_test_tells_the_controls_apart_the_verdict_is_unclear() -> None:
    alike = {name: control(removal=of(0, 1), sufficiency=of(0, 1)) for name in ("positive", "null")}
    alike["positive"] |= control(leave_one_out=of(0.1, 0.2))  # no other has a figure: not known to be blind
    rates = calibrated(removal=0.9, sufficiency=0.95)
    found = verdict("faithful", YES_BY_ONE, rates=rates, controls=alike)
    assert (found.answer, found.deciding) == (UNCLEAR, None)
    never = "no number of texts would decide: by none of these tests is the positive control better than all others"
    expected = f"Inconclusive: no test tells this audit's own controls apart (sufficiency, removal); {never}."
    assert (found.confidence, found.to_decide) == (expected, ToDecide(never))
    other = verdict("faithful", YES_BY_ONE, rates=calibrated(leave_one_out=0.9), controls=alike)
    assert other.answer == NO
    none = verdict("faithful", YES_BY_ONE, controls=alike)  # none may decide, blind or not
    assert (none.answer, none.confidence[:34]) == (UNTESTED, "Not tested: only evidence that doe")


def test_blind_tests_say_how_many_texts_would_make_them_see() -> None:
    """Half-widths of .2 at 50 texts. Sufficiency is .2 apart from the nearest control, and .4 wide together: four times
    as many. Removal is .1 apart: sixteen times."""
    controls = {
        "positive": control(removal=of(0.4, 0.8), sufficiency=of(0.4, 0.8)),
        "null": control(removal=of(0.3, 0.7), sufficiency=of(0.2, 0.6)),
        "deceptive": control(removal=of(0.0, 0.4), sufficiency=of(0.1, 0.5)),
    }
    rates = calibrated(removal=0.95, sufficiency=0.9)
    found = verdict("faithful", YES_BY_ONE, rates=rates, controls=controls)
    assert (found.answer, found.deciding) == (UNCLEAR, None)
    assert found.to_decide == ToDecide("about 200 texts would tell them apart by sufficiency", 200)
    assert found.confidence.endswith("(removal, sufficiency); about 200 texts would tell them apart by sufficiency.")
    controls["null"] = control(removal=of(0.3, 0.7), sufficiency=of(0.5, 0.9))  # above the positive one
    found = verdict("faithful", YES_BY_ONE, rates=rates, controls=controls)
    assert found.to_decide == ToDecide("about 800 texts would tell them apart by removal", 800)


@pytest.mark.parametrize("first", ["null", "deceptive"])
def test_a_control_without_an_interval_blinds_whatever_the_order(first: str) -> None:
    second = "deceptive" if first == "null" else "null"
    nowhere = control(sufficiency=Estimate(0.1, NAN, NAN, 50))
    controls = {
        "positive": control(sufficiency=of(0.8, 0.9)),
        first: nowhere,
        second: control(sufficiency=of(0.0, 0.1)),
    }
    found = verdict("faithful", YES_BY_ONE, rates=calibrated(sufficiency=0.9), controls=controls)
    assert (found.answer, found.deciding) == (UNCLEAR, None)


def test_what_is_needed_is_judged_by_accuracy_whatever_f1_says() -> None:
    found = verdict("needed", summaries({"needed.trained": of(-0.05, 0.05), "needed.f1": of(-0.05, -0.02)}))
    assert found.answer == UNCLEAR
    assert [(one.criterion.name, one.answer) for one in found.rulings] == [
        ("needed.trained", UNCLEAR),
        ("needed.f1", YES),
    ]
    assert verdict("needed", summaries({"needed.f1": of(-0.05, -0.02)})).answer == UNTESTED


@pytest.mark.parametrize("left", [("positive",), ("null", "deceptive")])
def test_controls_of_one_kind_blind_no_test(left: tuple[str, ...]) -> None:
    """A control that is not what it was made to be is left out: there is nothing to tell apart."""
    some = {name: TOLD_APART[name] for name in left}
    found = verdict("faithful", YES_BY_ONE, rates=ONE_AND_ALL, controls=some)
    assert found.deciding is not None
    assert found.deciding.criterion.name == REMOVAL


def test_controls_do_not_blind_what_defines() -> None:
    same = summaries({"used.decisions": of(0, 1)})
    found = verdict("used", summaries({"used.decisions": of(0.2, 0.3)}), controls={"positive": same, "null": same})
    assert found.answer == YES


def test_what_decides_is_the_figure_over_all_trainings_where_there_is_one() -> None:
    """One training may be an exception; where a figure is not defined over all, that of the one says nothing."""
    one = summaries({SUFFICIENCY: of(0.6, 0.7)})
    for over, expected in ((of(0.1, 0.8), UNCLEAR), (UNDEFINED, UNTESTED)):
        seeds = {(EXPERIMENT, "seeds"): {"sufficiency position, over trainings": over}}
        assert verdict("faithful", one | seeds, rates=calibrated(sufficiency=0.9)).answer == expected
        if over is UNDEFINED:
            assert ruling(SUFFICIENCY, one | seeds).why == "the figure is not defined for these texts"
    assert verdict("faithful", one, rates=calibrated(sufficiency=0.9)).answer == YES


# weights that single out nothing, and attention that is of no use


def uniform(entropy: Estimate) -> dict[tuple[str, str], dict[str, Estimate]]:
    found = summaries({"used.decisions": of(0.2, 0.3), "needed.trained": of(-0.05, -0.02), **ALL_FAITHFUL})
    found[TRIAL, "uniform"]["normalised entropy of the weights"] = entropy
    return found


ALL_FAITHFUL = {SUFFICIENCY: of(0.6, 0.7), "stable.seeds": of(0.9, 0.95), "plausible.weight": of(0.1, 0.2)}


def test_near_uniform_weights_are_said_to_be_so_and_nothing_but_their_use_is_judged() -> None:
    rates = calibrated(sufficiency=0.9)
    for found in judge(uniform(of(0.96, 0.98)), rates=rates):
        if found.definition.name in ("used", "needed"):
            assert found.answer == YES
            continue
        assert (found.answer, found.deciding) == (UNTESTED, None)
        why = "the weights are near uniform (normalised entropy 0.97): they single out no tokens"
        assert found.confidence == f"Not tested: {why}."
        assert {(r.answer, r.why) for r in found.rulings} == {(UNTESTED, why)}
    assert ruling(SUFFICIENCY, uniform(of(0.96, 0.98)), rates=rates).figure == of(0.6, 0.7)  # still shown


@pytest.mark.parametrize("entropy", [of(0.94, 0.98), of(0.5, 0.6), UNDEFINED])
def test_weights_that_are_not_clearly_near_uniform_are_judged(entropy: Estimate) -> None:
    assert verdict("faithful", uniform(entropy), rates=calibrated(sufficiency=0.9)).answer == YES


@pytest.mark.parametrize(
    ("used", "needed", "matters"),
    [
        (of(0.0, 0.01), of(0.0, 0.02), False),  # needed: F1 is gained
        (of(0.2, 0.3), of(0.0, 0.02), True),
        (of(0.0, 0.01), of(-0.05, -0.02), True),
        (of(0.0, 0.1), of(0.0, 0.02), True),  # used: unclear
        (of(0.0, 0.01), UNDEFINED, True),  # needed: not tested
    ],
)
def test_attention_that_is_neither_used_nor_needed_is_of_no_consequence(
    used: Estimate, needed: Estimate, matters: bool
) -> None:
    found = judge(summaries({"used.decisions": used, "needed.trained": needed}), rates=NOTHING)
    assert {v.definition.name for v in found if not v.of_consequence} == (
        set() if matters else set(DEFINITIONS) - {"used", "needed"}
    )
    assert found[-1].as_dict()["of_consequence"] == matters


# exclusive, where no adversary got far


def searched(
    jsd: Estimate, tvd: float = 0.02, more: dict[str, Estimate] | None = None
) -> dict[tuple[str, str], dict[str, Estimate]]:
    entries = {"JSD, furthest": jsd, "TVD, furthest": of(tvd, tvd), "λ, strongest": of(0.002, 0.002)}
    return {(EXPERIMENT, "adversary"): {**entries, **(more or {})}}


def test_a_search_that_found_nothing_is_no_yes() -> None:
    found = verdict("exclusive", searched(of(0.2, 0.3)))
    assert found.deciding is not None
    assert (found.answer, found.deciding.criterion.name) == (UNCLEAR, "exclusive.search")
    not_found = "other weights with the same predictions were not found with λ up to 0.002, which is no proof"
    only = "no number of texts would decide, only a search that finds such weights"
    assert (found.deciding.why, found.to_decide) == (f"{not_found}; {only}", ToDecide(only))
    assert (
        found.confidence == f"search 0.250 [0.200, 0.300] meets the threshold (at most 0.4), but {not_found}; {only}."
    )
    model = next(r for r in found.rulings if r.criterion.name == "exclusive.model")
    assert (model.answer, model.why) == (UNTESTED, "the experiment seeds was not run")


@pytest.mark.parametrize(
    ("jsd", "answer"),
    [(of(0.35, 0.45), UNCLEAR), (of(0.42, 0.5), NO)],  # λ is chosen on dev: on test it may be further
)
def test_how_far_the_furthest_got_on_the_test_texts_counts(jsd: Estimate, answer: str) -> None:
    assert verdict("exclusive", searched(jsd)).answer == answer


def test_an_adversary_that_decides_otherwise_was_no_search() -> None:
    found = verdict("exclusive", searched(of(0.2, 0.3), tvd=0.3))
    assert found.answer == UNTESTED
    assert found.rulings[1].why == CRITERIA["exclusive.search"].absent


@pytest.mark.parametrize(
    ("moved", "answer"),
    [(of(0.02, 0.04), NO), (of(0.08, 0.12), UNCLEAR), (of(0.2, 0.3), UNCLEAR)],  # further than seeds: not found
)
def test_a_far_adversary_is_set_against_seeds_by_its_predictions(moved: Estimate, answer: str) -> None:
    far = {"JSD, far": of(0.5, 0.6), "TVD, far": moved}
    seeds = {(EXPERIMENT, "seeds"): {"mean TVD of pairs": of(0.08, 0.12)}}
    found = verdict("exclusive", searched(of(0.5, 0.6), more=far) | seeds)
    assert found.deciding is not None
    assert (found.answer, found.deciding.criterion.name) == (answer, "exclusive.model")
    assert found.rulings[1].answer == UNTESTED


# thresholds, and what the page says of them


def test_your_threshold_goes_before_the_calibrated_one_and_that_before_the_usual_one() -> None:
    figures, rates = summaries({SUFFICIENCY: of(0.35, 0.45)}), calibrated(sufficiency=0.9)
    usual = ruling(SUFFICIENCY, figures)
    assert (usual.threshold, usual.source, usual.answer) == (0.5, CRITERIA[SUFFICIENCY].source, NO)
    measured = ruling(SUFFICIENCY, figures, rates=rates)
    assert (measured.threshold, measured.answer) == (0.3, YES)
    assert measured.source == "calibrated on models of known truth"
    own = ruling(SUFFICIENCY, figures, {SUFFICIENCY: 0.4}, rates)
    assert (own.threshold, own.source, own.answer) == (0.4, "set by you", UNCLEAR)
    other = ruling(SUFFICIENCY, figures, {LEFT_OUT: 0.4}, rates)
    assert (other.threshold, other.source) == (0.3, "calibrated on models of known truth")


def test_rates_are_those_of_the_number_of_texts_and_of_the_calibrated_threshold_only() -> None:
    rates = calibrated(sufficiency=0.9)
    for n, texts in ((30, 50), (50, 50), (199, 50), (200, 200), (5000, 200)):
        found = verdict("faithful", summaries({SUFFICIENCY: of(0.6, 0.7, n=n)}), rates=rates)
        assert found.deciding is not None
        assert found.deciding.rates is not None
        assert found.deciding.rates.texts == texts
        assert f"On models of known truth with {texts} texts: hit rate " in found.confidence
    own = verdict("faithful", summaries({SUFFICIENCY: of(0.6, 0.7)}), {SUFFICIENCY: 0.4}, rates)
    assert own.confidence.endswith("Its error rate is not known.")


def test_thresholds_are_complete_and_numbers() -> None:
    assert check_thresholds({"faithful.gradient": 1}, NOTHING)["faithful.gradient"] == 1.0
    assert set(check_thresholds({})) == set(EVERY_CRITERION)
    assert not set(CRITERIA) & set(CRITERIA_OF_TRANSLATION)
    stale = Calibration({"faithful.of-an-earlier-version": rates_of()})
    assert set(check_thresholds({}, stale)) == set(EVERY_CRITERION)


@pytest.mark.parametrize("value", [True, math.inf, -math.inf, NAN, "0.5", None, [0.5], 10**309])
def test_thresholds_that_are_no_numbers_are_refused(value: object) -> None:
    with pytest.raises(attentest.InputError, match=r"The threshold faithful\.gradient is .*; expected a number\."):
        check_thresholds({"faithful.gradient": value})


def test_an_unknown_threshold_suggests_the_nearest() -> None:
    with pytest.raises(attentest.InputError, match=r"did you mean 'faithful\.gradient'"):
        judge({}, {"faithful.gradiant": 0.5})
    with pytest.raises(attentest.InputError, match="Unknown threshold 'needed'"):
        check_thresholds({"needed": 0.5})  # a definition has no threshold of its own


def test_the_position_of_a_figure_is_between_its_null_and_its_ceiling() -> None:
    entries = {"τ attention – leave-one-out": of(0.2, 0.4), "null of leave-one-out": of(0.1, 0.1)}
    ceiling = {"τ gradient-input-fixed – leave-one-out": of(0.5, 0.5)}
    found = ruling(LEFT_OUT, {(TRIAL, "correlation"): {**entries, **ceiling}})
    assert (found.null, found.ceiling) == (of(0.1, 0.1), of(0.5, 0.5))
    assert found.position == pytest.approx(0.5)
    assert ruling(LEFT_OUT, {(TRIAL, "correlation"): entries}).position is None
    flat = {"τ gradient-input-fixed – leave-one-out": of(0.1, 0.1)}
    assert ruling(LEFT_OUT, {(TRIAL, "correlation"): {**entries, **flat}}).position is None


def test_verdicts_to_fail_on() -> None:
    assert len(FAILURES) == 3 * len(DEFINITIONS)
    assert check_failures(["not-faithful", "not-used"]) == ["not-faithful", "not-used"]
    with pytest.raises(attentest.InputError, match="did you mean 'not-faithful'"):
        check_failures(["not-faithfull"])
    figures = {"used.decisions": of(0.0, 0.01), "needed.trained": of(-1, 1), SUFFICIENCY: of(0.0, 0.1)}
    found = judge(summaries(figures), rates=calibrated(sufficiency=0.9))
    on = ["not-faithful", "not-needed", "unclear-needed", "not-used", "unclear-used", "untested-stable"]
    assert failed(found, on) == ["not-faithful", "unclear-needed", "not-used", "untested-stable"]
    assert failed(found, []) == []
    assert failed([], on) == []  # a model without verdicts: its training failed, which is told of itself


def test_verdicts_are_json() -> None:
    found = judge(YES_BY_ONE, rates=ONE_AND_ALL, controls=TOLD_APART)
    content = [json.loads(json.dumps(v.as_dict(), allow_nan=False)) for v in found]
    assert [row["definition"] for row in content] == list(DEFINITIONS)
    (decides,) = [row for v in content for row in v["rulings"] if row["decides"]]
    assert decides["name"] == SUFFICIENCY
    assert decides["figure"] == pytest.approx({"value": 0.65, "low": 0.6, "high": 0.7, "n": 50})
    assert (decides["side"], decides["threshold"], decides["answer"]) == (AT_LEAST, 0.3, YES)
    assert decides["rates"]["texts"] == 50


PAPERS = (
    r"(Jain & Wallace|Wiegreffe & Pinter|Serrano & Smith|Vashishth et al\.|Wen et al\.|Meister et al\.|DeYoung et al\.)"
)


@pytest.mark.parametrize(
    ("relevant", "difference", "answer"),
    [
        (of(0.8, 0.95), of(0.4, 0.6), YES),
        (of(0.8, 0.95), of(-0.06, 0.12), UNCLEAR),  # 89 % of the original and 86 % of the permuted
        (of(0.8, 0.95), of(-0.2, -0.01), NO),
        (of(0.4, 0.6), of(-0.2, -0.01), NO),
        (of(0.4, 0.6), of(0.1, 0.3), UNCLEAR),
        (of(0.1, 0.2), of(0.1, 0.2), NO),
        (of(0.8, 0.95), of(0.4, 1.0, n=3), UNCLEAR),
        (of(0.8, 0.95), UNDEFINED, UNTESTED),
        (of(0.1, 0.2), UNDEFINED, UNTESTED),
        (UNDEFINED, UNDEFINED, UNTESTED),
    ],
)
def test_people_must_prefer_the_models_own_weights(relevant: Estimate, difference: Estimate, answer: str) -> None:
    permuted = Estimate(0.8613, 0.8, 0.9, 50)
    figures = {"relevant": relevant, "permuted": permuted, "difference": difference}
    found = verdict("plausible", {(PEOPLE, "people"): {People.keys[key]: one for key, one in figures.items()}})
    assert found.answer == answer
    (one,) = (one for one in found.rulings if one.criterion.name == "plausible.people")
    assert one.answer == answer
    assert one.decides == (answer != UNTESTED)
    if relevant.low > 0.5 and answer in (UNCLEAR, NO):
        assert one.why.startswith("permuted weights get 0.861 [")
        assert "but permuted weights get 0.861" in found.confidence
        assert (one.to_decide is None) == (answer == NO)


@pytest.mark.parametrize("name", CRITERIA)
def test_every_threshold_has_a_source(name: str) -> None:
    source = CRITERIA[name].source
    as_other = re.fullmatch(r"(?:our convention, )?the same as for (\S+)", source)
    if as_other:
        assert CRITERIA[as_other.group(1)].threshold == CRITERIA[name].threshold
        source = CRITERIA[as_other.group(1)].source
    assert source.startswith("our convention") or re.search(PAPERS, source), source
    assert len(source.split()) >= 4
    assert not re.search(r"[.]\s*$", source)  # it ends a line of the page that goes on


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_definition_has_a_meaning_a_caveat_and_a_truth(name: str) -> None:
    definition = DEFINITIONS[name]
    for sentence in (definition.means, definition.caveat, definition.truth):
        assert sentence.endswith(".")
    assert re.search(PAPERS + r" \d{4}", definition.paper)
    for criterion in definition.criteria:
        assert criterion.name.startswith(f"{name}.")
        known = {TRIAL: TRIALS, EXPERIMENT: EXPERIMENTS, PEOPLE: {"people"}}[criterion.kind]
        assert criterion.trial in known


def test_the_calibration_of_the_package_knows_criteria_only() -> None:
    found = calibration()
    assert set(found.tests) <= {name for name, c in CRITERIA.items() if c.role == CALIBRATED}
    assert set(found.verdicts) <= set(DEFINITIONS)


def test_every_criterion_finds_its_figure_in_real_findings(audited: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every trial and experiment held, and any adversary far enough, only people are missing, and a search that
    found something."""
    sections = audited.report.blocks[0].sections
    real = {(section.kind, section.name): section.summary for section in sections}
    audits = {name for name in EXPERIMENTS if name != "zoo" and not is_of_translation(name)}
    assert set(real) == {(TRIAL, name) for name in ON_RUNS} | {(EXPERIMENT, name) for name in audits}
    monkeypatch.setattr(figures, "FAR", -1.0)
    monkeypatch.setattr(figures, "NEAR", -1.0)
    real[TRIAL, "uniform"] = {k: v for k, v in real[TRIAL, "uniform"].items() if "entropy" not in k}  # hardly trained
    rulings = {r.criterion.name: r for v in judge(real, rates=NOTHING) for r in v.rulings}
    assert set(rulings) == set(CRITERIA)
    without = [name for name, criterion in CRITERIA.items() if figure_of(criterion, real) is None]
    assert without == ["exclusive.search", "plausible.people"]
    monkeypatch.setattr(figures, "IMITATES", 1.0)
    near = {k: v for k, v in real[EXPERIMENT, "adversary"].items() if k not in ("JSD, far", "F1, far − base")}
    assert ruling("exclusive.search", {(EXPERIMENT, "adversary"): near}).figure is not None
    for name, found in rulings.items():
        if name == "informative.information":  # too few texts for an interval
            assert found.figure is not None
            assert math.isnan(found.figure.low)
            assert found.answer == UNCLEAR
        elif found.figure is not None:
            assert found.figure.low <= found.figure.value <= found.figure.high, name
            assert found.answer in (YES, NO, UNCLEAR)
