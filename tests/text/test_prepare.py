"""A corpus as ids: what is counted, what is cut, what is dropped, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attentest.corpora import Corpus, build_corpus
from attentest.errors import InputError
from attentest.text import TextSettings, TokenizedCorpus, Vocabulary, tokenize_corpus
from attentest.text.batches import make_batch
from attentest.text.prepare import unknown_share
from attentest.text.vocabulary import PAD, SPECIAL, UNKNOWN

SPLIT = {"train": 6, "dev": 2, "test": 2}


def corpus_of(train: Sequence[str], dev: Sequence[str] = (), test: Sequence[str] = (), **more: Any) -> Corpus:
    """These texts, and enough others for a corpus; labels alternate in every split."""
    columns: dict[str, list] = {"text": [], "label": [], "split": []}
    for split, texts in (("train", train), ("dev", dev), ("test", test)):
        filled = [*texts, *["filler"] * (SPLIT[split] - len(texts))]
        columns["text"] += filled
        columns["label"] += [i % 2 for i in range(len(filled))]
        columns["split"] += [split] * len(filled)
    return build_corpus("x", columns | more)


def tokens_of(data: TokenizedCorpus, row: int) -> list[str]:
    return [data.vocabulary.tokens[i] for i in data.sequences[row]]


def test_the_vocabulary_is_of_the_training_split() -> None:
    data = tokenize_corpus(corpus_of(["b b a", "filler"], dev=["only dev"], test=["a test"]), TextSettings())
    assert data.vocabulary.tokens == ["<pad>", "<unk>", "filler", "b", "a"]
    assert tokens_of(data, 0) == ["b", "b", "a"]
    assert tokens_of(data, int(data.of_split("dev")[0])) == ["<unk>", "<unk>"]
    assert tokens_of(data, int(data.of_split("test")[0])) == ["a", "<unk>"]
    assert data.notes == ()


def test_words_in_test_only_make_no_difference() -> None:
    one = tokenize_corpus(corpus_of(["a b"], test=["a"]), TextSettings())
    two = tokenize_corpus(corpus_of(["a b"], test=["b b b c d"]), TextSettings())
    assert one.vocabulary.tokens == two.vocabulary.tokens


def test_frequent_tokens_come_first_and_ties_as_seen() -> None:
    texts = ["z y x", "z y w", "z", "y", "w", "v"]
    data = tokenize_corpus(corpus_of(texts), TextSettings())
    assert data.vocabulary.tokens[2:] == ["z", "y", "w", "x", "v"]


@pytest.mark.parametrize(("least", "kept"), [(1, ["a", "b", "c"]), (2, ["a", "b"]), (3, ["a"]), (4, [])])
def test_rare_tokens_are_unknown(least: int, kept: list[str]) -> None:
    data = tokenize_corpus(corpus_of(["a a a b b c", *["f"] * 5]), TextSettings(min_frequency=least))
    assert [t for t in data.vocabulary.tokens[2:] if t != "f"] == kept
    assert tokens_of(data, 0) == [t if t in kept else "<unk>" for t in "aaabbc"]


def test_a_text_that_spells_out_padding_has_none() -> None:
    settings = TextSettings(tokenizer="whitespace")
    texts = ["<pad> a <unk> <pad>", "<pad>"]
    data = tokenize_corpus(corpus_of(texts), settings)
    assert data.vocabulary.tokens == [*SPECIAL, "filler", "a"]
    assert data.sequences[0].tolist() == [UNKNOWN, 3, UNKNOWN, UNKNOWN]
    assert data.sequences[1].tolist() == [UNKNOWN]
    batch = make_batch(data, np.array([0, 1]))
    assert ((batch.ids == PAD) == ~batch.mask).all()
    again = tokenize_corpus(corpus_of(texts), settings, vocabulary=data.vocabulary)
    assert again.sequences.ids.tolist() == data.sequences.ids.tolist()


def test_long_texts_are_cut() -> None:
    data = tokenize_corpus(corpus_of(["a b c d e", "a b c"]), TextSettings(max_tokens=3))
    assert tokens_of(data, 0) == tokens_of(data, 1) == ["a", "b", "c"]
    assert "d" not in data.vocabulary, "what is cut off is not counted"
    assert data.notes == ("Cut 1 texts to their first 3 tokens (the longest has 5); `max_tokens` sets the limit.",)
    assert data.text(0) == "a b c d e"


def test_long_texts_are_dropped() -> None:
    corpus = corpus_of(["a b c d", "a b c", "x y"])
    data = tokenize_corpus(corpus, TextSettings(max_tokens=3, long="drop"))
    assert data.notes == ("Dropped 1 texts with more than 3 tokens.",)
    assert data.rows.tolist() == list(range(1, 10))
    assert data.text(0) == "a b c"
    assert data.labels.tolist() == corpus.labels[1:].tolist()
    assert data.split.tolist() == corpus.split[1:].tolist()
    assert "d" not in data.vocabulary


def test_short_texts_are_dropped() -> None:
    texts = ["one", "one two", "one two three", "a b c", "d e f", "g h i"]
    corpus = corpus_of(texts, dev=["a b c"] * 2, test=["a b", "a b c"])
    data = tokenize_corpus(corpus, TextSettings(min_tokens=3))
    assert data.rows.tolist() == [2, 3, 4, 5, 6, 7, 9]
    assert data.notes == ("Dropped 3 texts with fewer than 3 tokens.",)


def test_short_and_long_texts_are_both_said() -> None:
    corpus = corpus_of(["a", *["a b"] * 4, "a b c d"], dev=["a b"] * 2, test=["a b", "a b c"])
    settings = TextSettings(min_tokens=2, max_tokens=2, long="drop")
    data = tokenize_corpus(corpus, settings)
    assert data.rows.tolist() == [1, 2, 3, 4, 6, 7, 8]
    assert data.notes == ("Dropped 1 texts with fewer than 2 tokens.", "Dropped 2 texts with more than 2 tokens.")


def test_no_text_is_long_enough() -> None:
    with pytest.raises(InputError, match="x: no text has between 5 and 1000 tokens"):
        tokenize_corpus(corpus_of(["a b"]), TextSettings(min_tokens=5))


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_split_that_is_empty_after_all(split: str) -> None:
    texts = {name: ["short"] * n if name == split else ["long enough"] * n for name, n in SPLIT.items()}
    with pytest.raises(InputError, match=f"x has no usable rows in its {split} split"):
        tokenize_corpus(corpus_of(**texts), TextSettings(min_tokens=2))


def test_a_class_that_is_missing_in_train() -> None:
    texts = {name: ["long enough"] * n for name, n in SPLIT.items()}
    texts["train"] = ["short", "long enough"] * 3
    with pytest.raises(InputError, match="x: the class '0' has no rows in the train split"):
        tokenize_corpus(corpus_of(**texts), TextSettings(min_tokens=2))


def test_a_vocabulary_that_is_given_is_used() -> None:
    vocabulary = Vocabulary(["b", "never"])
    data = tokenize_corpus(corpus_of(["a b"]), TextSettings(), vocabulary=vocabulary)
    assert data.vocabulary is vocabulary
    assert data.sequences[0].tolist() == [UNKNOWN, 2]


def test_a_corpus_for_testing_needs_a_vocabulary_only() -> None:
    columns = {"text": ["a b"] * 10, "label": [0, 1] * 5, "split": ["test"] * 10}
    corpus = build_corpus("x", columns)
    with pytest.raises(InputError, match="no usable rows in its train split"):
        tokenize_corpus(corpus, TextSettings())
    data = tokenize_corpus(corpus, TextSettings(), vocabulary=Vocabulary(["a"]))
    assert data.sequences[0].tolist() == [2, UNKNOWN]
    assert unknown_share(data, "test") == 0.5


def test_unknown_share() -> None:
    data = tokenize_corpus(corpus_of(["a b"], test=["a c c c", "b"]), TextSettings())
    assert unknown_share(data, "train") == 0
    assert unknown_share(data, "test") == 3 / 5


def test_progress_reaches_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentest.text.prepare._CHUNK", 4)
    calls: list[tuple[int, int]] = []
    corpus = corpus_of(["a b", "c", "a", "d", "b c", "e"], dev=["e", "f"])
    chunked = tokenize_corpus(corpus, TextSettings(), report=lambda done, total: calls.append((done, total)))
    assert calls == [(4, 10), (8, 10), (10, 10)]
    monkeypatch.undo()
    whole = tokenize_corpus(corpus, TextSettings())
    assert chunked.sequences.ids.tolist() == whole.sequences.ids.tolist()
    assert chunked.sequences.offsets.tolist() == whole.sequences.offsets.tolist()
    assert chunked.vocabulary.tokens == whole.vocabulary.tokens


def test_preset_weights_are_a_distribution_over_the_tokens_of_each_text() -> None:
    data = tokenize_corpus(corpus_of(["a b c"]), TextSettings())
    weights = np.ones(len(data.sequences.ids))
    weights[:3] = [0.2, 0.3, 0.5]
    batch = make_batch(data.with_preset(weights), np.array([0, 1]))
    assert batch.preset is not None
    assert batch.preset.numpy() == pytest.approx(np.array([[0.2, 0.3, 0.5], [1, 0, 0]]))
    with pytest.raises(InputError, match="Preset weights are for 3 tokens, the corpus has 12"):
        data.with_preset(weights[:3])
    for wrong in ([0.2, 0.3, 0.6], [-0.2, 0.7, 0.5]):
        with pytest.raises(InputError, match="sum to 1"):
            data.with_preset(np.concatenate((wrong, weights[3:])))


def test_vocabulary() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert len(vocabulary) == 4
    assert "a" in vocabulary
    assert "c" not in vocabulary
    assert vocabulary.ids(["b", "c", "a"]).tolist() == [3, UNKNOWN, 2]
    assert vocabulary.ids(SPECIAL).tolist() == [UNKNOWN, UNKNOWN]
    assert vocabulary.ids([]).tolist() == []
