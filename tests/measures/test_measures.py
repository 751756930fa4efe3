"""Divergences, entropy, intervals, McNemar, information and weighted τ, each against another way to get it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import binomtest, entropy

from attentest.measures.divergences import jsd, kl, tvd
from attentest.measures.entropy import normalised_entropy
from attentest.measures.information import cluster, mutual_information
from attentest.measures.intervals import deviation, mean, median
from attentest.measures.mcnemar import mcnemar_p
from attentest.measures.weighted_tau import weighted_tau


def test_divergences_by_hand() -> None:
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5])
    assert float(tvd(p, q)) == pytest.approx(0.5)  # ½(.25 + .25 + .5)
    assert float(kl(p, q)) == pytest.approx(math.log(2))  # log(.5/.25), whatever the third
    assert float(kl(q, p)) == math.inf
    assert float(kl(p, p)) == 0
    assert float(jsd(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))) == pytest.approx(math.log(2))


def test_divergences_against_scipy() -> None:
    generator = np.random.default_rng(0)
    p, q = generator.dirichlet(np.ones(7), 20), generator.dirichlet(np.ones(7), 20)
    assert jsd(torch.from_numpy(p), torch.from_numpy(q)).numpy() == pytest.approx(jensenshannon(p, q, axis=1) ** 2)
    assert kl(torch.from_numpy(p), torch.from_numpy(q)).numpy() == pytest.approx(entropy(p, q, axis=1))


def test_jsd_has_a_finite_gradient_where_a_weight_is_zero() -> None:
    p = torch.tensor([1.0, 0.0], requires_grad=True)
    jsd(p, torch.tensor([0.5, 0.5])).backward()
    assert p.grad is not None
    assert p.grad.isfinite().all()


def test_entropy() -> None:
    p = torch.tensor([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]], dtype=torch.bool)
    found = normalised_entropy(p, mask)
    assert found[:2].tolist() == pytest.approx([0.5, 0.0])  # log 2 / log 4; one token alone
    assert found[2].isnan()


def test_a_statistic_leaves_out_what_is_not_defined() -> None:
    for kind, plain in ((mean, np.mean), (median, np.median), (deviation, np.std)):
        found = kind(np.array([1.0, np.nan, 3.0]))
        assert (found.value, found.n) == (plain([1, 3]), 2)
        assert math.isnan(kind(np.array([np.nan])).value)


def test_the_median_lies_between_values_that_the_binomial_distribution_names() -> None:
    # of 20 values, 5 or fewer lie below the median in 2.07 % of the samples, 6 or fewer in 5.77 %
    found = median(np.random.default_rng(0).permutation(20).astype(float))
    assert (found.value, found.low, found.high) == (9.5, 5, 14)
    assert median(np.arange(6.0)).low == 0
    assert math.isnan(median(np.arange(5.0)).low)
    many = median(np.arange(5001.0))  # 2^5001 is no float
    assert many.high - many.low == pytest.approx(2 * 1.96 * math.sqrt(5001) / 2, rel=0.02)


def test_few_values_have_a_deviation_without_an_interval() -> None:
    values = np.random.default_rng(0).normal(0, 2, 400)
    found = deviation(values)
    assert found.low < found.value == np.std(values) < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / math.sqrt(800), rel=0.15)  # of normal values
    assert math.isnan(deviation(values[:99]).low)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 3), (10, 2), (700, 800), (5, 1500)])
def test_mcnemar_is_the_exact_binomial_test(first: int, second: int) -> None:
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar_p(first, second) == pytest.approx(expected, rel=1e-6)


def test_mutual_information_by_hand() -> None:
    a = np.array([0, 0, 1, 1])
    assert mutual_information(a, a) == pytest.approx(math.log(2))
    assert mutual_information(a, np.array([0, 1, 0, 1])) == pytest.approx(0)


def test_clusters_find_what_is_apart_and_hold_at_least_two() -> None:
    generator = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 25)
    points = torch.from_numpy(10 * np.eye(4)[truth] + 0.1 * generator.standard_normal((100, 4)))
    labels = cluster(points, 4, seed=0)
    assert mutual_information(labels, truth) == pytest.approx(math.log(4))
    counts = np.bincount(cluster(points, 60, seed=0, fewest=2))
    assert (counts[counts > 0] >= 2).all()
    assert set(cluster(torch.zeros(5, 2), 3, seed=0)) == {0}
    assert np.array_equal(cluster(points, 7, seed=3), cluster(points, 7, seed=3))


def test_weighted_tau_by_hand() -> None:
    # pairs (0,1): agree, weight .5·.3; (0,2): agree, .5·.2; (1,2): disagree, .3·.2: (.15 + .10 − .06)/.31
    found = weighted_tau(np.array([3.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.3, 0.2]))
    assert found == pytest.approx(0.19 / 0.31)
    assert math.isnan(weighted_tau(np.array([1.0]), np.array([1.0]), np.array([1.0])))
