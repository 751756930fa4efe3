"""F1 as a mean over texts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attentest.measures.classification import f1
from attentest.measures.f1 import f1_parts
from attentest.measures.intervals import share
from attentest.studies.cells import f1_over_texts


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_mean_of_what_texts_add_is_f1_and_no_text_leaves_the_bounds(classes: int) -> None:
    generator = np.random.default_rng(classes)
    for n in (5, 40, 300):
        labels, predicted = generator.integers(0, classes, (2, n))
        parts = f1_parts(labels, predicted, classes)
        assert parts.values.mean() == pytest.approx(f1(labels, predicted, classes))
        assert parts.bounds[0] - 1e-12 <= parts.values.min() <= parts.values.max() <= parts.bounds[1] + 1e-12


def test_what_a_text_adds_is_the_derivative_of_f1_by_its_weight() -> None:
    labels, predicted = np.array([1, 1, 0, 1, 0, 0, 2, 2]), np.array([1, 0, 1, 1, 0, 2, 2, 0])
    for classes in (2, 3):
        kept = (labels < classes) & (predicted < classes)
        own, said = labels[kept], predicted[kept]
        found = f1_parts(own, said, classes)
        for text in range(len(own)):
            heavier = np.r_[np.tile(np.arange(len(own)), 10_000), text]  # one weighs 1.0001
            moved = f1(own[heavier], said[heavier], classes) - f1(own, said, classes)
            assert found.values[text] - found.values.mean() == pytest.approx(moved * 10_000 * len(own), abs=1e-3)


def test_an_f1_of_one_has_an_interval() -> None:
    labels = np.arange(40) % 2
    found = f1_over_texts(f1_parts(labels, labels, 2))
    assert (found.value, found.high) == (1, 1)
    # one text in 40 more would be wrong, as of a share that was never seen: 0.088 of texts that weigh 1 each
    assert found.low == pytest.approx(1 - share(np.zeros(40)).high, rel=0.02)


def test_a_class_that_does_not_occur_leaves_f1_without_an_interval() -> None:
    labels, predicted = np.array([0, 1, 0, 1] * 9), np.array([0, 1, 1, 1] * 9)
    found = f1_over_texts(f1_parts(labels, predicted, 3))
    assert found.value == pytest.approx(f1(labels, predicted, 3))
    assert math.isnan(found.low)
    assert not math.isnan(f1_over_texts(f1_parts(labels, predicted, 2)).low)
