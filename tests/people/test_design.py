"""Studies with people: what they consist of, how many texts they take, and what cannot be made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

import attentest
from attentest.errors import InputError
from attentest.measures.fisher import fisher_p
from attentest.people.design import create_study
from attentest.people.known import known_answer
from attentest.people.order import order_for
from attentest.people.power import POWER, power_of, samples_for
from attentest.people.study import KNOWN, ORIGINAL, PERMUTED, Asked, Exclusion, Item, PeopleStudy, open_study
from attentest.trials.instances import instances
from attentest.trials.subject import subject_of


@pytest.fixture(scope="module")
def study(run: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> PeopleStudy:
    out = tmp_path_factory.mktemp("people") / "study"
    return create_study(run, out, n=12, known=6, asked=Asked(comment=True), exclusion=Exclusion(0.5, 100))


def test_conditions_hold_other_texts(study: PeopleStudy) -> None:
    by_condition = {name: [i for i in study.items if i.condition == name] for name in (ORIGINAL, PERMUTED, KNOWN)}
    assert [len(items) for items in by_condition.values()] == [12, 12, 6]
    assert len({item.source for item in study.items}) == 30
    assert len(study.by_id) == 30
    assert {item.expected for item in by_condition[KNOWN]} == {True, False}
    assert {item.expected for item in by_condition[ORIGINAL] + by_condition[PERMUTED]} == {None}
    order = [item.condition for item in study.items]
    assert order != sorted(order)  # shuffled
    assert all(len(set(item.marked)) == 3 for item in study.items)
    assert study.record.asked.comment
    assert study.record.exclusion == Exclusion(0.5, 100)


def test_weights_and_predictions_are_the_models(study: PeopleStudy, run: attentest.Run) -> None:
    stored = {row["id"]: row for row in run.predictions.to_pylist()}
    weights = dict(zip(run.predictions["id"].to_pylist(), run.word_shares, strict=True))
    changed = 0
    for item in study.items:
        own = weights[item.source]
        assert item.text == stored[item.source]["text"]
        assert item.label == stored[item.source]["label"]
        if item.condition == PERMUTED:
            np.testing.assert_allclose(sorted(item.weights), sorted(own), atol=1e-6)
            changed += not np.allclose(item.weights, own, atol=1e-4)
        else:
            np.testing.assert_allclose(item.weights, own, atol=1e-6)
            assert item.predicted == stored[item.source]["predicted"]
        if item.condition != KNOWN:
            lightest = min(item.weights[n] for n in item.marked)
            assert all(w <= lightest + 1e-9 for n, w in enumerate(item.weights) if n not in item.marked)
    assert changed == 12


def test_the_prediction_of_permuted_weights_is_made_under_them(study: PeopleStudy, run: attentest.Run) -> None:
    table = instances(subject_of(run), 10_000, 0, search=False).to_pylist()
    under = {row["id"]: row["predicted"] for row in table if row["variant"] == PERMUTED}
    found = {item.source: item.predicted for item in study.items if item.condition == PERMUTED}
    assert found == {source: under[source] for source in found}


def test_the_seed_decides(study: PeopleStudy, run: attentest.Run, tmp_path: Path) -> None:
    same = create_study(run, tmp_path / "same", n=12, known=6)
    other = create_study(run, tmp_path / "other", n=12, known=6, seed=1)
    assert without_ids(same) == without_ids(study)
    assert {item.source for item in other.items} != {item.source for item in study.items}
    assert order_for(study, "ann") != order_for(study, "bo")
    assert sorted(order_for(study, "ann")) == sorted(study.by_id)
    assert open_study(study.folder).record == study.record


def without_ids(study: PeopleStudy) -> list[Item]:
    return sorted((replace(item, id="") for item in study.items), key=lambda item: item.source)


def test_ids_and_their_order_come_from_a_secret(study: PeopleStudy, run: attentest.Run, tmp_path: Path) -> None:
    """So the same seed tells neither conditions by ids, nor lets answers fit another study."""
    same = create_study(run, tmp_path / "same", n=12, known=6)
    assert study.record.id != same.record.id
    assert len(study.record.id) == 32
    assert not set(study.by_id) & set(same.by_id)
    assert all(len(item.id) == 16 for item in study.items)
    orders = [[item.source for item in one.items] for one in (study, same)]
    assert orders[0] != orders[1]


def test_known_answers_come_from_rationales(study: PeopleStudy, run: attentest.Run) -> None:
    reasons = {row["id"]: row["rationale"] for row in run.attention.to_pylist()}
    for item in study.items:
        if item.condition == KNOWN:
            hits = sum(reasons[item.source][n] for n in item.marked)
            assert hits >= 2 if item.expected else hits == 0
            assert item.predicted == item.label


def test_known_answers_without_rationales() -> None:
    words = ["The", "film", ",", "is", "the", "worst", "of", "all", "!"]
    row = {"predicted": "a", "label": "a", "rationale": None}
    for seed in range(20):
        found = known_answer(row, words, seed)
        assert found is not None
        marked, answer = found
        assert not answer
        assert {words[n].lower() for n in marked} <= {",", "is", "the", "of", "!"}
        assert len({words[n].lower() for n in marked}) == 3
    assert known_answer(row, ["worst", "film", "the", "the", "The"], 0) is None
    assert known_answer(row | {"label": "b"}, words, 0) is None  # the model is wrong: nothing is certain
    short = {"predicted": "a", "label": "a", "rationale": [1, 0, 0]}
    assert all((known_answer(short, words[:3], seed) or ([], None))[1] is not True for seed in range(9))


def test_word_pieces_are_taken_together(encoder_run: attentest.Run, tmp_path: Path) -> None:
    for item in create_study(encoder_run, tmp_path / "study", n=3, known=0).items:
        assert len(item.start) == len(item.end) == len(item.weights)
        assert all(" " not in item.text[item.start[n] : item.end[n]] for n in item.marked)


@pytest.mark.parametrize("kind", ["pair", "hierarchical"])
def test_pairs_and_sentences(kind: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    words = ["red", "blue", "green", "box", "ball", "cup", "on", "under", "near"]
    texts = [". ".join(" ".join(generator.choice(words, 4)) for _ in range(3)) for _ in range(80)]
    table = {"text": texts, "label": ["yes" if "red" in text else "no" for text in texts]}
    pair: Any = {"second": "second"} if kind == "pair" else {}
    corpus = attentest.load(table | dict.fromkeys(pair, ["is it red ?"] * 80), name="made", **pair)
    settings: Any = {"structure": "hierarchical"} if kind == "hierarchical" else {}
    made = attentest.train(corpus, tmp_path / "run", epochs=1, dimension=8, hidden=4, **settings)
    study = create_study(made, tmp_path / "study", n=3, known=0)
    weights = dict(zip(made.predictions["id"].to_pylist(), made.word_shares, strict=True))
    for item in study.items:
        assert (item.second is not None) == (kind == "pair")
        if item.condition == ORIGINAL:
            np.testing.assert_allclose(item.weights, weights[item.source], atol=1e-6)
        assert all(" " not in item.text[item.start[n] : item.end[n]] for n in item.marked)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n": 10_000}, "are needed for 10,000 in each.*at most"),
        ({"detect": 0.01}, "Detect a larger difference"),
        ({"n": 0}, "`n` is 0"),
        ({"n": 5, "detect": 0.5}, "give one"),
        ({"detect": 0.0}, "difference of shares from 0.0001 to 1"),
        ({"detect": float("nan")}, "difference of shares from 0.0001 to 1"),
        ({"seed": -1, "n": 3}, "`seed` is -1"),
        ({"known": -1, "n": 3}, "`known` is -1"),
        ({"known": 9_000, "n": 3}, "only .* can have a known answer"),
    ],
)
def test_what_cannot_be_made(given: dict[str, float], said: str, run: attentest.Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        create_study(run, tmp_path / "study", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "study").exists()


def test_a_folder_that_is_in_use(run: attentest.Run, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        create_study(run, tmp_path, n=3)
    with pytest.raises(InputError, match="exists already"):
        create_study(run, tmp_path / "own.txt", n=3)


@pytest.mark.parametrize("seed", range(30))
def test_fisher_is_scipys(seed: int) -> None:
    generator = np.random.default_rng(seed)
    of, of_other = (int(n) for n in generator.integers(1, 60, 2))
    hits, other = int(generator.integers(0, of + 1)), int(generator.integers(0, of_other + 1))
    expected = fisher_exact([[hits, of - hits], [other, of_other - other]]).pvalue
    assert fisher_p(hits, of, other, of_other) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "difference"), [(8, 0.5), (15, 0.6), (20, 0.3)])
def test_power_counts_every_pair_of_outcomes(n: int, difference: float) -> None:
    more, less = (binom.pmf(np.arange(n + 1), n, 0.5 + sign * difference / 2) for sign in (1, -1))
    pairs = ((a, b) for a in range(n + 1) for b in range(n + 1))
    expected = sum(more[a] * less[b] for a, b in pairs if fisher_exact([[a, n - a], [b, n - b]]).pvalue <= 0.05)
    assert power_of(n, difference) == pytest.approx(expected, abs=1e-9)


def test_as_many_samples_as_it_takes() -> None:
    for difference in (0.2, 0.3, 0.5, 0.8):
        n = samples_for(difference)
        assert all(power_of(more, difference) >= POWER for more in range(n, n + 10))
        assert power_of(n - 1, difference) < POWER
    assert samples_for(1) == 4
    assert samples_for(0.05) == 1609  # by the formula
