"""Rationales in the forms corpora give them, as one 0/1 for each whitespace-separated word."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

_WORD = re.compile(r"\S+")
_MARK = re.compile(r"true|false|[01](?:\.0)?")
_WRITTEN = re.compile(rf"(?:{_MARK.pattern}|[\s,\[\]])*", re.IGNORECASE)


def of_sentences(text: str, supporting: Collection[int]) -> list[int]:
    """Marks every word of the supporting lines of a text with one sentence a line."""
    return [int(i in supporting) for i, line in enumerate(text.split("\n")) for _ in line.split()]


def of_phrases(text: str, phrases: Iterable[str]) -> list[int]:
    """Marks every word that a verbatim phrase touches, wherever the phrase occurs."""
    return of_spans(text, [m.span() for p in phrases if p for m in re.finditer(re.escape(p), text)])


def of_spans(text: str, spans: Collection[tuple[int, int]]) -> list[int]:
    """Marks every word that a span of characters touches."""
    return [int(any(m.start() < end and start < m.end() for start, end in spans)) for m in _WORD.finditer(text)]


def of_majority(annotations: Sequence[Sequence[int]]) -> list[int]:
    """Marks the words that at least half of the annotators marked."""
    return [int(2 * sum(marks) >= len(marks)) for marks in zip(*annotations, strict=True)]


def of_written(marks: str) -> list[int]:
    """Marks written out: '0 1 1 0', '0110' or '[0, 1, 1, 0]'."""
    if not _WRITTEN.fullmatch(marks):
        raise ValueError(f"it holds '{marks[:40]}'")
    return [int(mark[0] in "1t") for mark in _MARK.findall(marks.lower())]
