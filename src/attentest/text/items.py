"""What a model reads of a text, or of the two of a pair: tokens, their places, and the words that they are part of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from jaxtyping import Float, Int

Span = tuple[int, int]
NO_TEXT = -1  # of special tokens, which stand in no text and in no word
_WORDS = re.compile(r"\S+")


@dataclass(frozen=True)
class Items:
    """Tokens in the order of the batch; `texts` and `words` are -1 for special tokens."""

    tokens: Sequence[str]
    spans: Sequence[Span]
    texts: Int[np.ndarray, "items"]  # 0: the text, 1: the second text of a pair
    words: Int[np.ndarray, "items"]  # numbers of words, which go on from the text to the second text

    @property
    def word_spans(self) -> list[Span]:
        """The place of each word in its own text."""
        found: dict[int, Span] = {}
        for word, (start, end) in zip(self.words.tolist(), self.spans, strict=True):
            first, last = found.get(word, (0, 0))
            if first == last:
                found[word] = start, end
            elif start < end:  # pieces of blanks make no word longer
                found[word] = min(first, start), max(last, end)
        return [span for word, span in found.items() if word != NO_TEXT]

    @property
    def words_in_second(self) -> int:
        """How many of the words, the last ones, stand in the second text."""
        return len(np.unique(self.words[self.texts == 1]))

    def marks(self, text: str, rationale: Sequence[int]) -> list[int]:
        """The marks of a text's whitespace-separated words, carried over to the items."""
        inside: list[int] = np.flatnonzero(self.texts == 0).tolist()
        marks = np.zeros(len(self.spans), np.int8)
        marks[inside] = mark_tokens(text, rationale, [self.spans[i] for i in inside])
        found: list[int] = marks.tolist()
        return found


def joined(parts: Sequence[Items]) -> Items:
    """Parts of what is read, one after the other; words are numbered on."""
    words: list[np.ndarray] = []
    count = 0
    for part in parts:
        words.append(np.where(part.words == NO_TEXT, NO_TEXT, part.words + count))
        count += int(part.words.max(initial=NO_TEXT)) + 1
    tokens = [token for part in parts for token in part.tokens]
    spans = [span for part in parts for span in part.spans]
    return Items(tokens, spans, np.concatenate([part.texts for part in parts]), np.concatenate(words))


class TextTokenizer(Protocol):
    """What splits texts: words by rule, or word pieces of a pretrained model."""

    in_pieces: ClassVar[bool]  # whether tokens are parts of words, and the two texts of a pair are read as one

    def tokens(self, text: str) -> list[str]: ...

    def spans(self, text: str) -> list[Span]: ...

    def items(self, text: str, second: str | None, length: int) -> Items:
        """The first `length` tokens of a text or, where both texts of a pair are read as one, of the pair."""
        ...


def merged(values: Sequence[float] | np.ndarray, words: Int[np.ndarray, "items"]) -> Float[np.ndarray, "words"]:
    """The sum over each word's tokens; special tokens are left out."""
    inside = words != NO_TEXT
    return np.bincount(words[inside], np.asarray(values, np.float64)[inside])


def merged_marks(marks: Sequence[int] | Sequence[bool], words: Int[np.ndarray, "items"]) -> list[bool]:
    """Whether any token of each word is marked."""
    found: list[bool] = (merged(np.asarray(marks, np.float64), words) > 0).tolist()
    return found


def mark_tokens(text: str, marks: Sequence[int], spans: Sequence[Span]) -> list[int]:
    """A rationale given for whitespace-separated words, carried over to tokens: one that touches a marked word."""
    words = [match.span() for match in _WORDS.finditer(text)]
    carried, at = [], 0
    for start, end in spans:
        while at < len(words) and words[at][1] <= start:
            at += 1
        carried.append(int(at < len(words) and words[at][0] < end and bool(marks[at])))
    return carried
