"""Rationales in the forms corpora give them, as one 0/1 for each whitespace-separated word."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

_WORD = re.compile(r"\S+")


def of_sentences(text: str, supporting: Collection[int]) -> list[int]:
    """Marks every word of the supporting lines of a text with one sentence a line."""
    return [int(i in supporting) for i, line in enumerate(text.split("\n")) for _ in line.split()]


def of_phrases(text: str, phrases: Iterable[str]) -> list[int]:
    """Marks every word that a verbatim phrase touches, wherever the phrase occurs."""
    spans = [m.span() for p in phrases if p for m in re.finditer(re.escape(p), text)]
    return [int(any(m.start() < end and start < m.end() for start, end in spans)) for m in _WORD.finditer(text)]


def of_majority(annotations: Sequence[Sequence[int]]) -> list[int]:
    """Marks the words that at least half of the annotators marked."""
    return [int(2 * sum(marks) >= len(marks)) for marks in zip(*annotations, strict=True)]
