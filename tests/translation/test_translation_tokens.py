"""Words and subwords, there and back; batches of pairs by tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_translators import toy_corpus, toy_pairs

import attentest
from attentest.errors import InputError
from attentest.translation.data import (
    by_length,
    cut_by_tokens,
    make_pairs,
    read_corpus,
    training_batches,
    training_order,
)
from attentest.translation.settings import TranslationText
from attentest.translation.tokens import END, SPECIAL, UNKNOWN, learn_tokens, nothing_known, read_tokens, spelled

TEXTS = [text for pair in toy_pairs(40) for text in pair]
SETTINGS = {
    "word": TranslationText(min_frequency=1),
    "whitespace": TranslationText(tokenizer="whitespace", min_frequency=1),
    "subword": TranslationText(tokenizer="subword", vocabulary=80, min_frequency=1),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_texts_come_back_and_tokens_are_kept_with_the_run(kind: str, tmp_path: Path) -> None:
    tokens = learn_tokens(TEXTS, SETTINGS[kind])
    assert [tokens.text(tokens.ids(text)) for text in TEXTS] == TEXTS
    tokens.write(tmp_path / "a.json")
    again = read_tokens(tmp_path / "a.json", SETTINGS[kind])
    assert len(again) == len(tokens)
    assert [again.ids(text) for text in TEXTS] == [tokens.ids(text) for text in TEXTS]
    learn_tokens(TEXTS, SETTINGS[kind]).write(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("kind", SETTINGS)
def test_special_tokens_that_a_text_spells_out_are_text(kind: str) -> None:
    tokens = learn_tokens([*TEXTS, "< > / s"], SETTINGS[kind])
    assert END not in tokens.ids("two </s> dogs <s> <pad>")
    assert tokens.names([0, 1, 2, 3]) == list(SPECIAL)


@pytest.mark.parametrize("kind", SETTINGS)
def test_unknown_scripts_are_unknown_tokens(kind: str) -> None:
    tokens = learn_tokens(TEXTS, SETTINGS[kind])
    found = tokens.ids("你好 世界")
    assert UNKNOWN in found
    assert nothing_known(tokens, found)
    assert not nothing_known(tokens, tokens.ids("你好 dogs"))


def test_rare_words_and_those_beyond_the_size_are_unknown() -> None:
    texts = ["b b b a a c", "a"]
    assert learn_tokens(texts, TranslationText(min_frequency=2)).ids("a b c") == [4, 5, UNKNOWN]  # as often: by name
    assert len(learn_tokens(TEXTS, TranslationText(min_frequency=1, vocabulary=8))) == 8


def test_words_are_spelled_as_people_write() -> None:
    for text in ("a dog, a cat.", 'he says "run!" (twice)', "it's a t-shirt", "don't: 50%", "„Hund“"):
        words = learn_tokens([text], TranslationText(lower=False)).words(text)
        assert spelled(words).replace(" “", "“") == text  # German opens below and closes where English opens


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('["a", "b"]', encoding="utf-8")
    for settings in SETTINGS.values():
        with pytest.raises(InputError, match=r"a\.json"):
            read_tokens(tmp_path / "a.json", settings)


def test_long_pairs_are_dropped_in_training_and_cut_elsewhere() -> None:
    long = " ".join(["dogs"] * 5000)
    rows = [*toy_pairs(20), (long, "hunde"), ("dogs", long)]
    split = ["train"] * 15 + ["dev"] * 2 + ["test"] * 3 + ["train", "test"]
    columns = {"en": [a for a, _ in rows], "de": [b for _, b in rows], "split": split}
    corpus = attentest.load(columns, text="en", target="de", split="split")
    data = read_corpus(corpus, TranslationText(max_tokens=9))
    assert 20 not in data.rows
    assert data.target.lengths.max() == 10  # with the end
    assert data.target[len(data.rows) - 1][-1] == END
    assert data.notes[:2] == (
        "Dropped 1 training pairs with more than 9 tokens on a side (`max_tokens`).",
        "Cut 1 dev and test pairs to 9 tokens on a side; references stay whole.",
    )
    assert data.texts("second", data.of_split("test"))[-1] == long


def test_batches_hold_every_pair_once_and_no_more_tokens_than_allowed() -> None:
    draw = np.random.default_rng(0)
    source, target = draw.integers(1, 40, 500), draw.integers(1, 40, 500)
    batches = training_order(source, target, 200, np.random.default_rng(1))
    assert sorted(np.concatenate(batches)) == list(range(500))
    longer = np.maximum(source, target)
    assert all(len(batch) * longer[batch].max() <= 200 for batch in batches)
    again = training_order(source, target, 200, np.random.default_rng(1))
    assert all(map(np.array_equal, batches, again))
    assert list(cut_by_tokens(np.array([3, 3, 3, 50, 1]), 9)) == [3, 4]
    assert [list(batch) for batch in by_length(np.array([5, 1, 3]), 2)] == [[1, 2], [0]]


def test_batches_are_even_on_both_sides() -> None:
    draw = np.random.default_rng(0)
    target = draw.integers(5, 25, 4000)
    source = np.maximum(1, target + draw.integers(-4, 5, 4000))
    batches = training_order(source, target, 1000, np.random.default_rng(1))
    for lengths in (source, target):
        padded = sum(len(batch) * lengths[batch].max() for batch in batches)
        assert lengths.sum() / padded > 0.8  # in file order it is about 0.6


def test_a_batch_has_both_sides() -> None:
    data = read_corpus(toy_corpus(40), TranslationText(min_frequency=1))
    pairs = make_pairs(data, np.array([0, 1]))
    assert pairs.sources.ids.shape == (2, 5)
    assert pairs.targets[:, -1].tolist() == [END, END]
    total = sum(
        len(batch.targets) for batch in training_batches(data, data.of_split("train"), 30, np.random.default_rng(0))
    )
    assert total == len(data.of_split("train"))
