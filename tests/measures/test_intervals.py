"""Intervals: by hand, against brute force and scipy, and how often they cover the truth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.coverage import row, texts
from benchmarks.coverage import trainings as over_trainings
from scipy import stats

from attentest.measures.bounded_means import lower_limits, upper_limits
from attentest.measures.intervals import (
    Estimate,
    mean,
    ratio,
    share,
    share_difference,
    smallest_visible,
    texts_to_decide,
    texts_to_separate,
    two_level,
)

PROMISED = 0.93


def least(simulations: int) -> float:
    """Below this, coverage was not what is promised: three standard errors of a share of .93 of the simulations."""
    return PROMISED - 3 * math.sqrt(PROMISED * (1 - PROMISED) / simulations)


def most(simulations: int) -> float:
    """Above this, false alarms are more than 5 %."""
    return 0.05 + 3 * math.sqrt(0.05 * 0.95 / simulations)


def assert_kept(found: row.Coverage, simulations: int) -> None:
    assert found.covered >= least(simulations), found
    assert found.below <= most(simulations), found


# shares


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 2), (0, 20), (3, 20), (20, 20), (1, 400), (200, 400)])
def test_share_is_clopper_and_pearsons(hits: int, n: int) -> None:
    found = share(np.arange(n) < hits)
    exact = stats.binomtest(hits, n).proportion_ci(method="exact")
    assert (found.value, found.n) == (hits / n, n)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_no_hit_in_twenty_by_hand() -> None:
    assert share(np.zeros(20)).high == pytest.approx(1 - 0.025 ** (1 / 20))


def test_what_is_not_defined_is_left_out() -> None:
    with_nan = np.array([1.0, np.nan, 0, 0])
    assert share(with_nan) == share(np.array([1, 0, 0]))
    assert mean(with_nan) == mean(np.array([1.0, 0, 0]))
    assert share_difference(with_nan, np.array([0, 1, np.nan, 0])) == share_difference(
        np.array([1, 0]), np.array([0, 0])
    )
    assert ratio(with_nan, np.array([2.0, 3, 1, 2])) == ratio(np.array([1.0, 0, 0]), np.array([2.0, 1, 2]))
    values = np.array([[1.0, np.nan, 2, 4], [2, 2, 3, 7]])
    assert two_level(values) == two_level(values[:, [0, 2, 3]])


def test_no_values() -> None:
    nothing = np.array([])
    for found in (share(nothing), mean(nothing), mean(nothing, (0, 1)), share_difference(nothing, nothing)):
        assert found.n == 0
        assert math.isnan(found.value)
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    assert math.isnan(ratio(nothing, nothing).value)
    assert math.isnan(two_level(np.full((3, 4), np.nan)).value)


# means


def test_mean_is_students_where_enough_values_carry_the_variance() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.1, 400)
    low, high = stats.t.interval(0.95, 399, values.mean(), stats.sem(values))
    for bounds in (None, (0, 1)):
        found = mean(values, bounds)
        assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize("kind", ["uniform", "skewed", "rare", "equal"])
def test_limits_are_quantiles_of_randomly_weighted_means(kind: str) -> None:
    generator = np.random.default_rng(1)
    values = {
        "uniform": generator.random(12),
        "skewed": generator.beta(0.3, 4, 20),
        "rare": np.r_[np.zeros(38), 0.4, 0.9],
        "equal": np.full(5, 0.25),
    }[kind]
    weights = generator.dirichlet(np.ones(len(values) + 1), 200_000)
    low = np.quantile(weights @ np.r_[values, 0.0], 0.025)
    high = np.quantile(weights @ np.r_[values, 1.0], 0.975)
    assert lower_limits(values[None], 0)[0] == pytest.approx(low, rel=0.03)  # 1 %: ours; the rest: the draws
    assert upper_limits(values[None], 1)[0] == pytest.approx(high, rel=0.015)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 2), (0, 20), (7, 20), (20, 20), (1, 400)])
def test_bounded_mean_of_hits_is_the_exact_share(hits: int, n: int) -> None:
    found, exact = mean(np.arange(n) < hits, (0, 1)), share(np.arange(n) < hits)
    assert found.low == pytest.approx(exact.low, rel=0.04)
    assert found.high == pytest.approx(exact.high, rel=0.01)


def test_bounds_move_with_the_values() -> None:
    values = np.random.default_rng(2).beta(0.5, 3, 15)
    unit, moved = mean(values, (0, 1)), mean(2 * values - 1, (-1, 1))
    assert (2 * unit.low - 1, 2 * unit.high - 1) == pytest.approx((moved.low, moved.high))


def test_equal_values_have_an_interval_only_with_bounds() -> None:
    for n in (1, 2, 30):
        without, within = mean(np.full(n, 0.3)), mean(np.full(n, 0.3), (0, 1))
        assert without.value == within.value == pytest.approx(0.3)
        assert math.isnan(without.low)
        assert math.isnan(without.high)
        assert 0 <= within.low < 0.3 < within.high <= 1
    # the 31st value may be anything: the exact bound for a share that was never seen, on what is left above
    assert mean(np.full(30, 0.3), (0, 1)).high == pytest.approx(0.3 + 0.7 * share(np.zeros(30)).high, rel=0.01)


def test_two_values_without_bounds_have_students_interval() -> None:
    assert mean(np.array([1.0, 3.0])).high == pytest.approx(2 + 12.706, abs=1e-3)


# paired differences and ratios


def test_share_difference_by_hand() -> None:
    first, second = np.array([1, 1, 1, 0, 0] * 40), np.array([1, 0, 0, 1, 0] * 40)
    found = share_difference(first, second)
    spread = np.std(first - second, ddof=1) / math.sqrt(200)
    assert found.value == pytest.approx(0.2)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 199) * spread)
    none = share_difference(np.zeros(20), np.zeros(20))
    assert none.high == pytest.approx(share(np.zeros(20)).high, rel=0.01)
    assert none.low == -none.high


def test_ratio_holds_every_value_that_fits() -> None:
    generator = np.random.default_rng(3)
    bottom = generator.random(50)
    top = 0.4 * bottom + generator.normal(0, 0.1, 50)
    found = ratio(top, bottom)
    candidates = np.linspace(0, 1, 10_001)
    apart = top[:, None] - candidates * bottom[:, None]
    fits = candidates[stats.ttest_1samp(apart, 0).pvalue >= 0.05]
    assert found.value == pytest.approx(top.mean() / bottom.mean())
    assert (found.low, found.high) == pytest.approx((fits[0], fits[-1]), abs=1e-4)


def test_a_ratio_to_what_may_be_nothing_is_not_defined() -> None:
    generator = np.random.default_rng(4)
    found = ratio(generator.random(50), generator.normal(0, 1, 50))
    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.n == 50
    assert math.isnan(ratio(np.array([1.0]), np.array([2.0])).value)


def test_a_ratio_to_what_is_below_nothing_is_not_defined() -> None:
    bottom = np.random.default_rng(4).random(50)
    assert ratio(-bottom, bottom).value == -1
    found = ratio(bottom, -bottom)
    assert all(math.isnan(number) for number in (found.value, found.low, found.high))


# trainings and texts


def test_two_levels_by_hand() -> None:
    values = np.array([[0.0, 2, 4, 6], [1, 3, 5, 7], [2, 4, 6, 8]])  # trainings 3, 4, 5; texts 1, 3, 5, 7
    found = two_level(values)
    text = mean(np.array([1.0, 3, 5, 7]))
    half = math.hypot(text.high - 4, 4.3027 / math.sqrt(3))
    assert (found.value, found.n) == (4, 4)
    assert (found.low, found.high) == pytest.approx((4 - half, 4 + half), abs=1e-3)


@pytest.mark.parametrize("trainings", [3, 4, 5])
def test_trainings_that_agree_on_every_text_have_a_wide_interval(trainings: int) -> None:
    found = two_level(np.zeros((trainings, 60)), (-1, 1))
    assert found.value == 0
    assert 0.04 < found.high == -found.low < 0.07


def test_one_training_says_nothing_about_others() -> None:
    single = two_level(np.random.default_rng(6).random((1, 50)))
    assert 0 < single.value < 1
    assert single.n == 50
    assert math.isnan(single.low)
    assert math.isnan(single.high)


# what a width says


def test_texts_to_separate() -> None:
    """.2 apart, and .1 + .3 wide where they face each other: four times the texts of the longer one."""
    more, less = Estimate(0.6, 0.5, 0.9, 50), Estimate(0.4, 0.0, 0.7, 100)
    assert texts_to_separate(more, less) == 400
    assert texts_to_separate(less, more) is None
    assert texts_to_separate(more, more) is None
    assert texts_to_separate(more, Estimate(0.3, 0.2, 0.35, 100)) == 100  # apart already: no fewer than there are
    assert texts_to_separate(more, Estimate(0.4, 0.0, math.nan, 100)) is None
    assert texts_to_separate(more, Estimate(0.5999, 0.0, 0.7, 100)) is None  # over a million


def test_texts_to_decide() -> None:
    found = Estimate(0.6, 0.5, 0.7, 100)
    assert texts_to_decide(found, 0.55) == 400
    assert texts_to_decide(found, 0.53) == 210  # 204.08
    assert texts_to_decide(Estimate(0.6, 0.5, 0.7, 7), 0.5) == 7
    assert texts_to_decide(found, 0.6) is None
    assert texts_to_decide(found, 0.6001) is None  # a hundred million
    assert texts_to_decide(mean(np.array([1.0])), 0) is None
    assert smallest_visible(found) == pytest.approx(0.1)
    lopsided = Estimate(0.2, 0.1, 0.6, 100)
    assert texts_to_decide(lopsided, 0.3) == 1600  # the side above is .4
    assert texts_to_decide(lopsided, 0.15) == 400  # the side below is .1
    assert texts_to_decide(share(np.zeros(20)), 0.1) == 57  # 0 [0, .168]: 20 · 1.68²
    assert texts_to_decide(Estimate(0.6, 0.5, 0.7, 40), 0.45) == 40


def test_no_zero_has_a_sign() -> None:
    assert str(Estimate(-0.0, -0.0001, -0.01, 3)) == "0.000 [0.000, -0.010]"


# coverage

MEANS = {f"{case.kind}, {case.data}": case for case in texts.mean_cases()}


@pytest.mark.parametrize("n", row.TEXTS)
def test_shares_cover_what_they_promise(n: int) -> None:
    for rate in row.RATES:
        assert_kept(texts.of_shares(rate, n, 2000), 2000)


@pytest.mark.parametrize("name", MEANS)
def test_means_cover_what_they_promise(name: str) -> None:
    for n in (20, 100):
        assert_kept(texts.of_means(MEANS[name], n, 500), 500)


@pytest.mark.slow
@pytest.mark.parametrize("n", row.TEXTS)
@pytest.mark.parametrize("name", MEANS)
def test_means_cover_what_they_promise_in_many_audits(name: str, n: int) -> None:
    assert_kept(texts.of_means(MEANS[name], n, 2000, seed=1), 2000)


@pytest.mark.parametrize("data", ["beta(0.5, 5)", "normal(0.5, 0.1)", "uniform", "τ: 2 beta(6, 3) − 1"])
def test_regular_means_of_400_texts_are_as_narrow_as_a_bootstrap(data: str) -> None:
    found = texts.of_means(MEANS[f"mean, {data}"], 400, 200)
    assert found.width == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("n", row.TEXTS)
def test_ratios_cover_what_they_promise(n: int) -> None:
    for rate in (0.1, 0.5, 1):
        assert_kept(texts.of_ratios(rate, n, 1000), 1000)


@pytest.mark.parametrize("trainings", row.TRAININGS)
def test_two_levels_cover_what_they_promise(trainings: int) -> None:
    for between in (0, 0.1):
        assert_kept(over_trainings.of_two_levels(trainings, 100, between, 200), 200)


@pytest.mark.slow
@pytest.mark.parametrize("n", row.TEXTS)
@pytest.mark.parametrize("trainings", row.TRAININGS)
def test_two_levels_cover_what_they_promise_in_many_audits(trainings: int, n: int) -> None:
    for between in (0.02, 0.1):
        assert_kept(over_trainings.of_two_levels(trainings, n, between, 2000, seed=1), 2000)
    for rate in (0.003, 0.3):
        assert_kept(over_trainings.of_rare_two_levels(trainings, n, rate, 1000, seed=1), 1000)


@pytest.mark.parametrize("decisions", texts.DECISIONS, ids=str)
def test_f1_and_its_differences_cover_what_they_promise(decisions: texts.Decisions) -> None:
    for n in (20, 100):
        for found in texts.of_f1(decisions, n, 200):
            assert_kept(found, 200)


@pytest.mark.parametrize("kind", ["median", "standard deviation"])
@pytest.mark.parametrize("data", texts.SMOOTH)
def test_medians_and_deviations_cover_what_they_promise(kind: str, data: str) -> None:
    for n in (20, 100):
        assert_kept(texts.of_statistic(kind, data, n, 300), 300)


@pytest.mark.slow
@pytest.mark.parametrize("trainings", row.TRAININGS)
def test_figures_of_pairs_cover_what_they_promise(trainings: int) -> None:
    for spread in (0.3, 1):
        for found in over_trainings.of_pairs(trainings, 100, spread, 500):
            assert_kept(found, 500)


@pytest.mark.slow
def test_information_covers_what_it_promises() -> None:
    for follows in (0, 3):
        for found in texts.of_information(follows, 100, 300):
            assert_kept(found, 300)


def test_published_coverage_is_what_is_promised() -> None:
    """docs/coverage.json, which the page of verdicts shows: every kind of interval, at every number of texts."""
    found = json.loads((Path(__file__).parents[2] / "docs" / "coverage.json").read_text(encoding="utf-8"))
    kinds = {(one["kind"], one["n"]) for one in found}
    assert {n for _, n in kinds} == set(row.TEXTS)
    assert len(kinds) == len(row.TEXTS) * len({kind for kind, _ in kinds})
    for one in found:
        assert one["covered"] >= least(one["simulations"]), one
