"""Items whose answer is known, to see who answers without reading.

Where the corpus has rationales: three words of which at least two are the reason (yes), or none is (no), in texts that
the model decides right. Elsewhere three words that can be no reason, such as "the" and a comma (no); an annotator who
always says no passes these, so rationales are better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attentest.people.study import MARKED

LEAST_OF_REASON = 2  # words among the marked ones that make them relevant
EMPTY = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "it", "its", "he", "him", "his", "she", "her"),
        *("they", "them", "their", "we", "us", "our", "you", "your", "i", "me", "my", "and", "or", "of"),
        *("to", "in", "on", "at", "by", "for", "with", "from", "as", "is", "are", "was", "were", "be"),
        *("been", "am", "do", "does", "did", "has", "have", "had", "will", "would", "there", "here", "than", "then"),
        *("which", "who", "whom", "whose", "what", "when", "where"),
    )
)


def known_answer(row: Mapping[str, Any], words: Sequence[str], seed: int) -> tuple[list[int], bool] | None:
    """The words to mark in a text, and the right answer; None where none is certain."""
    if row["predicted"] != row["label"]:
        return None
    generator = np.random.default_rng(seed)
    if row["rationale"] is None:
        empty = {word.lower(): n for n, word in enumerate(words) if _is_empty(word)}  # each word once
        return (_some(list(empty.values()), MARKED, generator), False) if len(empty) >= MARKED else None
    reason = [n for n, marked in enumerate(row["rationale"]) if marked]
    others = [n for n, marked in enumerate(row["rationale"]) if not marked]
    answer = bool(generator.integers(2)) and len(reason) >= LEAST_OF_REASON
    first = _some(reason, MARKED, generator) if answer else []
    if len(first) + len(others) < MARKED:
        return None
    return sorted(first + _some(others, MARKED - len(first), generator)), answer


def _is_empty(word: str) -> bool:
    return word.lower() in EMPTY or not any(sign.isalnum() for sign in word)


def _some(numbers: Sequence[int], most: int, generator: np.random.Generator) -> list[int]:
    return sorted(int(n) for n in generator.permutation(np.array(numbers, int))[:most])
