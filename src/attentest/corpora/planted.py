"""Texts whose label is decided by words that are known: a classification corpus with a true rationale.

Every class owns a list of evidence words, which occur nowhere else; all other words are filler, with
frequencies that fall like 1/rank. An evidence word is a vote for its class, and "not" before it moves the
vote to the next class (with two classes: to the other one). The class with most votes is the label, and
the words that vote for it, with their "not", are the rationale.

`difficulty` d, from 0 to 1, changes three things, each of them steadily, and never the rule:

- rarer words: each class uses the first 4 · 64^d words of its list, 4 at d = 0 and 256 at d = 1;
- distractors: each of `evidence` − 1 places is filled, with probability d, by a vote for another class, so
  that the true class always has strictly more votes than any other;
- negation: above d = ½, each vote is written "not X" with probability d − ½, where X is a word of the class
  before. At d = 1 half the votes are, and with two classes a word without its context tells nothing.
  Filler then has a "not" before it with a fifth of that probability.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import FEWEST_ROWS, MOST_ROWS, Corpus
from attentest.errors import InputError
from attentest.memory import check_memory
from attentest.settings import LARGEST_SEED

NEGATION = "not"
FILLERS = 600
FILLER_NEGATION = 0.2  # of the share of negated votes
EASY_WORDS, HARD_WORDS = 4, 256  # evidence words of a class at difficulty 0 and 1
MOST_CLASSES = 20
LONGEST = 5_000
TOKEN = 16  # bytes of a token and its mark, about


def generate(
    rows: int = 3_000,
    difficulty: float = 0.0,
    classes: int = 2,
    tokens: int = 20,
    evidence: int = 2,
    seed: int = 0,
) -> Corpus:
    """Texts of `tokens` words on average (half as many to half as many again, each "not" extra).

    Each holds `evidence` deciding votes. Classes are balanced in every split (68 % train, 12 % dev, 20 %
    test). A row depends on the seed and its number alone: asking for more rows keeps the first ones.
    """
    _check(rows, difficulty, classes, tokens, evidence, seed)
    check_memory(TOKEN * rows * tokens, f"A planted corpus of {rows:,} rows")
    columns: dict[str, list[Any]] = {key: [] for key in ("split", "text", "label", "rationale")}
    for row in range(rows):
        label = row % classes
        words, marks = _row(np.random.default_rng([seed, row]), label, difficulty, classes, tokens, evidence)
        columns["split"].append(_split(row // classes))
        columns["text"].append(" ".join(words))
        columns["label"].append(label)
        columns["rationale"].append(marks)
    return build_corpus(
        "planted",
        columns,
        classes=[f"class {c}" for c in range(classes)],
        recipe={"lower": False, "digits": "keep", "min_frequency": 1},
    )


def decide(text: str, classes: int = 2) -> int | None:
    """The label of a text by the rule alone: the class with most votes, or None where no class has."""
    votes = np.zeros(classes, dtype=int)
    before = ""
    for word in text.split():
        owner = _owners().get(word)
        if owner is not None and owner < classes:
            votes[(owner + (before == NEGATION)) % classes] += 1
        before = word
    most = int(votes.max())
    return int(votes.argmax()) if most and (votes == most).sum() == 1 else None


def evidence_words(label: int, difficulty: float = 1.0) -> tuple[str, ...]:
    """The evidence words that a class uses at a difficulty; those of a lower one come first."""
    count = round(EASY_WORDS * (HARD_WORDS / EASY_WORDS) ** difficulty)
    start = FILLERS + label * HARD_WORDS
    return lexicon()[start : start + count]


def _row(
    generator: np.random.Generator, label: int, difficulty: float, classes: int, tokens: int, evidence: int
) -> tuple[list[str], list[int]]:
    """The words of one text, and a mark for each."""
    units = int(generator.integers((tokens + 1) // 2, 3 * tokens // 2 + 1))
    rivals = int((generator.random(evidence - 1) < difficulty).sum())
    votes = [label] * evidence
    votes += ((label + generator.integers(1, classes, size=rivals)) % classes).tolist()
    fillers = np.searchsorted(_zipf(), generator.random(units - len(votes)))
    share = np.r_[np.ones(len(votes)), np.full(len(fillers), FILLER_NEGATION)]
    negated = (generator.random(units) < max(0.0, difficulty - 0.5) * share).tolist()
    chosen = []
    for vote, moved in zip(votes, negated, strict=False):
        own = evidence_words((vote - moved) % classes, difficulty)
        chosen.append(own[int(generator.integers(len(own)))])
    chosen += [lexicon()[i] for i in fillers]
    words: list[str] = []
    marks: list[int] = []
    for i in generator.permutation(units):
        # the deciding votes were drawn first; "not" and its word stay together
        piece = [NEGATION, chosen[i]] if negated[i] else [chosen[i]]
        words += piece
        marks += [int(i < evidence)] * len(piece)
    return words, marks


def _split(block: int) -> str:
    if block % 5 == 1:
        return "test"
    return "dev" if block % 25 in (2, 10, 18) else "train"


@cache
def lexicon() -> tuple[str, ...]:
    """Made-up words of two syllables, in an order that is always the same: filler, then class by class."""
    syllables = [c + v for c in "bdfghjklmnprstvwyz" for v in "aeiou"]
    words = [first + second for first in syllables for second in syllables]
    return tuple(words[i] for i in np.random.default_rng(7).permutation(len(words)))


@cache
def _owners() -> dict[str, int]:
    return {word: c for c in range(MOST_CLASSES) for word in evidence_words(c)}


@cache
def _zipf() -> np.ndarray:
    """The share of filler that is among the first 1, 2, 3… words."""
    frequency = 1 / np.arange(1, FILLERS + 1)
    bounds: np.ndarray = np.cumsum(frequency)[:-1] / frequency.sum()
    return bounds


def _check(rows: int, difficulty: float, classes: int, tokens: int, evidence: int, seed: int) -> None:
    fewest = max(FEWEST_ROWS, 5 * classes)
    wrong = {
        f"difficulty={difficulty}: choose from 0 (easy) to 1 (hard)": not 0 <= difficulty <= 1,
        f"classes={classes}: choose from 2 to {MOST_CLASSES}": not 2 <= classes <= MOST_CLASSES,
        f"rows={rows}: {classes} classes need at least {fewest}": rows < fewest,
        f"rows={rows}: choose at most {MOST_ROWS:,}": rows > MOST_ROWS,
        f"evidence={evidence}: a label needs at least one deciding word": evidence < 1,
        f"tokens={tokens}: with evidence={evidence}, choose from {4 * evidence} to {LONGEST}": (
            not 4 * evidence <= tokens <= LONGEST
        ),
        f"seed={seed}: choose from 0 to {LARGEST_SEED:,}": not 0 <= seed <= LARGEST_SEED,
    }
    for sentence, bad in wrong.items():
        if bad:
            raise InputError(f"The planted corpus cannot be made with {sentence}.")
