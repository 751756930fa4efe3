"""Exact and closed-form paths against brute force, the general path, and numbers worked by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hand_model import HandModel, OpaqueModel, random_readings, reading_of

from attentest.measures.divergences import jsd, tvd
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.adversary_vertices import best_vertices
from attentest.trials.importance_sets import ImportanceSets, first_flip
from attentest.trials.permutation import Permutation
from attentest.trials.removal import Flips, Removal
from attentest.trials.scores import hidden_leave_one_out
from attentest.trials.uniform import Uniform


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# Three tokens with margins 2, 0, −1 and weights .5, .3, .2: the margin is .5·2 + .3·0 + .2·(−1) = .8.
MARGINS, WEIGHTS = [2.0, 0.0, -1.0], [0.5, 0.3, 0.2]


def by_hand(kind: type[OpaqueModel] = HandModel) -> OpaqueModel:
    return kind([MARGINS], [WEIGHTS])


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_decoding_by_hand(kind: type[OpaqueModel]) -> None:
    reading = reading_of(by_hand(kind))
    assert reading.logits[0].tolist() == pytest.approx([0, 0.8])
    others = torch.tensor([[[1.0, 0, 0], [0, 0.5, 0.5]]])
    assert reading.decode(others)[0, :, 1].tolist() == pytest.approx([2, -0.5])


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_uniform_by_hand(kind: type[OpaqueModel]) -> None:
    # uniform weights give (2 + 0 − 1)/3 = 1/3
    columns = Uniform().examine(reading_of(by_hand(kind)))
    assert columns["tvd_uniform"][0] == pytest.approx(sigmoid(0.8) - sigmoid(1 / 3), abs=1e-6)
    assert columns["right_uniform"][0]


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_removal_and_flips_by_hand(kind: type[OpaqueModel]) -> None:
    # without the heaviest (0): (.3·0 + .2·(−1))/.5 = −.4: the decision flips
    # without token 1: (1 − .2)/.7 = 8/7; without token 2: 1/.8 = 1.25: neither flips
    reading = reading_of(by_hand(kind))
    columns = Flips().examine(reading)
    assert columns["flip_heaviest"].tolist() == [True]
    assert columns["flip_random"].tolist() == [False]
    p = torch.tensor([1 - sigmoid(0.8), sigmoid(0.8)])
    without_0 = torch.tensor([1 - sigmoid(-0.4), sigmoid(-0.4)])
    removal = Removal().examine(reading)
    assert removal["js_heaviest"][0] == pytest.approx(float(jsd(p, without_0)), abs=1e-6)
    others = {
        round(float(jsd(p, torch.tensor([1 - sigmoid(m), sigmoid(m)]))), 5): w for m, w in ((8 / 7, 0.3), (1.25, 0.2))
    }
    found = round(float(removal["js_random"][0]), 5)
    assert found in others
    assert removal["delta_attention"][0] == pytest.approx(0.5 - others[found])


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_importance_sets_by_hand(kind: type[OpaqueModel]) -> None:
    # by attention: token 0 goes first and the decision flips: 1 of 3
    # by token 2, 1, 0: 1.25, then 2, then nothing may go: never
    reading = reading_of(by_hand(kind))
    assert first_flip(reading, torch.tensor([[3.0, 2.0, 1.0]])).tolist() == [1.0]
    assert first_flip(reading, torch.tensor([[1.0, 2.0, 3.0]])).isnan().tolist() == [True]
    assert ImportanceSets().examine(reading)["attention"][0] == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_hidden_leave_one_out_by_hand(kind: type[OpaqueModel]) -> None:
    found = hidden_leave_one_out(reading_of(by_hand(kind)))[0].tolist()
    expected = [abs(sigmoid(0.8) - sigmoid(m)) for m in (-0.4, 8 / 7, 1.25)]
    assert found == pytest.approx(expected, abs=1e-6)


def test_adversary_by_hand() -> None:
    # with ε = .01 around σ(.8) no token alone is inside; the mixture of token 0 and token 2 that keeps the margin at m
    # has the share (m + 1)/3 on token 0, of 0 and 1 the share m/2; JSD decides between them
    epsilon = 0.01
    best = 0.0
    for sign in (-1, 1):
        margin = math.log((sigmoid(0.8) + sign * epsilon) / (1 - sigmoid(0.8) - sign * epsilon))
        for candidate in ([(margin + 1) / 3, 0, (2 - margin) / 3], [margin / 2, 1 - margin / 2, 0]):
            best = max(best, float(jsd(torch.tensor(candidate), torch.tensor(WEIGHTS))))
    columns = InstanceAdversary(epsilon=epsilon).examine(reading_of(by_hand()))
    assert columns["max_jsd"][0] == pytest.approx(best, abs=1e-6)
    assert columns["tvd"][0] == pytest.approx(epsilon, abs=1e-5)
    assert columns["candidates"][0] == 4


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_weights_beat_the_exact_adversary(seed: int) -> None:
    reading, _ = random_readings(6, 5, seed)
    epsilon = 0.05
    exact = InstanceAdversary(epsilon=epsilon).examine(reading)
    generator = np.random.default_rng(seed)
    for text, length in enumerate(reading.lengths.tolist()):
        draws = torch.zeros(1, 40_000, reading.mask.shape[1])
        draws[0, :, :length] = torch.from_numpy(generator.dirichlet(np.full(length, 0.3), 40_000)).float()
        change = tvd(reading.decode(draws, torch.tensor([text])).softmax(-1), reading.probabilities[text])
        distance = torch.where(change[0] <= epsilon, jsd(draws[0], reading.weights[text]), -1)
        assert float(distance.max()) <= exact["max_jsd"][text] + 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_exact_adversary_is_never_worse_than_the_search(seed: int) -> None:
    reading, _ = random_readings(12, 9, seed)
    exact = InstanceAdversary().examine(reading)
    search = InstanceAdversary(method="search", steps=300).examine(reading)
    found = ~np.isnan(search["max_jsd"])
    assert found.any()
    assert (search["max_jsd"][found] <= exact["max_jsd"][found] + 1e-4).all()
    assert (exact["tvd"] <= 0.01 + 1e-5).all()


def test_vertices_are_distinct_distributions_best_first() -> None:
    reading, _ = random_readings(10, 8, 0)
    found, count = best_vertices(reading, 0.05, 4)
    assert (found >= 0).all()
    assert torch.allclose(found.sum(-1), torch.ones(10, 4, dtype=found.dtype), atol=1e-6)
    assert not found.masked_select(~reading.mask.unsqueeze(1)).any()
    distance = jsd(found, reading.weights.unsqueeze(1).double())
    for text in range(10):
        there = int(count[text])
        assert (distance[text, : there - 1] >= distance[text, 1:there] - 1e-6).all()
        pairs = itertools.combinations(found[text, :there], 2)
        assert all(not torch.allclose(a, b, atol=1e-7) for a, b in pairs)


@pytest.mark.parametrize("seed", range(6))
def test_general_and_closed_paths_agree(seed: int) -> None:
    known, opaque = random_readings(20, 7, seed)
    assert opaque.token_logits is None
    for trial in (Uniform(), Permutation(permutations=20), Removal(), Flips(), ImportanceSets()):
        ours, general = trial.examine(known), trial.examine(opaque)
        for name in general:
            assert np.allclose(
                np.asarray(ours[name], float), np.asarray(general[name], float), atol=1e-5, equal_nan=True
            ), name
    assert torch.allclose(hidden_leave_one_out(known), hidden_leave_one_out(opaque), atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_the_smallest_set_that_flips(seed: int) -> None:
    reading, _ = random_readings(10, 7, seed)
    assert reading.margins is not None
    optimum = ImportanceSets().examine(reading)["optimum"] * reading.lengths.numpy()
    for text, length in enumerate(reading.lengths.tolist()):
        weights, margins = reading.weights[text].double(), reading.margins[text].double()
        smallest = math.nan
        for size in range(1, length):
            for gone in itertools.combinations(range(length), size):
                kept = [i for i in range(length) if i not in gone]
                if float(weights[kept].sum()) > 0:
                    margin = float((weights[kept] * margins[kept]).sum() / weights[kept].sum())
                    if int(margin > 0) != int(reading.predicted[text]):
                        smallest = min(size, smallest) if not math.isnan(smallest) else size
        assert optimum[text] == pytest.approx(smallest, nan_ok=True)


@pytest.mark.parametrize("seed", range(3))
def test_permutation_against_loops(seed: int) -> None:
    reading, _ = random_readings(8, 3, seed)
    assert reading.margins is not None
    found = Permutation(permutations=4000).examine(reading)["median_tvd"]
    for text, length in enumerate(reading.lengths.tolist()):
        changes = []
        for order in itertools.permutations(range(length)):
            margin = float((reading.weights[text, list(order)] * reading.margins[text, :length]).sum())
            changes.append(abs(sigmoid(margin) - float(reading.probabilities[text, 1])))
        # with every permutation equally likely, the median of many draws is a middle value of all six
        ordered = sorted(changes)
        middle = len(ordered) // 2
        assert ordered[max(0, middle - 1)] - 1e-6 <= found[text] <= ordered[min(middle, len(ordered) - 1)] + 1e-6
