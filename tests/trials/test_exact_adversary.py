"""The exact adversary against enumeration and linear programmes, with margins of every size."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from divergence import divergence
from hand_model import HandModel, reading_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import expit, logit

from attentest.trials.adversary import InstanceAdversary
from attentest.trials.reading import Reading

SCALES = (1e-3, 0.1, 1.0, 10.0, 300.0, 1e3, 1e4)


def known(reading: Reading, text: int) -> tuple[np.ndarray, np.ndarray]:
    """A text's margins and weights as the model has them, in float64."""
    length = int(reading.lengths[text])
    assert reading.margins is not None
    weights = reading.weights[text, :length].double().numpy()
    return reading.margins[text, :length].double().numpy(), weights / weights.sum()


def bounds(margins: np.ndarray, weights: np.ndarray, epsilon: float) -> tuple[float, float]:
    own = float(weights @ margins)
    with np.errstate(divide="ignore"):
        ends = (float(logit(max(expit(own) - epsilon, 0.0))), float(logit(min(expit(own) + epsilon, 1.0))))
    return min(ends[0], own), max(ends[1], own)


def twin(margins: np.ndarray, weights: np.ndarray, epsilon: float) -> float:
    """The largest JSD over all vertices of the feasible set, one after the other."""
    low, high = bounds(margins, weights, epsilon)
    best, corners = 0.0, np.eye(len(margins))
    for i, j in itertools.product(range(len(margins)), repeat=2):
        if i == j and low <= margins[i] <= high:
            best = max(best, divergence(corners[i], weights))
        for bound in (low, high):
            if margins[i] < bound < margins[j]:
                share = (margins[j] - bound) / (margins[j] - margins[i])
                best = max(best, divergence(share * corners[i] + (1 - share) * corners[j], weights))
    return best


def scaled_readings(scale: float, seed: int, texts: int = 12, tokens: int = 7) -> Reading:
    """Margins of this size; in half of the texts they cancel under the weights, so that no output is saturated."""
    generator = np.random.default_rng(seed)
    margins, weights = [], []
    for text in range(texts):
        length = int(generator.integers(1, tokens + 1))
        alpha = generator.dirichlet(np.ones(length))
        own = scale * generator.standard_normal(length)
        margins.append((own - alpha @ own if text % 2 else own).tolist())
        weights.append(alpha.tolist())
    return reading_of(HandModel(margins, weights, 0.0))


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("scale", SCALES)
def test_the_optimum_is_that_of_the_twin_whatever_the_scale(scale: float, k: int) -> None:
    for seed, epsilon in itertools.product(range(4), (1e-6, 0.01, 0.3)):
        reading = scaled_readings(scale, seed)
        columns = InstanceAdversary(epsilon=epsilon, k=k).examine(reading)
        for text in range(len(reading.batch)):
            assert columns["max_jsd"][text] == pytest.approx(twin(*known(reading, text), epsilon), abs=2e-6)
        assert (columns["tvd"] <= epsilon * (1 + 1e-6) + 1e-12).all()
        assert (columns["candidates"] >= 1).all()


@pytest.mark.parametrize("scale", SCALES)
def test_no_linear_programme_finds_feasible_weights_that_are_further(scale: float) -> None:
    generator = np.random.default_rng(1)
    reading = scaled_readings(scale, 9, texts=4)
    exact = InstanceAdversary(epsilon=0.01).examine(reading)["max_jsd"]
    for text in range(len(reading.batch)):
        margins, weights = known(reading, text)
        low, high = bounds(margins, weights, 0.01)
        unit = np.abs(margins).max()  # the solver's tolerance is absolute
        rows = [(row, end) for row, end in ((margins, high), (-margins, -low)) if np.isfinite(end)]
        above = {"A_ub": [row / unit for row, _ in rows], "b_ub": [end / unit for _, end in rows]} if rows else {}
        for _ in range(25):
            goal = generator.standard_normal(len(margins))
            found = linprog(goal, A_eq=np.ones((1, len(margins))), b_eq=[1.0], bounds=(0, 1), **above)
            assert found.success
            assert divergence(found.x / found.x.sum(), weights) <= exact[text] + 1e-4


def test_by_hand_with_margins_of_hundreds() -> None:
    # margins 300 and −300 with equal weights: the output is σ(0) = ½, and the bounds are ±logit(.51) = ±.0400053;
    # the vertices mix the two tokens as ½ ± .0400053/600, so the JSD is all but 0: (6.6676e-5)²/2 = 2.22e-9
    columns = InstanceAdversary(epsilon=0.01, k=1).examine(reading_of(HandModel([[300.0, -300.0]], [[0.5, 0.5]])))
    assert columns["max_jsd"][0] == pytest.approx(0, abs=1e-6)
    assert columns["tvd"][0] == pytest.approx(0.01, abs=1e-7)
    assert columns["candidates"][0] == 1


@pytest.mark.parametrize("margin", [-1e4, -300.0, -1.0, 0.0, 1.0, 300.0, 1e4])
def test_one_token_is_its_own_adversary(margin: float) -> None:
    columns = InstanceAdversary(k=1).examine(reading_of(HandModel([[margin]], [[1.0]])))
    assert columns["max_jsd"][0] == pytest.approx(0, abs=1e-6)
    assert columns["tvd"][0] == 0
    assert columns["candidates"][0] == 1


@pytest.mark.parametrize("margin", [-1e4, -300.1, -0.7, 0.0, 1.3, 300.1, 1e4])
def test_equal_margins_leave_every_token_free(margin: float) -> None:
    # all weight may go to the lightest token: JSD = ln 2 + ½ (w ln w − (1 + w) ln (1 + w)) with w = .1
    weights = [0.6, 0.3, 0.1]
    columns = InstanceAdversary(epsilon=1e-9, k=3).examine(reading_of(HandModel([[margin] * 3], [weights])))
    expected = math.log(2) + (0.1 * math.log(0.1) - 1.1 * math.log(1.1)) / 2
    assert columns["max_jsd"][0] == pytest.approx(expected, abs=1e-6)
    assert columns["tvd"][0] == pytest.approx(0, abs=1e-9)
    assert columns["candidates"][0] == 3


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_saturated_output_bounds_weights_on_one_side_only(sign: int) -> None:
    # .5·5000 + .45·500 − .05·1000 = 2675, whose sigmoid is 1: the margin may grow at will and fall to logit(.99) = 4.6
    margins = [sign * m for m in (5000.0, 500.0, -1000.0)]
    columns = InstanceAdversary(epsilon=0.01, k=1).examine(reading_of(HandModel([margins], [[0.5, 0.45, 0.05]])))
    reading = reading_of(HandModel([margins], [[0.5, 0.45, 0.05]]))
    assert columns["max_jsd"][0] == pytest.approx(twin(*known(reading, 0), 0.01), abs=2e-6)
    # the first and the third meet 4.6 with 1/6 and 5/6, which is further than all weight on the second
    assert columns["max_jsd"][0] > divergence(np.array([0, 1.0, 0]), np.array([0.5, 0.45, 0.05]))


TOKENS = st.lists(
    st.tuples(
        st.floats(-1, 1, width=32), st.floats(0, 1, width=32).filter(lambda w: w == 0 or w > 1e-6), st.booleans()
    ),
    min_size=1,
    max_size=6,
).filter(lambda tokens: any(weight > 0 for _, weight, _ in tokens))


@settings(max_examples=300, deadline=None)
@example([(0.0, 1.0, False), (-1.0, 1.0, False), (1.0, 1.0, False), (-1.0, 0.0, False)], 1000.0, 0.5, 1)
@given(TOKENS, st.sampled_from(SCALES), st.sampled_from([1e-12, 1e-6, 0.01, 0.05, 0.5, 0.99]), st.integers(1, 6))
def test_whatever_the_text(tokens: list[tuple[float, float, bool]], scale: float, epsilon: float, k: int) -> None:
    margins = [scale * (round(m) if flat else m) for m, _, flat in tokens]  # many are alike
    weights = np.array([weight for _, weight, _ in tokens])
    reading = reading_of(HandModel([margins], [(weights / weights.sum()).tolist()]))
    furthest = InstanceAdversary(epsilon=epsilon, k=k).furthest(reading)
    found = float(furthest.jsd[0])
    expected = twin(*known(reading, 0), epsilon)
    if found != pytest.approx(expected, abs=5e-6):
        # where a weighting lies on the bound itself, the rounding of a float32 margin decides whether it counts
        rounding = scale * len(tokens) * 2.0**-23 / 4
        least, most = (twin(*known(reading, 0), epsilon + sign * rounding) for sign in (-1, 1))
        assert least < most
        assert least - 5e-6 <= found <= most + 5e-6
    assert float(furthest.tvd[0]) <= epsilon * (1 + 1e-6) + 1e-12
    assert 1 <= int(furthest.candidates[0]) <= k
    assert furthest.weights.isfinite().all()
    assert (furthest.weights >= 0).all()
    assert float(furthest.weights.sum()) == pytest.approx(1, abs=1e-6)


def test_padding_and_batches_change_nothing() -> None:
    alone = [scaled_readings(300.0, seed, texts=1) for seed in range(6)]
    margins = [known(reading, 0)[0].tolist() for reading in alone]
    weights = [reading.weights[0, : len(m)].tolist() for reading, m in zip(alone, margins, strict=True)]
    together = InstanceAdversary(k=3).examine(reading_of(HandModel(margins, weights)))
    for text, reading in enumerate(alone):
        columns = InstanceAdversary(k=3).examine(reading)
        assert columns["max_jsd"][0] == pytest.approx(together["max_jsd"][text], abs=1e-6)
        assert columns["candidates"][0] == together["candidates"][text]


def test_a_search_counts_what_is_within_the_bound_as_it_is() -> None:
    # in float32 the sum of margins of ±9000 is off by about .001, and a TVD at the bound by .0002
    reading = scaled_readings(9000.0, 3)
    furthest = InstanceAdversary(epsilon=0.05, method="search", steps=50, k=4).furthest(reading)
    exact = InstanceAdversary(epsilon=0.05).furthest(reading)
    there = ~furthest.jsd.isnan()
    assert (furthest.tvd[there] <= 0.05 + 1e-5).all()
    assert (furthest.jsd[there] <= exact.jsd[there] + 1e-4).all()
    assert torch.equal(furthest.candidates > 0, there)
