"""Information under the weights against loops, and the jackknife against Student's interval."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import t as student

from attentest.measures import informed
from attentest.measures.informed import states
from attentest.measures.jackknife import jackknife


def drawn(texts: int, items: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    kinds, outputs = generator.integers(0, 4, (texts, items)), generator.integers(0, 3, texts)
    weights = generator.dirichlet(np.ones(items), texts)
    weights[0, items - 2 :] = -1  # a shorter text
    return kinds, weights, generator.random((texts, items)), outputs


def twin(kinds: np.ndarray, weights: np.ndarray, outputs: np.ndarray, by_chance: np.ndarray) -> list[float]:
    """More and most, text by text and item by item."""
    n = len(outputs)
    overall = {y: c / n for y, c in Counter(outputs.tolist()).items()}
    entropy = -sum(p * math.log(p) for p in overall.values())
    more, most = [], []
    for text in range(n):
        items = [i for i in range(kinds.shape[1]) if weights[text, i] >= 0]
        found = []
        for i in items:
            others = Counter(
                int(outputs[t])
                for t in range(n)
                for j in range(kinds.shape[1])
                if t != text and weights[t, j] >= 0 and kinds[t, j] == kinds[text, i]
            )
            total = sum(others.values())
            found.append(sum(c / total * math.log(c / total / overall[y]) for y, c in others.items()))
            found[-1] -= by_chance[kinds[text, i]]
        equal, mass = sum(found) / len(items), sum(weights[text, i] for i in items)
        more.append(sum(weights[text, i] * f for i, f in zip(items, found, strict=True)) / mass - equal)
        most.append(max(found) - equal)
    return [float(np.mean(values)) / entropy for values in (more, most)]


@pytest.mark.parametrize("seed", range(4))
def test_against_loops_over_texts_and_items(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informed, "PERMUTATIONS", 3)
    kinds, weights, draws, outputs = drawn(12, 6, seed)
    by_chance = np.zeros(4)
    generator = np.random.default_rng(seed)
    one_hot = np.eye(3)[outputs]
    for _ in range(3):
        permuted = generator.permutation(one_hot).argmax(1)
        for kind in range(4):
            seen = Counter(
                int(permuted[t]) for t in range(12) for j in range(6) if weights[t, j] >= 0 and kinds[t, j] == kind
            )
            total = sum(seen.values())
            by_chance[kind] += sum(
                c / total * math.log(c / total / float((outputs == y).mean())) for y, c in seen.items()
            )
    found = states(kinds, weights, draws, outputs).informed(np.ones(12, bool), seed)
    assert found[[0, 2]] == pytest.approx(twin(kinds, weights, outputs, by_chance / 3))


def test_permuted_weights_are_the_same_weights_on_the_items_that_there_are() -> None:
    _, weights, draws, outputs = drawn(12, 6, 0)
    apart = np.tile(np.arange(6), (12, 1))  # each item a kind of its own
    found = states(apart, weights, draws, outputs)
    assert found.others == pytest.approx(np.where(found.counts > 0, found.others, 0))
    assert np.sort(found.others, 1) == pytest.approx(np.sort(found.weights, 1))
    assert not np.allclose(found.others, found.weights)


def test_weights_on_the_state_that_decides_and_next_to_it() -> None:
    generator = np.random.default_rng(0)
    outputs = generator.integers(0, 2, 400)
    kinds = generator.integers(2, 6, (400, 5))
    kinds[:, 0] = outputs  # the first state tells the output
    draws, every = generator.random((400, 5)), np.ones(400, bool)
    on, off = np.eye(5)[np.zeros(400, int)], np.eye(5)[np.ones(400, int)]
    more, null, most = states(kinds, on, draws, outputs).informed(every, 0)
    assert more == pytest.approx(most)
    assert more == pytest.approx(0.8, abs=0.03)  # all of the entropy, less a fifth of it under equal weights
    assert abs(null) < 0.06
    assert states(kinds, off, draws, outputs).informed(every, 0)[0] == pytest.approx(-0.2, abs=0.03)


def test_no_entropy_no_figure() -> None:
    kinds, weights, draws, outputs = drawn(12, 6, 0)
    found = states(kinds, weights, draws, np.zeros_like(outputs)).informed(np.ones(12, bool), 0)
    assert np.isnan(found).all()


def test_the_jackknife_of_a_mean_is_student_s_interval_of_the_means_of_groups() -> None:
    values = np.random.default_rng(0).standard_normal(200)
    (found,) = jackknife(lambda kept: np.array([values[kept].mean()]), 200)
    groups = values.reshape(10, 20).mean(0)
    low, high = student.interval(0.95, 19, values.mean(), groups.std(ddof=1) / math.sqrt(20))
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.n == 200


def test_fewer_than_a_hundred_texts_have_no_interval() -> None:
    (found,) = jackknife(lambda kept: np.array([kept.mean()]), 99)
    assert (found.value, found.n) == (1, 99)
    assert np.isnan(found.low)
