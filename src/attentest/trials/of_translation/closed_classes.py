"""Function words of English and German: the words of the closed classes, in all their forms, lower-cased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

NAMES = {"en": "English", "de": "German"}
ENOUGH = 0.25  # of running words: a list of another language covers far less, its own far more


@cache
def listed(language: str) -> frozenset[str]:
    """Of function_words/LANGUAGE.txt, whose lines that begin with # name the classes."""
    file = files("attentest.trials.of_translation") / "function_words" / f"{language}.txt"
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def language_of(words: Iterable[str]) -> str | None:
    """The language whose function words cover most of the running words, if they cover enough of them."""
    counts = Counter(words)
    total = counts.total()
    covered = {code: sum(n for word, n in counts.items() if word.lower() in listed(code)) for code in NAMES}
    best = max(covered, key=lambda code: covered[code])
    return best if total and covered[best] >= ENOUGH * total else None
