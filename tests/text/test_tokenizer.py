"""Tokens and their places: every character that is not a blank belongs to exactly one token."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.errors import InputError
from attentest.text.items import mark_tokens
from attentest.text.settings import TextSettings
from attentest.text.tokenizer import Tokenizer

WORD = Tokenizer(TextSettings())
CASED = Tokenizer(TextSettings(lower=False))
WHITESPACE = Tokenizer(TextSettings(tokenizer="whitespace", lower=False))
QQQ = Tokenizer(TextSettings(digits="qqq"))
# any text, and texts made of the pieces that the rules are about
PIECES = ["n't", "n’t", "'s", "’ll", "n", "t", "'", "do", "N", "İ", "ß", " ", "\n", "_", "3", "😀", "\0", "é"]
TEXTS = st.text() | st.lists(st.sampled_from(PIECES)).map("".join)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("don't", ["do", "n't"]),
        ("Don’t", ["do", "n’t"]),
        ("DON'T", ["do", "n't"]),
        ("can't", ["ca", "n't"]),
        ("isn't it?", ["is", "n't", "it", "?"]),
        ("n't", ["n't"]),
        ("it's", ["it", "'s"]),
        ("IT’S", ["it", "’s"]),
        ("we'll they've I'm you'd you're", ["we", "'ll", "they", "'ve", "i", "'m", "you", "'d", "you", "'re"]),
        ("the dogs' 'sad' song", ["the", "dogs", "'", "'", "sad", "'", "song"]),
        ("rock'n'roll", ["rock", "'", "n", "'", "roll"]),
        ("don'ts", ["don", "'", "ts"]),
        ("Well...no!", ["well", ".", ".", ".", "no", "!"]),
        ("state-of-the-art", ["state", "-", "of", "-", "the", "-", "art"]),
        ("10/10, 3.5 stars", ["10", "/", "10", ",", "3", ".", "5", "stars"]),
        ("<br />", ["<", "br", "/", ">"]),
        ("😀👍🏽", ["😀", "👍", "🏽"]),
        ("שלום, עולם", ["שלום", ",", "עולם"]),
        ("snake_case", ["snake_case"]),
        ("a\0b", ["a", "\0", "b"]),
        ("", []),
        (" \t\n\u00a0", []),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    assert WORD.tokens(text) == tokens


def test_case_may_be_kept() -> None:
    assert CASED.tokens("It ISN'T") == ["It", "IS", "N'T"]


def test_lower_case_can_be_longer_than_the_text() -> None:
    text = "İstanbul is big"
    assert WORD.tokens(text) == ["i̇stanbul", "is", "big"]
    assert [text[a:b] for a, b in WORD.spans(text)] == ["İstanbul", "is", "big"]


def test_digits_become_qqq() -> None:
    assert QQQ.tokens("In 1984 the 2nd, v2 of ٣ was .5 bad") == (
        ["in", "qqq", "the", "qqq", ",", "qqq", "of", "qqq", "was", ".", "qqq", "bad"]
    )
    assert WORD.tokens("In 1984") == ["in", "1984"]


def test_whitespace() -> None:
    assert WHITESPACE.tokens("It 's\tn't-so (bad)\u00a0 at\nall") == ["It", "'s", "n't-so", "(bad)", "at", "all"]


@pytest.mark.parametrize("tokenizer", [WORD, CASED, WHITESPACE, QQQ])
@settings(deadline=None)
@given(text=TEXTS)
def test_spans_cover_every_character_once(tokenizer: Tokenizer, text: str) -> None:
    spans = tokenizer.spans(text)
    ends = [0, *(end for _, end in spans)]
    assert all(before <= start < end <= len(text) for before, (start, end) in zip(ends, spans, strict=False))
    covered = {i for start, end in spans for i in range(start, end)}
    assert covered == {i for i, c in enumerate(text) if not c.isspace()}
    assert tokenizer.normalise([text[start:end] for start, end in spans]) == tokenizer.tokens(text)


@settings(deadline=None)
@given(text=TEXTS)
def test_whitespace_is_python_split(text: str) -> None:
    assert WHITESPACE.tokens(text) == text.split()


def test_a_word_of_a_million_letters_takes_one_pass() -> None:
    assert WORD.tokens("n" * 1_000_000 + "'t") == ["n" * 999_999, "n't"]
    assert len(WORD.tokens("a" * 1_000_000 + "'")) == 2


# Rationales carried over


def marks_by_hand(text: str, marks: list[int], spans: list[tuple[int, int]]) -> list[int]:
    """Character by character: a token is marked if any character of it is in a marked word."""
    word_of, word, inside = {}, -1, False
    for i, character in enumerate(text):
        if character.isspace():
            inside = False
        else:
            word += not inside
            inside = True
            word_of[i] = word
    return [int(any(i in word_of and marks[word_of[i]] for i in range(start, end))) for start, end in spans]


@pytest.mark.parametrize("tokenizer", [WORD, WHITESPACE])
@settings(deadline=None)
@given(text=TEXTS, data=st.data())
def test_marks_of_words_become_marks_of_tokens(tokenizer: Tokenizer, text: str, data: st.DataObject) -> None:
    words = len(text.split())
    marks = data.draw(st.lists(st.integers(0, 1), min_size=words, max_size=words))
    spans = tokenizer.spans(text)
    assert mark_tokens(text, marks, spans) == marks_by_hand(text, marks, spans)


def test_marks_by_example() -> None:
    text = " It isn't bad, really."
    assert WORD.tokens(text) == ["it", "is", "n't", "bad", ",", "really", "."]
    assert mark_tokens(text, [0, 1, 1, 0], WORD.spans(text)) == [0, 1, 1, 1, 1, 0, 0]


def test_marks_of_a_text_that_was_cut() -> None:
    text = "one two three"
    assert mark_tokens(text, [0, 1, 1], WORD.spans(text)[:2]) == [0, 1]
    assert mark_tokens(text, [0, 1, 1], []) == []


# Settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tokenizer": "wrd"}, "Unknown tokenizer 'wrd'; did you mean 'word'"),
        ({"digits": "drop"}, "Unknown digits 'drop'"),
        ({"long": "cutt"}, "Unknown long 'cutt'; did you mean 'cut'"),
        ({"min_frequency": 0}, "min_frequency is 0; it must be at least 1"),
        ({"max_tokens": -1}, "max_tokens is -1; it must be at least 1"),
        ({"dimension": 0}, "dimension is 0"),
        ({"min_tokens": 8, "max_tokens": 7}, "max_tokens 7 is less than min_tokens 8"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        TextSettings(**settings)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),  # vowel signs and virama
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),  # an accent of its own
        ("می\u200cخواهم", ["می\u200cخواهم"]),  # a joiner inside a word
        ("\u0301 alone", ["\u0301", "alone"]),
    ],
)
def test_marks_stay_with_their_letters(text: str, tokens: list[str]) -> None:
    assert Tokenizer(TextSettings()).tokens(text) == tokens
