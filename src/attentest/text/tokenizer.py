"""Text to tokens, each with its place in the original text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar
from unicodedata import category

import numpy as np

from attentest.text.items import Items, Span
from attentest.text.settings import TextSettings

# vowel signs and accents belong to the letter before them, and joiners stand inside words; \w knows neither
_MARKS = "".join(chr(c) for c in range(0x300, 0xFE30) if category(chr(c)) in ("Mn", "Mc")) + "\u200c\u200d"
_WORD = re.compile(
    rf"""
      \w+?(?=n['’]t\b)            # the "do" of don't
    | n['’]t\b
    | ['’](?:s|re|ve|d|ll|m)\b    # the 's of it's
    | \w[\w{_MARKS}]*
    | [^\w\s]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WHITESPACE = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Tokenizer:
    """Splits text by the rules of the settings; `spans` say where each token came from."""

    in_pieces: ClassVar[bool] = False

    settings: TextSettings

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _WORD if self.settings.tokenizer == "word" else _WHITESPACE

    def tokens(self, text: str) -> list[str]:
        return self.normalise(self._pattern.findall(text))

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in self._pattern.finditer(text)]

    def items(self, text: str, second: str | None, length: int) -> Items:
        """The first `length` tokens; the second text of a pair is read for itself."""
        spans = self.spans(text)[:length]
        numbers = np.arange(len(spans))
        return Items(self.normalise([text[a:b] for a, b in spans]), spans, np.zeros_like(numbers), numbers)

    def normalise(self, pieces: list[str]) -> list[str]:
        # after splitting, not before: lower-casing can change a text's length, and spans point into the original
        if self.settings.lower:
            pieces = [piece.lower() for piece in pieces]
        if self.settings.digits == "qqq":
            pieces = ["qqq" if _DIGIT.search(piece) else piece for piece in pieces]
        return pieces
