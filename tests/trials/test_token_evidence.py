"""Overlap, conicity and agreement with rationales against loops over single texts, and numbers worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from word_model import random_words, reading_of_words

import attentest
from attentest.measures.intervals import mean, share
from attentest.measures.marked import agreement, chance_agreement
from attentest.measures.spearman import spearman
from attentest.trials import Subject, hold, make_trial, subject_of
from attentest.trials.conicity import conicity
from attentest.trials.overlap import TOPS, Overlap, first_tokens, in_common
from attentest.trials.permutation import Permutation
from attentest.trials.rankings import ranks_by
from attentest.trials.rationale import Rationale
from attentest.trials.reading import Reading
from attentest.trials.scores import ScoreSettings


def examined(name: str, reading: Reading, **settings: Any) -> dict[str, np.ndarray]:
    subject = cast(Subject, type("Accused", (), {"model": reading.model, "chosen_site": "token"}))
    return dict(make_trial(name, **settings).examiner(subject).examine(reading))


def test_overlap_by_hand() -> None:
    # five tokens, ranked 0 1 2 3 4 and 4 1 0 2 3: the first one differs; of the first three, tokens 1 and 2 are shared
    one, other = np.array([[0, 1, 2, 3, 4]]), np.array([[4, 1, 0, 2, 3]])
    found = [float(in_common(one, other, np.array([count]))[0]) for count in (1, 2, 3, 4)]
    assert found == pytest.approx([0, 1 / 2, 2 / 3, 3 / 4])
    lengths = np.array([1, 2, 3, 4, 30, 31])
    assert first_tokens(3, lengths).tolist() == [1, 1, 2, 3, 3, 3]
    assert first_tokens(0.1, lengths).tolist() == [1, 1, 1, 1, 3, 4]


@pytest.mark.parametrize("seed", range(3))
def test_overlap_against_loops(seed: int) -> None:
    model, texts = random_words(15, 28, seed)
    reading = reading_of_words(model, texts)
    columns = examined("overlap", reading, seed=seed)
    ranks = {name: ranks_by(reading, name, ScoreSettings(seed=seed)) for name in ("attention", "leave-one-out")}
    for place, text in enumerate(texts):
        for top, wanted in {
            "top 1": 1,
            "top 3": 3,
            "top 5": 5,
            "top 10 %": math.ceil(round(len(text) / 10, 6)),
        }.items():
            k = max(1, min(wanted, len(text) - 1))
            sets = [{i for i in range(len(text)) if int(rank[place, i]) < k} for rank in ranks.values()]
            shared = len(sets[0] & sets[1]) / k
            assert columns[f"{top}, attention – leave-one-out"][place] == pytest.approx(shared)
            assert columns[f"{top}, chance"][place] == pytest.approx(k / len(text))


def test_attention_without_any_order_overlaps_by_chance() -> None:
    model, texts = random_words(1500, 12, 0, tied=True)
    columns = examined("overlap", reading_of_words(model, texts))
    several = np.array([len(text) > 1 for text in texts])
    above = columns["top 3, attention – leave-one-out"] - columns["top 3, chance"]
    assert abs(above[several].mean()) < 0.03


def test_the_position_of_overlap_is_between_chance_and_the_measures(run: attentest.Run) -> None:
    subject = replace(subject_of(run, texts=60), folder=None)
    (finding,) = hold([make_trial("overlap")], subject)
    assert set(Overlap.keys.values()) <= set(finding.summary)
    # chance .1, .2, .3; attention .2 above it; the measures .3, .4, .5 above it: .2/.4
    chance = np.array([0.1, 0.2, 0.3])
    known = {"chance": chance, "attention – leave-one-out": chance + 0.2}
    known["leave-one-out – gradient-input-fixed"] = chance + np.array([0.3, 0.4, 0.5])
    table = pa.table({f"{top}, {name}": values for top in TOPS for name, values in known.items()})
    assert make_trial("overlap").examiner(subject).conclude(table).summary["top 3 position"].value == pytest.approx(0.5)


def test_conicity_by_hand() -> None:
    # (1, 0) and (0, 1) have the mean (½, ½), at 45° of both; states of one direction have 1, whatever their length
    hidden = torch.tensor([[[1.0, 0], [0, 1], [9, 9]], [[2.0, 2], [4, 4], [1, 1]]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert conicity(hidden, mask).tolist() == pytest.approx([math.sqrt(0.5), 1])


def test_conicity_against_loops_and_the_same_permutations() -> None:
    model, texts = random_words(12, 9, 0)
    reading = reading_of_words(model, texts)
    columns = examined("conicity", reading, permutations=20, seed=3)
    assert columns["median_tvd"] == pytest.approx(Permutation(20, 3).examine(reading)["median_tvd"])
    for place, text in enumerate(texts):
        states = [np.array([float(model.margins[word]), float(model.scores[word])]) for word in text]
        centre = np.mean(states, 0)
        cosines = [state @ centre / np.linalg.norm(state) / np.linalg.norm(centre) for state in states]
        assert columns["conicity"][place] == pytest.approx(np.mean(cosines), abs=1e-5)


def test_rank_correlation_by_hand() -> None:
    # ranks 1 2 3 4 5 and 2 1 4 3 5: Σd² = 4, ρ = 1 − 6·4/(5·24) = .8
    found = spearman(np.array([1.0, 2, 3, 4, 5, np.nan]), np.array([20.0, 10, 40, 30, 50, 0]))
    assert found.value == pytest.approx(0.8)
    assert found.n == 5
    assert found.low < 0.8 < found.high <= 1
    # equal values share their ranks: 1.5 1.5 3 4 with 1 2 3 4
    tied = spearman(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 3, 4])).value
    assert tied == pytest.approx(np.corrcoef([1.5, 1.5, 3, 4], [1, 2, 3, 4])[0, 1])
    assert math.isnan(spearman(np.ones(9), np.arange(9.0)).value)


def test_agreement_with_marks_by_hand() -> None:
    # marked: tokens 0 and 3, at ranks 1 and 2: of the first two one is marked; the precision is ½ at one and ⅔ at both
    ranks, marks = np.array([[1, 0, 3, 2], [0, 1, 2, 3]]), np.array([[True, False, False, True], [False] * 4])
    found = agreement(ranks, marks)
    assert found["token F1"][0] == pytest.approx(1 / 2)
    assert found["IoU"][0] == pytest.approx(1 / 3)
    assert found["AUPRC"][0] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert all(np.isnan(values[1]) for values in found.values())


@pytest.mark.parametrize(("tokens", "marked"), [(1, 1), (4, 1), (5, 2), (6, 4), (6, 6)])
def test_chance_is_the_mean_over_all_orders(tokens: int, marked: int) -> None:
    orders = np.array(list(permutations(range(tokens))))
    padded = np.concatenate((orders, np.full((len(orders), 2), [tokens, tokens + 1])), 1)
    marks = np.zeros(padded.shape, bool)
    marks[:, :marked] = True
    found, expected = agreement(padded, marks), chance_agreement(marks[:1], np.array([tokens]))
    for kind, values in expected.items():
        assert values[0] == pytest.approx(found[kind].mean()), kind


def test_the_trial_of_rationales_ranks_planted_words(run: attentest.Run) -> None:
    (finding,) = hold([make_trial("rationale")], replace(subject_of(run, texts=40), folder=None))
    heaviest, tokens = (finding.table[name].to_numpy() for name in ("heaviest_in_rationale", "rationale_share"))
    assert finding.summary["heaviest token in the rationale"] == share(heaviest)
    assert finding.summary["tokens in the rationale"] == mean(tokens, (0, 1))
    assert finding.summary["heaviest in the rationale − tokens in the rationale"] == mean(heaviest - tokens, (-1, 1))
    assert set(Rationale.keys.values()) <= set(finding.summary)
    for kind in ("token F1", "IoU", "AUPRC"):
        for name in ("attention", "gradient-input-fixed", "leave-one-out", "chance"):
            values = np.array(finding.table[f"{kind}, {name}"].to_pylist(), float)
            assert finding.summary[f"{kind}, {name}"].value == pytest.approx(np.nanmean(values))
            assert (np.isnan(values) | ((values >= 0) & (values <= 1))).all()
    assert "agreement with the rationale" in finding.charts
