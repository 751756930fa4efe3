"""Word pieces: the model's own ids, places and words in the user's text, cuts, pairs and special tokens."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_tokenizers import SENTENCES, byte_pieces, whole_text_pieces, word_pieces

from attentest.corpora import Corpus, build_corpus
from attentest.errors import InputError
from attentest.text import TextSettings, tokenize_corpus, tokenize_pieces
from attentest.text.items import merged
from attentest.text.pieces import PieceTokenizer, cut_lengths
from attentest.text.rationales import token_marks

Maker = Callable[[], PieceTokenizer]
tokenizers = pytest.importorskip("tokenizers")

KINDS = pytest.mark.parametrize("make", [word_pieces, byte_pieces, whole_text_pieces])
ODD = "The unwatchable film…  isn't naïve: 日本 🎬🎬\n\n ok "


def corpus_of(texts: list[str], seconds: list[str] | None = None, **more: Any) -> Corpus:
    number = np.arange(len(texts))
    columns = {"text": texts, "label": (number % 2).tolist(), **more}
    if seconds is None:
        return build_corpus("x", columns)
    return build_corpus("x", columns | {"second": seconds}, kind="pair")


@KINDS
@pytest.mark.parametrize("text", [*SENTENCES, ODD])
def test_tokens_spans_and_words_are_of_the_same_pieces(make: Maker, text: str) -> None:
    tokenizer = make()
    tokens, spans, words = tokenizer.tokens(text), tokenizer.spans(text), tokenizer.words(text)
    assert len(tokens) == len(spans) == len(words)
    assert tokenizer.vocabulary.ids(tokens).tolist() == tokenizer.ids([text])[0]
    for start, end in spans:
        assert 0 <= start <= end <= len(text)
        assert text[start:end] == text[start:end].strip()
    assert words == sorted(words)
    assert set(np.diff(words)) <= {0, 1}


@KINDS
@pytest.mark.parametrize("text", [*SENTENCES, ODD])
def test_words_are_whole_words_of_the_text(make: Maker, text: str) -> None:
    spans = make().items(text, None, 1000).word_spans
    assert [end for span in spans for end in span] == sorted(end for span in spans for end in span)
    inside = {place for span in spans for place in range(*span)}
    assert inside == {place for place, character in enumerate(text) if not character.isspace()}
    assert not any(character.isspace() for span in spans for character in text[slice(*span)])


def test_words_of_each_kind() -> None:
    def words(tokenizer: PieceTokenizer) -> list[str]:
        return [ODD[slice(*span)] for span in tokenizer.items(ODD, None, 1000).word_spans]

    pieces = word_pieces().tokens(ODD)
    assert pieces[:5] == ["the", "un", "##watch", "##able", "film"]
    assert words(word_pieces())[:6] == ["The", "unwatchable", "film", "…", "isn", "'"]
    assert words(byte_pieces())[:6] == ["The", "unwatchable", "film", "…", "isn", "'t"]
    assert words(whole_text_pieces()) == ["The", "unwatchable", "film…", "isn't", "naïve:", "日本", "🎬🎬", "ok"]


def test_values_of_pieces_sum_to_those_of_words() -> None:
    items = word_pieces().items("The unwatchable film", None, 100)
    assert merged([0.1, 0.1, 0.3, 0.2, 0.3], items.words) == pytest.approx([0.1, 0.6, 0.3])
    special = replace(word_pieces(), special=True).items("The film", None, 100)
    assert special.tokens == ["[CLS]", "the", "film", "[SEP]"]
    assert merged([0.5, 0.1, 0.2, 0.2], special.words) == pytest.approx([0.1, 0.2])


def test_what_the_file_says_of_cuts_and_padding_is_left_aside() -> None:
    tokenizer = word_pieces()
    found = tokenizer.ids([SENTENCES[0], "film"])
    assert len(found[0]) > 4
    assert len(found[1]) == 1


def test_an_unknown_piece_is_not_in_the_vocabulary() -> None:
    vocabulary = word_pieces().vocabulary
    assert "film" in vocabulary
    assert "[UNK]" not in vocabulary
    assert "日" not in vocabulary
    assert vocabulary.tokens[vocabulary.unknown] == "[UNK]"
    assert len(vocabulary) == 73
    assert "a" in byte_pieces().vocabulary


def test_the_unknown_piece_of_unigrams_is_the_one_they_number() -> None:
    scores = [("<s>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("a", -1.0), ("b", -2.0)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(scores, unk_id=2))
    made.add_special_tokens(["<s>", "</s>", "<unk>"])
    tokenizer = PieceTokenizer(made.to_str())
    assert tokenizer.vocabulary.unknown == 2
    assert tokenizer.vocabulary.ids(tokenizer.tokens("ab☃a")).tolist() == tokenizer.ids(["ab☃a"])[0]


@pytest.mark.parametrize(
    ("lengths", "most", "kept"),
    [
        ([3, 4], 7, [3, 4]),
        ([3, 9], 7, [3, 4]),
        ([9, 3], 7, [4, 3]),
        ([9, 9], 7, [3, 4]),
        ([20, 9], 7, [4, 3]),
        ([9], 7, [7]),
        ([6], 7, [6]),
    ],
)
def test_the_longer_text_of_a_pair_is_cut_first(lengths: list[int], most: int, kept: list[int]) -> None:
    assert cut_lengths(lengths, most) == kept


def test_pairs_are_cut_as_the_tokenizers_library_cuts_them() -> None:
    tokenizer = word_pieces()
    theirs = PieceTokenizer(tokenizer.definition).backend
    for most in range(2, 20):
        theirs.enable_truncation(most)
        for first, second in ((0, 1), (1, 0), (3, 5), (4, 2)):
            expected = theirs.encode(SENTENCES[first], SENTENCES[second], add_special_tokens=False)
            items = tokenizer.items(SENTENCES[first], SENTENCES[second], most)
            assert list(items.tokens) == expected.tokens


@KINDS
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("pair", [False, True])
def test_a_corpus_has_the_ids_that_its_items_have(make: Maker, special: bool, pair: bool) -> None:
    tokenizer = make()
    corpus = corpus_of([*SENTENCES, ODD], [*SENTENCES[5:], ODD, *SENTENCES[:5]] if pair else None)
    data = tokenize_pieces(corpus, tokenizer, max_tokens=14, special=special)
    frame = tokenizer.frame(pair=pair)
    assert data.sequences.lengths.max() == 14 + (frame.size if special else 0)
    for row, items in enumerate(data.items(np.arange(len(data.rows)))):
        assert data.vocabulary.ids(items.tokens).tolist() == data.sequences[row].tolist()
        assert ((items.texts == -1).sum() == frame.size) == special
        if pair and not special:
            assert data.sentences is not None
            begin, end = data.sequences.offsets[row : row + 2]
            assert data.sentences[begin:end].tolist() == items.texts.tolist()
            assert set(items.texts.tolist()) == {0, 1}


@pytest.mark.parametrize("pair", [False, True])
def test_with_special_tokens_a_text_is_what_the_tokenizer_makes_of_it(pair: bool) -> None:
    tokenizer = word_pieces()
    seconds = list(reversed(SENTENCES)) if pair else None
    data = tokenize_pieces(corpus_of(list(SENTENCES), seconds), tokenizer, max_tokens=1000, special=True)
    for row in range(len(SENTENCES)):
        expected = tokenizer.backend.encode(SENTENCES[row], seconds[row] if seconds else None)
        assert data.sequences[row].tolist() == expected.ids
        if data.sentences is not None:
            begin, end = data.sequences.offsets[row : row + 2]
            assert data.sentences[begin:end].tolist() == expected.type_ids
    assert (data.sentences is not None) == pair


def test_cut_and_empty_texts_are_counted() -> None:
    texts = [*SENTENCES, "film", "\u0301"]  # an accent, which BERT's normalizer takes away
    data = tokenize_pieces(corpus_of(texts), word_pieces(), max_tokens=12)
    longer = sum(len(word_pieces().tokens(text)) > 12 for text in texts)
    longest = max(len(word_pieces().tokens(text)) for text in texts)
    assert len(data.rows) == len(SENTENCES) + 1
    assert data.notes == (
        "Dropped 1 texts without a token.",
        f"Cut {longer} of 11 texts to 12 word pieces (the longest has {longest}); `max_tokens` sets the limit, up to "
        "what the model can read.",
    )


def test_a_corpus_without_a_piece_is_refused() -> None:
    with pytest.raises(InputError, match="no text has a token"):
        tokenize_pieces(corpus_of(["\u0301"] * 10), word_pieces(), max_tokens=5)


@pytest.mark.parametrize("special", [False, True])
def test_rationales_reach_all_pieces_of_a_word(special: bool) -> None:
    texts = ["The unwatchable film , too"] * 10
    corpus = corpus_of(texts, ["unwatchable"] * 10, rationale=[[0, 1, 0, 0, 0]] * 10)
    data = tokenize_pieces(corpus, word_pieces(), max_tokens=100, special=special)
    marks = token_marks(data)[: data.sequences.offsets[1]]
    tokens = [data.vocabulary.tokens[i] for i in data.sequences[0]]
    marked = [token for token, mark in zip(tokens, marks, strict=True) if mark]
    assert marked == ["un", "##watch", "##able"]  # and not those of the second text


def test_the_tokenizer_of_a_corpus_of_words_is_made_of_its_settings() -> None:
    data = tokenize_corpus(corpus_of(list(SENTENCES)), TextSettings(lower=False))
    assert data.tokenizer.tokens("The film's") == ["The", "film", "'s"]
    pieces = tokenize_pieces(corpus_of(list(SENTENCES)), word_pieces(), max_tokens=9)
    assert pieces.tokenizer == word_pieces()


def test_a_tokenizer_goes_to_other_processes() -> None:
    tokenizer = word_pieces()
    tokens = tokenizer.tokens(ODD)
    assert pickle.loads(pickle.dumps(tokenizer)).tokens(ODD) == tokens


@pytest.mark.parametrize("content", ["{}", "no json", '{"model": {"type": "Nothing"}}'])
def test_a_file_that_is_no_tokenizer_is_refused_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"tokenizer\.json: This is no tokenizer of the library `tokenizers`"):
        PieceTokenizer.read(tmp_path / "tokenizer.json")
    with pytest.raises(InputError, match="cannot be read"):
        PieceTokenizer.read(tmp_path / "none.json")
