"""Agreement of annotators: published worked examples, twins that count pairs, gaps, and what is not defined."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from attentest.errors import InputError
from attentest.measures.raters import (
    COEFFICIENTS,
    agreements,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)

# Fleiss 1971, Table 1: how many of 6 psychiatrists gave each of 30 patients each of 5 diagnoses
FLEISS = [
    *([0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0]),
    *([0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0]),
    *([0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0]),
    *([0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0]),
    *([1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
]
# Krippendorff 2011, example C: four observers, twelve units, gaps
FOUR_OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def items(counts: list[list[int]]) -> list[list[int]]:
    """The answers of each item, in any order of annotators."""
    return [[category for category, number in enumerate(row) for _ in range(number)] for row in counts]


def pairs(table: list[list[int]]) -> list[tuple[int, int]]:
    """Answers of two annotators from their table."""
    return [(a, b) for a, row in enumerate(table) for b, number in enumerate(row) for _ in range(number)]


def test_fleiss_1971() -> None:
    found = fleiss_kappa(items(FLEISS))
    shares = [Fraction(sum(column), 180) for column in zip(*FLEISS, strict=True)]
    assert [round(float(share), 3) for share in shares] == [0.144, 0.144, 0.167, 0.306, 0.239]  # as printed there
    observed = Fraction(sum(n * (n - 1) for row in FLEISS for n in row), 30 * 6 * 5)
    chance = sum(share * share for share in shares)
    assert found.value == pytest.approx(float((observed - chance) / (1 - chance)), abs=1e-9)
    assert round(found.value or 0, 3) == 0.430
    assert found.estimate is not None
    assert found.estimate.low < 0.43 < found.estimate.high
    assert percent_agreement(items(FLEISS)).value == pytest.approx(float(observed), abs=1e-9)
    assert round(float(observed), 3) == 0.556


def test_krippendorff_2011() -> None:
    """(n − 1) Σ o_cc − Σ n_c (n_c − 1) over n (n − 1) − Σ n_c (n_c − 1): n = 40, Σ o_cc = 32, n_c = 9 13 10 5 3."""
    found = krippendorff_alpha(list(zip(*FOUR_OBSERVERS, strict=True)))
    by_category = 9 * 8 + 13 * 12 + 10 * 9 + 5 * 4 + 3 * 2
    exact = Fraction(39 * 32 - by_category, 40 * 39 - by_category)
    assert exact == Fraction(113, 152)
    assert found.value == pytest.approx(float(exact), abs=1e-9)
    assert round(found.value or 0, 3) == 0.743


def test_cohen_1960() -> None:
    """200 patients, two judges, three categories: .70 observed, .41 by chance, κ = .492."""
    found = cohen_kappa(pairs([[88, 14, 18], [10, 40, 10], [2, 6, 12]]))
    assert found.value == pytest.approx(29 / 59, abs=1e-9)
    assert round(found.value or 0, 3) == 0.492


def test_gwet_2008_with_gaps() -> None:
    """The four observers of Krippendorff in Gwet's handbook: AC1 .77544, Fleiss' κ .76117, agreement .81818."""
    answers = list(zip(*FOUR_OBSERVERS, strict=True))
    by_item = [[value for value in row if value is not None] for row in answers]
    several = [row for row in by_item if len(row) > 1]
    agreeing = [Fraction(sum(a == b for a, b in combinations(r, 2)), len(r) * (len(r) - 1) // 2) for r in several]
    observed = sum(agreeing) / len(several)
    shares = [sum(Fraction(row.count(c), len(row)) for row in by_item) / len(by_item) for c in range(1, 6)]
    for found, chance, published in (
        (gwet_ac1(answers), sum(p * (1 - p) for p in shares) / 4, 0.77544),
        (fleiss_kappa(answers), sum(p * p for p in shares), 0.76117),
        (percent_agreement(answers), Fraction(0), 0.81818),
    ):
        assert found.value == pytest.approx(float((observed - chance) / (1 - chance)), abs=1e-9)
        assert round(found.value or 0, 5) == published


def test_gwet_2002_where_kappa_breaks_down() -> None:
    """Two annotators agree on 118 of 125 items, nearly all in one category: κ −.0234, AC1 .9408."""
    answers = pairs([[118, 5], [2, 0]])
    ac1, kappa = gwet_ac1(answers).value, cohen_kappa(answers).value
    share = Fraction(243, 250)
    chance = 2 * share * (1 - share)
    assert ac1 == pytest.approx(float((Fraction(118, 125) - chance) / (1 - chance)), abs=1e-9)
    assert (round(ac1 or 0, 4), round(kappa or 0, 4)) == (0.9408, -0.0234)


def test_two_abstractors_of_the_handbook() -> None:
    """Gwet 2014: 100 pregnancies, two abstractors, Cohen's κ .7964094."""
    assert cohen_kappa(pairs([[13, 0, 0], [0, 20, 7], [0, 4, 56]])).value == pytest.approx(0.7964094, abs=5e-8)


def random_answers(seed: int, gaps: float) -> list[list[Any]]:
    generator = np.random.default_rng(seed)
    number = int(generator.integers(3, 60))
    truth = generator.integers(0, 3, number)
    table = np.where(generator.random((4, number)) < 0.6, truth, generator.integers(0, 3, (4, number))).T
    return [[None if generator.random() < gaps else int(value) for value in row] for row in table]


@pytest.mark.parametrize("seed", range(10))
def test_pairs_counted_one_by_one(seed: int) -> None:
    answers = random_answers(seed, 0.3)
    given = [[value for value in row if value is not None] for row in answers]
    several = [row for row in given if len(row) > 1]
    shares = [np.mean([a == b for a, b in combinations(row, 2)]) for row in several]
    assert percent_agreement(answers).value == pytest.approx(np.mean(shares), abs=1e-12)
    # Krippendorff's α as its definition has it: over ordered pairs of answers, within items and among all of them
    every = [value for row in several for value in row]
    within = sum(sum(a != b for a, b in combinations(row, 2)) * 2 / (len(row) - 1) for row in several) / len(every)
    among = sum(a != b for a, b in combinations(every, 2)) * 2 / (len(every) * (len(every) - 1))
    assert krippendorff_alpha(answers).value == pytest.approx(1 - within / among, abs=1e-12)
    # Cohen's κ of every pair of annotators, as scikit-learn computes it
    kappas = []
    for first, second in combinations(range(4), 2):
        both = [(row[first], row[second]) for row in answers if None not in (row[first], row[second])]
        if both and len({value for pair in both for value in pair}) > 1:
            kappas.append(cohen_kappa_score(*zip(*both, strict=True)))
    assert cohen_kappa(answers).value == pytest.approx(np.mean(kappas), abs=1e-12)


@pytest.mark.parametrize("coefficient", range(len(COEFFICIENTS)))
def test_intervals_come_from_resampled_items(coefficient: int) -> None:
    """The limits are about those of a plain loop that draws items again."""
    answers = random_answers(2, 0.1)
    found = agreements(answers, seed=1)[coefficient].estimate
    assert found is not None
    generator = np.random.default_rng(5)
    drawn = []
    for _ in range(300):
        sample = [answers[i] for i in generator.integers(0, len(answers), len(answers))]
        value = agreements(sample[:], (0, 1, 2), seed=0)[coefficient].value
        assert value is not None
        drawn.append(value)
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.04)
    assert agreements(answers, seed=1) == agreements(answers, seed=1)
    assert agreements(answers, seed=1)[coefficient] != agreements(answers, seed=2)[coefficient]


def test_what_is_not_defined_says_why() -> None:
    one = agreements([[1], [2], [1]])
    assert [(found.value, found.why) for found in one] == [(None, "there is one annotator")] * 5
    assert {found.why for found in agreements([[1, None], [None, 2]])} == {"no item was answered by two annotators"}
    assert {found.why for found in agreements(np.zeros((0, 2)))} == {"nobody answered"}
    percent, *kappas = agreements([[1, 1]] * 30)
    assert (percent.value, percent.why) == (1, "")
    assert all(found.value is None and "one category" in found.why for found in kappas)
    assert str(kappas[0]).startswith("not defined: all answers")
    # where the other answer was possible, AC1 is defined: chance agreement is 0
    assert gwet_ac1([[1, 1]] * 30, (1, 2)).value == 1
    assert fleiss_kappa([[1, 1]] * 30, (1, 2)).value is None
    # a matrix of floats with NaN is one with gaps
    assert krippendorff_alpha(np.array([[1, 1], [2, np.nan], [2, 2], [1, 2]])).value is not None


def test_few_items_have_a_value_without_an_interval() -> None:
    found = fleiss_kappa([[1, 1], [2, 2], [1, 2]])
    assert found.estimate is not None
    assert np.isnan(found.estimate.low)
    assert "fewer than 25" in str(found)
    rare = cohen_kappa([[1, 1]] * 60 + [[2, 1]])  # most samples have one category
    assert rare.estimate is not None
    assert np.isnan(rare.estimate.low)
    assert "nearly all" in rare.why


def test_answers_of_another_form() -> None:
    with pytest.raises(InputError, match="items × annotators"):
        agreements([1, 2, 3])  # type: ignore[list-item]
    with pytest.raises(InputError, match="none of the categories"):
        agreements([[1, 2]], (0, 1))
