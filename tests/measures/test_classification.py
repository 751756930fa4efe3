"""Accuracy, F1 and AUC against scikit-learn, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from attentest.measures.classification import accuracy, auc, classification_metrics, f1


def random_data(seed: int, classes: int, rows: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities with many ties: every score is one of a few levels before it is normalised."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    scores = generator.integers(1, levels + 1, (rows, classes)) / levels
    return labels, scores / scores.sum(1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 5])
@settings(max_examples=80, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 60), levels=st.sampled_from([1, 2, 4, 1000]))
def test_equals_scikit_learn(classes: int, seed: int, rows: int, levels: int) -> None:
    labels, probabilities = random_data(seed, classes, rows, levels)
    predicted = probabilities.argmax(1)
    average = "binary" if classes == 2 else "macro"
    wanted = metrics.f1_score(labels, predicted, labels=range(classes), average=average, zero_division=0)
    assert accuracy(labels, predicted) == pytest.approx(metrics.accuracy_score(labels, predicted), abs=1e-12)
    assert f1(labels, predicted, classes) == pytest.approx(wanted, abs=1e-12)
    areas = [
        metrics.roc_auc_score(labels == c, probabilities[:, c])
        for c in ([1] if classes == 2 else range(classes))
        if 0 < (labels == c).sum() < rows
    ]
    if areas:
        assert auc(labels, probabilities) == pytest.approx(np.mean(areas), abs=1e-12)
    else:
        assert math.isnan(auc(labels, probabilities))


def test_auc_of_many_classes_is_one_against_the_rest() -> None:
    labels, probabilities = random_data(3, 5, 200, 50)
    assert set(labels) == set(range(5))
    wanted = metrics.roc_auc_score(labels, probabilities, multi_class="ovr", average="macro")
    assert auc(labels, probabilities) == pytest.approx(wanted, abs=1e-12)


def test_classes_that_never_occur_or_are_never_predicted() -> None:
    labels = np.array([0, 0, 1, 1, 3])
    predicted = np.array([0, 1, 1, 1, 0])
    # class 0: 1 hit of 2 predicted and 2 real: 2·1/4; class 1: 2·2/(3 + 2); class 3: no hit; 2 and 4: nowhere
    assert f1(labels, predicted, 5) == pytest.approx((0.5 + 0.8 + 0 + 0 + 0) / 5)
    # nothing predicted as the positive class, nothing of it there, and neither
    assert f1(np.array([0, 1]), np.array([0, 0]), 2) == 0
    assert f1(np.array([0, 0]), np.array([0, 1]), 2) == 0
    assert f1(np.array([0, 0]), np.array([0, 0]), 2) == 0
    # a class with no rows has no area; the others have theirs: 0 and 1 perfect, 2 absent
    probabilities = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    assert auc(np.array([0, 0, 1]), probabilities) == 1


def test_numbers_worked_by_hand() -> None:
    labels = np.array([1, 1, 1, 0, 0])
    score = np.array([0.9, 0.5, 0.2, 0.5, 0.1])
    probabilities = np.stack((1 - score, score), 1)
    # pairs (positive, negative): .9 beats both; .5 ties .5 and beats .1; .2 loses and beats: 2 + 1.5 + 1 of 6
    assert auc(labels, probabilities) == pytest.approx(4.5 / 6)
    # argmax takes the first class of a tie: predicted 1 0 0 0 0; right: the first and the last two
    found = classification_metrics(labels, probabilities)
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["f1"] == pytest.approx(2 * 1 / (1 + 3))  # 2·hit / (predicted + real)
    assert found["auc"] == pytest.approx(4.5 / 6)
    # three classes: hits 1, 1, 0; predicted 2, 2, 0; real 1, 2, 1
    assert f1(np.array([0, 1, 1, 2]), np.array([0, 1, 0, 1]), 3) == pytest.approx((2 / 3 + 2 / 4 + 0) / 3)


def test_auc_at_its_ends() -> None:
    labels = np.array([0, 0, 1, 1])
    for score, wanted in (([0.1, 0.2, 0.3, 0.4], 1), ([0.4, 0.3, 0.2, 0.1], 0), ([0.5] * 4, 0.5)):
        one = np.array(score)
        assert auc(labels, np.stack((1 - one, one), 1)) == wanted


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("label", [0, 1])
def test_auc_with_one_class_is_nan(classes: int, label: int) -> None:
    probabilities = random_data(1, classes, 20, 10)[1]
    assert math.isnan(auc(np.full(20, label), probabilities))
    assert math.isnan(classification_metrics(np.full(20, label), probabilities)["auc"])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_the_width_of_the_labels_does_not_matter(kind: type) -> None:
    labels, probabilities = random_data(2, 20, 300, 100)
    predicted = probabilities.argmax(1)
    wanted = metrics.f1_score(labels, predicted, average="macro")
    assert f1(labels.astype(kind), predicted.astype(kind), 20) == pytest.approx(wanted, abs=1e-12)
    assert classification_metrics(labels.astype(kind), probabilities) == classification_metrics(labels, probabilities)


def test_order_of_rows_does_not_matter() -> None:
    labels, probabilities = random_data(4, 5, 100, 6)
    order = np.random.default_rng(0).permutation(100)
    assert classification_metrics(labels[order], probabilities[order]) == pytest.approx(
        classification_metrics(labels, probabilities), abs=1e-12
    )
