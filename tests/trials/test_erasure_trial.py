"""Erasure against loops over single texts, and against numbers worked by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from word_model import WordModel, random_words, reading_of_words

import attentest
from attentest.measures.intervals import Estimate
from attentest.trials import Subject, hold, make_trial, subject_of
from attentest.trials.erasure import SIDES, Erasure, losses
from attentest.trials.rankings import random_ranks, ranks_by
from attentest.trials.reading import Reading
from attentest.trials.scores import ScoreSettings


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def examined(reading: Reading, **settings: Any) -> dict[str, np.ndarray]:
    model = cast(Any, reading.model)
    subject = cast(Subject, type("Accused", (), {"model": model, "chosen_site": "token"}))
    return dict(make_trial("erasure", **settings).examiner(subject).examine(reading))


def probability(model: WordModel, text: list[int], label: int) -> float:
    """With sums over words, one text at a time."""
    weights = [math.exp(float(model.scores[word])) for word in text]
    margin = sum(w * float(model.margins[word]) for w, word in zip(weights, text, strict=True)) / sum(weights)
    return sigmoid(margin) if label == 1 else 1 - sigmoid(margin)


def test_by_hand() -> None:
    # Words 0 to 3 with margins 4, 1, −1, 0 and the same scores: every α is 1/4 and the margin 1, so class 1 is decided.
    # Half of the tokens, ranked 1, 0, 2, 3: without words 1 and 0 the margin is (−1 + 0)/2, with these alone (1 + 4)/2.
    # A quarter: without word 1 it is (4 − 1 + 0)/3 = 1, with it alone 1: nothing is lost.
    reading = reading_of_words(WordModel([4.0, 1.0, -1.0, 0.0], [0.0] * 4), [[0, 1, 2, 3]])
    lost = losses(reading, torch.tensor([[[1, 0, 2, 3]]]), (0.5, 0.25))
    assert lost[0, 0, 0].tolist() == pytest.approx([sigmoid(1) - sigmoid(-0.5), 0], abs=1e-6)
    assert lost[1, 0, 0].tolist() == pytest.approx([sigmoid(1) - sigmoid(2.5), 0], abs=1e-6)


def test_columns_by_hand() -> None:
    # One word decides (margin 6) and has nearly all the weight; attention and leave-one-out rank it first.
    model = WordModel([6.0, 0.0, 0.0], [2.0, 1.0, 0.0])
    columns = examined(reading_of_words(model, [[2, 0, 1]]), fractions=[0.1], draws=2)
    own = probability(model, [2, 0, 1], 1)
    for name in ("attention", "leave-one-out"):
        assert columns[f"comprehensiveness, {name}"][0] == pytest.approx(own - 0.5, abs=1e-6)  # margin 0 is left
        assert columns[f"sufficiency, {name}"][0] == pytest.approx(own - sigmoid(6), abs=1e-6)
        assert columns[f"normalised comprehensiveness, {name}"][0] == pytest.approx(1)
        assert columns[f"normalised sufficiency, {name}"][0] == pytest.approx(1)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_against_loops_over_texts(seed: int, tied: bool) -> None:
    model, texts = random_words(12, 23, seed, tied)
    texts.append([3])
    reading = reading_of_words(model, texts)
    fractions = (0.01, 0.1, 0.34, 0.5, 1.0)
    columns = examined(reading, fractions=list(fractions), draws=2, seed=seed)
    settings = ScoreSettings(seed=seed)
    greedy = ranks_by(reading, "leave-one-out-signed", settings)
    for place, text in enumerate(texts):
        if len(text) == 1:
            assert all(math.isnan(values[place]) for values in columns.values())
            continue
        label, n = int(reading.predicted[place]), len(text)
        own = probability(model, text, label)

        def area(ranks: list[int], text: list[int] = text, own: float = own, label: int = label) -> list[list[float]]:
            both: list[list[float]] = [[], []]
            for fraction in fractions:
                count = min(max(1, math.ceil(round(fraction * len(text), 6))), len(text) - 1)
                first = [word for word, rank in zip(text, ranks, strict=True) if rank < count]
                rest = [word for word in text if word not in first]
                both[0].append(own - probability(model, rest, label))
                both[1].append(own - probability(model, first, label))
            return both

        rankings = {
            name: ranks_by(reading, name, settings)[place, :n].tolist() for name in ("attention", "leave-one-out")
        }
        drawn = [random_ranks(reading, seed, draw)[place, :n].tolist() for draw in range(2)]
        order = greedy[place, :n].tolist()
        bounds = [*rankings.values(), *drawn, order, [n - 1 - rank for rank in order]]
        for index, side in enumerate(SIDES):
            found = [np.mean(area(ranks)[index]) for ranks in bounds]
            best, worst = (max(found), min(found)) if index == 0 else (min(found), max(found))
            for name, ranks in rankings.items():
                lost = area(ranks)[index]
                assert columns[f"{side}, {name}"][place] == pytest.approx(np.mean(lost), abs=2e-6)
                for fraction, one in zip(fractions, lost, strict=True):
                    assert columns[f"{side}, {name}, {100 * fraction:g} %"][place] == pytest.approx(one, abs=2e-6)
                if abs(best - worst) > 1e-3:
                    expected = (np.mean(lost) - worst) / (best - worst)
                    assert columns[f"normalised {side}, {name}"][place] == pytest.approx(expected, abs=1e-2)
            chance = np.mean([np.mean(area(ranks)[index]) for ranks in drawn])
            assert columns[f"{side}, random"][place] == pytest.approx(chance, abs=2e-6)


def test_ranks_are_those_of_the_scores_and_ties_do_not_follow_the_text() -> None:
    model, texts = random_words(40, 12, 0)
    reading = reading_of_words(model, texts)
    ranks = ranks_by(reading, "attention", ScoreSettings())
    for place, text in enumerate(texts):
        falling = sorted(text, key=lambda word: -float(model.scores[word]))
        assert [falling.index(word) for word in text] == ranks[place, : len(text)].tolist()
    alike = reading_of_words(WordModel([0.0] * 8, [0.0] * 8), [list(range(8))] * 400)
    first = ranks_by(alike, "attention", ScoreSettings()).argmin(1)
    assert np.bincount(first.numpy(), minlength=8).min() > 25  # 50 expected
    others = ranks_by(alike, "leave-one-out", ScoreSettings()).argmin(1)
    assert 0.05 < float((first == others).double().mean()) < 0.25  # ties of two measures have nothing in common


def test_the_same_shortened_text_is_read_once() -> None:
    model, texts = random_words(20, 9, 1)
    reading = reading_of_words(model, texts)
    ranks = ranks_by(reading, "attention", ScoreSettings())
    model.texts = 0
    one = losses(reading, ranks[None], (0.5,))
    once = model.texts
    model.texts = 0
    several = losses(reading, ranks[None].repeat(3, 1, 1), (0.5, 0.5, 0.499))
    assert model.texts == once
    assert torch.allclose(several[:, 1, :, 1], one[:, 0, :, 0], equal_nan=True)


def test_positions_are_between_chance_and_leave_one_out(run: attentest.Run) -> None:
    subject = replace(subject_of(run, texts=30), folder=None)
    (finding,) = hold([make_trial("erasure")], subject)
    assert set(Erasure.keys.values()) <= set(finding.summary)
    assert set(finding.charts) >= {"comprehensiveness by share of tokens", "sufficiency by share of tokens"}
    # lost without the tokens .3, .1, .5, with them alone .2, .4, .1: (.3 − .1)/(.5 − .1) and (.4 − .2)/(.4 − .1)
    lost = {"attention": (0.3, 0.2), "random": (0.1, 0.4), "leave-one-out": (0.5, 0.1), "gradient-input": (0.0, 0.0)}
    comprehensiveness, sufficiency = positions(subject, lost)
    assert comprehensiveness.value == pytest.approx(0.5)
    assert sufficiency.value == pytest.approx(2 / 3)


def test_no_position_where_leave_one_out_is_worse_than_chance(run: attentest.Run) -> None:
    subject = replace(subject_of(run, texts=30), folder=None)
    lost = {"attention": (0.1, 0.85), "random": (0.3, 0.33), "leave-one-out": (0.2, 0.37), "gradient-input": (0.0, 0.0)}
    for position in positions(subject, lost):
        assert all(math.isnan(number) for number in (position.value, position.low, position.high))


def positions(subject: Subject, lost: Mapping[str, tuple[float, float]]) -> list[Estimate]:
    noise = np.array([-0.01, 0.0, 0.01])
    names = {f"{side}, {name}": both[i] + noise for name, both in lost.items() for i, side in enumerate(SIDES)}
    more = [f"{name}, {share}" for name in names for share in ("1 %", "5 %", "10 %", "20 %", "50 %")]
    rest = dict.fromkeys([*(f"normalised {name}" for name in names), *more], noise + 0.5)
    summary = make_trial("erasure").examiner(subject).conclude(pa.table(names | rest)).summary
    return [summary[f"{side} position"] for side in SIDES]


def test_fractions_and_measures_are_checked(run: attentest.Run) -> None:
    for wrong, told in (
        ({"fractions": [0.0]}, "above 0"),
        ({"fractions": [1.5]}, "at most 1"),
        ({"fractions": []}, "empty"),
        ({"fractions": ["half"]}, "entry of the setting fractions"),
        ({"measures": "gradiant"}, "gradient"),
        ({"draws": 0}, "at least 1"),
    ):
        with pytest.raises(attentest.InputError, match=told):
            make_trial("erasure", **cast(dict[str, Any], wrong))
    assert make_trial("erasure", fractions=1) == make_trial("erasure", fractions=[1.0])
    chosen = replace(subject_of(run, texts=10), folder=None)
    (finding,) = hold([make_trial("erasure", fractions=[0.3], measures="gradient,random", draws=1)], chosen)
    names = {name.split(", ")[1] for name in finding.table.column_names if name.startswith("sufficiency, ")}
    assert names == {"attention", "leave-one-out", "gradient", "random"}
    assert "sufficiency, attention, 30 %" in finding.summary
