"""The planted corpus: its rule gives every label, and its rationale is exactly what the rule needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attentest.corpora.corpus import Corpus
from attentest.corpora.planted import NEGATION, decide, evidence_words, generate
from attentest.errors import InputError

GRID = [
    {"difficulty": 0.0},
    {"difficulty": 0.5, "evidence": 3},
    {"difficulty": 1.0},
    {"difficulty": 1.0, "evidence": 5, "tokens": 30},
    {"difficulty": 0.8, "classes": 4, "evidence": 3},
    {"difficulty": 1.0, "classes": 20, "evidence": 2},
    {"difficulty": 1.0, "evidence": 1, "tokens": 4},
]


def rows_of(corpus: Corpus) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = corpus.table.to_pylist()
    return rows


def keep(row: dict[str, Any], mark: int) -> str:
    return " ".join(w for w, m in zip(row["text"].split(), row["rationale"], strict=True) if m == mark)


@pytest.mark.parametrize("options", GRID, ids=str)
def test_rule_gives_every_label_and_rationale_is_needed_and_enough(options: dict[str, Any]) -> None:
    classes = options.get("classes", 2)
    for row in rows_of(generate(rows=400, **options)):
        assert decide(row["text"], classes) == row["label"]
        assert decide(keep(row, 1), classes) == row["label"]
        assert decide(keep(row, 0), classes) != row["label"]


@pytest.mark.parametrize("options", GRID, ids=str)
def test_rationale_holds_the_asked_evidence_and_whole_negations(options: dict[str, Any]) -> None:
    for row in rows_of(generate(rows=200, **options)):
        deciding = keep(row, 1).split()
        assert sum(word != NEGATION for word in deciding) == options.get("evidence", 2)
        marks, words = row["rationale"], row["text"].split()
        assert all(marks[i] == marks[i + 1] for i, word in enumerate(words) if word == NEGATION)


def test_every_deciding_vote_is_needed_where_a_rival_is_one_short() -> None:
    corpus = generate(rows=200, difficulty=1.0, evidence=3)
    for row in rows_of(corpus):
        words = row["text"].split()
        for i in [i for i, m in enumerate(row["rationale"]) if m and words[i] != NEGATION]:
            start = i - (words[i - 1] == NEGATION if i else 0)
            assert decide(" ".join(words[:start] + words[i + 1 :])) is None  # two votes against two


def test_rule_on_texts_made_by_hand() -> None:
    one, two, three = (evidence_words(c)[0] for c in range(3))
    assert decide(f"{one} xx {one} {two}") == 0
    assert decide(f"{NEGATION} {one}") == 1
    assert decide(f"{NEGATION} {two}") == 0
    assert decide(f"{NEGATION} {two}", classes=3) == 2
    assert decide(f"{NEGATION} xx {one}") == 0
    assert decide(f"{one} {two}") is None
    assert decide("nothing here") is None
    assert decide(three) is None  # owned by a class that two classes do not have


def test_more_rows_keep_the_first_ones_and_another_seed_changes_them() -> None:
    few, many = generate(rows=60, difficulty=0.7), generate(rows=90, difficulty=0.7)
    assert rows_of(many)[:60] == rows_of(few)
    assert generate(rows=60, difficulty=0.7).fingerprint() == few.fingerprint()
    assert generate(rows=60, difficulty=0.7, seed=1).fingerprint() != few.fingerprint()


def test_splits_and_classes_are_balanced() -> None:
    counts = generate(rows=300, classes=3).counts()
    assert {split: sum(n.values()) for split, n in counts.items()} == {"train": 204, "dev": 36, "test": 60}
    assert all(len(set(n.values())) == 1 for n in counts.values())


def test_lengths_vary_around_what_was_asked() -> None:
    lengths = [len(row["text"].split()) for row in rows_of(generate(rows=600, tokens=40))]
    assert min(lengths) >= 20
    assert max(lengths) <= 60
    assert abs(np.mean(lengths) - 40) < 2


def test_difficulty_steadily_adds_words_distractors_and_negation() -> None:
    sizes, rivals, negations = [], [], []
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        rows = rows_of(generate(rows=400, difficulty=difficulty, evidence=4))
        owned = {w for c in range(2) for w in evidence_words(c)}
        sizes.append(len(evidence_words(0, difficulty)))
        rivals.append(sum(w in owned for row in rows for w in keep(row, 0).split()))
        negations.append(sum(NEGATION in keep(row, 1).split() for row in rows))
    assert sizes == sorted(set(sizes))
    assert sizes[0] == 4
    assert sizes[-1] == 256
    assert rivals[0] == 0
    assert rivals[-1] == 3 * 400
    assert rivals == sorted(set(rivals))
    assert negations[:3] == [0, 0, 0]
    assert 0 < negations[3] < negations[4]


def bag_of_words_accuracy(corpus: Corpus) -> float:
    """Naive Bayes trained on train and dev, on test: what can be had without word order."""
    texts, labels = [t.split() for t in corpus.table["text"].to_pylist()], corpus.labels
    index = {w: i for i, w in enumerate(sorted({w for t in texts for w in t}))}
    counts = np.zeros((len(texts), len(index)))
    for row, text in enumerate(texts):
        np.add.at(counts[row], [index[w] for w in text], 1)
    test = corpus.split == "test"
    rates = np.stack([counts[~test & (labels == c)].sum(0) + 0.1 for c in range(len(corpus.classes))])
    scores = counts[test] @ np.log(rates / rates.sum(1, keepdims=True)).T
    return float((scores.argmax(1) == labels[test]).mean())


def test_a_bag_of_words_fails_more_as_difficulty_rises() -> None:
    easy, middle, hard = (bag_of_words_accuracy(generate(rows=1000, difficulty=d)) for d in (0.0, 0.5, 1.0))
    assert easy > 0.95
    assert easy > middle > hard
    assert abs(hard - 0.5) < 0.12


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"difficulty": 2}, "difficulty=2"),
        ({"difficulty": float("nan")}, "difficulty=nan"),
        ({"rows": 3}, "rows=3"),
        ({"classes": 1}, "classes=1"),
        ({"classes": 21}, "classes=21"),
        ({"evidence": 0}, "evidence=0"),
        ({"tokens": 7, "evidence": 2}, "tokens=7"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        generate(**options)
