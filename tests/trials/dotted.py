"""A corpus of documents: planted texts with a full stop after every few words."""

from __future__ import annotations

import attentest
from attentest.corpora.build import build_corpus


def dotted_corpus(rows: int = 240, every: int = 5) -> attentest.Corpus:
    """Sentences of `every` words; the first ten texts are of a single one."""
    planted = attentest.load("planted", rows=rows).table.to_pylist()
    columns = {
        "split": [row["split"] for row in planted],
        "text": [_dotted(row["text"], 1000 if i < 10 else every) for i, row in enumerate(planted)],
        "label": [row["label"] for row in planted],
        "rationale": [_dotted_marks(row["rationale"], 1000 if i < 10 else every) for i, row in enumerate(planted)],
    }
    return build_corpus("dotted", columns, classes=["no", "yes"], recipe={"lower": False})


def _dotted(text: str, every: int) -> str:
    words = text.split()
    sentences = [words[i : i + every] for i in range(0, len(words), every)]
    return " ".join(f"{' '.join(sentence)} ." for sentence in sentences)


def _dotted_marks(marks: list[int], every: int) -> list[int]:
    return [mark for i in range(0, len(marks), every) for mark in (*marks[i : i + every], 0)]
