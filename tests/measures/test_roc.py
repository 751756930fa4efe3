"""Areas under the ROC curve and Holm's correction, by hand and by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.coverage import models

from attentest.measures.roc import auroc, roc_curve


def test_area_by_hand() -> None:
    assert auroc(np.array([3.0, 2]), np.array([1.0, 2])).value == pytest.approx(3.5 / 4)  # a tie is half a win
    assert auroc(np.array([3.0, np.nan]), np.array([1.0])).value == 1
    assert math.isnan(auroc(np.array([]), np.array([1.0])).value)


def test_area_under_the_curve_is_the_share_of_wins() -> None:
    generator = np.random.default_rng(0)
    positive, negative = generator.integers(2, 9, 40).astype(float), generator.integers(0, 7, 30).astype(float)
    alarms, hits = roc_curve(positive, negative)
    assert (alarms[0], hits[0], alarms[-1], hits[-1]) == (0, 0, 1, 1)
    wins = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert np.trapezoid(hits, alarms) == pytest.approx(np.mean(wins))
    assert auroc(positive, negative).value == pytest.approx(np.mean(wins))


def test_few_scores_that_are_told_apart_do_not_prove_that_all_are() -> None:
    assert auroc(np.array([3.0, 4, 5]), np.array([0.0, 1, 2])).low < 0.5
    assert auroc(np.arange(200.0) + 200, np.arange(200.0)).low > 0.95


def test_clusters_widen_the_interval() -> None:
    generator = np.random.default_rng(1)
    clusters = np.repeat(np.arange(12), 20)
    common = generator.normal(0, 1, 12)[clusters]
    positive = 1 + common + generator.normal(0, 0.2, 240)
    negative = generator.normal(0, 1, 12)[clusters] + generator.normal(0, 0.2, 240)
    alone, together = auroc(positive, negative), auroc(positive, negative, (clusters, clusters + 100))
    assert alone.value == together.value
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert together == auroc(positive, negative, (clusters, clusters + 100))  # the same every time


def test_few_clusters_that_are_told_apart_do_not_prove_that_all_are() -> None:
    clusters = np.arange(3)
    positive, negative = np.array([3.0, 4, 5]), np.array([0.0, 1, 2])
    found = auroc(positive, negative, (clusters, clusters + 3))
    assert (found.value, found.high) == (1, 1)
    assert found.low == auroc(positive, negative).low < 0.5


def test_areas_cover_what_they_promise() -> None:
    for apart in (0, 1.5):
        assert models.of_areas(apart, 30, 200).covered >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 200)
        assert models.of_clustered_areas(apart, 10, 100, 200).covered >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 200)
