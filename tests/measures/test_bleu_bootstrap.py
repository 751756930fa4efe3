"""BLEU from counts is sacrebleu's; its intervals are those of samples of sentences, and cover what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu

from attentest.measures import resampling
from attentest.measures.bleu_bootstrap import COUNTED, bleu_bootstrap, corpus_bleu
from attentest.measures.resampling import FEWEST, SAMPLES
from attentest.translation.scores import bleu, bleu_counts

WORDS = ["a", "b", "c", "d", "e."]


def drawn_sentences(n: int, seed: int, most: int = 9) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, draw.integers(0, most))) for _ in range(n)]


def counts(n: int, seed: int) -> np.ndarray:
    return bleu_counts(drawn_sentences(n, seed), drawn_sentences(n, seed + 1), lower=False).astype(float)


@pytest.mark.parametrize("seed", range(30))
def test_bleu_is_sacrebleus(seed: int) -> None:
    n, most = (1, 3) if seed % 3 == 0 else (2, 5) if seed % 3 == 1 else (40, 12)
    mine, right = drawn_sentences(n, seed, most), drawn_sentences(n, seed + 100, most)
    found = corpus_bleu(bleu_counts(mine, right, lower=False).sum(0).astype(float))
    assert float(found) == pytest.approx(sacrebleu.corpus_bleu(mine, [right], force=True).score, abs=1e-9)
    assert float(found) == pytest.approx(bleu(mine, right, lower=False).value, abs=1e-9)


def test_bleu_by_hand() -> None:
    # 4 of 5, 3 of 4, 2 of 3, 1 of 2; the reference has one word more
    sums = np.array([5, 6, 4, 3, 2, 1, 5, 4, 3, 2.0])
    assert float(corpus_bleu(sums)) == pytest.approx(100 * math.exp(-1 / 5) * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    # nothing of three or four words matches: half and a quarter of an n-gram stand in
    sums = np.array([5, 5, 4, 1, 0, 0, 5, 4, 3, 2.0])
    assert float(corpus_bleu(sums)) == pytest.approx(100 * (4 / 5 * 1 / 4 * (1 / 2) / 3 * (1 / 4) / 2) ** 0.25)
    assert float(corpus_bleu(np.array([0, 5, 0, 0, 0, 0, 0, 0, 0, 0.0]))) == 0
    assert float(corpus_bleu(np.array([3, 5, 3, 2, 1, 0, 3, 2, 1, 0.0]))) == 0  # no n-gram of four words at all
    assert corpus_bleu(np.zeros((2, 3, COUNTED))).shape == (2, 3)


def test_counts_by_hand() -> None:
    (found,) = bleu_counts(["A b c x"], ["a b c d e"], lower=True)
    assert found.tolist() == [4, 5, 3, 2, 1, 0, 4, 3, 2, 1]
    (cased,) = bleu_counts(["A b c x"], ["a b c d e"], lower=False)
    assert cased.tolist() == [4, 5, 2, 1, 0, 0, 4, 3, 2, 1]


def test_samples_are_those_of_a_loop() -> None:
    base, other = counts(30, 0), counts(30, 7)
    figures = bleu_bootstrap(base, {"other": other}, seed=3)
    times = np.random.default_rng([3, 30]).multinomial(30, np.full(30, 1 / 30), SAMPLES)
    scores = []
    for sample in times:
        sums = [sum(int(n) * system[i] for i, n in enumerate(sample)) for system in (base, other)]
        scores.append([float(corpus_bleu(one)) for one in sums])
    first, second = np.array(scores).T
    gap = figures.differences["other"]
    assert (gap.low, gap.high) == pytest.approx(tuple(np.quantile(second - first, (0.025, 0.975))), abs=1e-9)
    assert (figures.base.low, figures.base.high) == pytest.approx(tuple(np.quantile(first, (0.025, 0.975))), abs=1e-9)
    assert figures.scores["other"].value == float(corpus_bleu(other.sum(0)))
    assert gap.value == pytest.approx(figures.scores["other"].value - figures.base.value)


def test_chunks_and_other_systems_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    base, other = counts(40, 0), counts(40, 7)
    whole = bleu_bootstrap(base, {"other": other, "third": counts(40, 9)})
    monkeypatch.setattr(resampling, "_CELLS_AT_ONCE", 100)
    alone = bleu_bootstrap(base, {"other": other})
    assert alone.differences["other"] == whole.differences["other"]
    assert alone.base == whole.base
    assert bleu_bootstrap(base, {"other": other}, seed=1).base != alone.base


def test_a_system_does_not_differ_from_itself() -> None:
    base = counts(40, 0)
    same = bleu_bootstrap(base, {"same": base}).differences["same"]
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_few_sentences_have_no_interval() -> None:
    few = bleu_bootstrap(counts(FEWEST - 1, 0), {})
    assert not math.isnan(few.base.value)
    assert math.isnan(few.base.low)
    assert math.isnan(few.base.high)
    assert not math.isnan(bleu_bootstrap(counts(FEWEST, 0), {}).base.low)


def two_systems(draw: np.random.Generator, n: int) -> list[np.ndarray]:
    """Counts of two systems on the same sentences, some of which are harder than others; the second is worse."""
    words = draw.integers(5, 20, n)
    reference = words + draw.integers(-2, 3, n)
    easy = draw.beta(5, 3, n)[:, None] ** np.array([1, 1.8, 2.6, 3.4])
    every = np.maximum(words[:, None] - np.arange(4), 0)
    rights = [draw.binomial(every, factor * easy) for factor in (1, 0.9)]
    return [np.column_stack((words, reference, right, every)).astype(float) for right in rights]


@pytest.mark.parametrize("n", [FEWEST, 100])
def test_intervals_cover_what_they_promise(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "SAMPLES", 300)  # enough for percentiles, and faster
    draw = np.random.default_rng(0)
    first, second = (float(corpus_bleu(system.sum(0))) for system in two_systems(draw, 400_000))
    hits = []
    for _ in range(400):
        base, other = two_systems(draw, n)
        gap = bleu_bootstrap(base, {"other": other}).differences["other"]
        hits.append(gap.low <= second - first <= gap.high)
    # 95 % promised; three standard errors of 400 draws are 3.3 points, and percentiles of few sentences fall short by 2
    assert 0.90 <= np.mean(hits) <= 0.985
