"""Sinks: tokens that draw weight whatever the text says, such as the first token (Xiao et al. 2024) or periods and
commas (Clark et al. 2019).

A kind of word piece, or the first or last place of a text, is a sink if in the texts of every class that the model
predicts
- it stands in at least half of them (`STANDS`): a word of few texts may have its weight because it decides these,
- it has on average at least three times its share of the weight (`TIMES`), as even weights would give it, and
- it has more than its share in at least three quarters of the texts in which it stands (`OFTEN`).

A place counts by the texts in which no piece stands there that is a sink itself. The numbers are our convention; the
weights are those that verdicts judge, and the texts others than those that are judged (`trials/sinks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from attentest.text.sequences import Sequences

STANDS, TIMES, OFTEN = 0.5, 3.0, 0.75
FEWEST = 20  # texts of a class, or with another token at a place, to tell by
FIRST, LAST = "first", "last"


@dataclass(frozen=True)
class Sink:
    """A word piece by its id, or a place."""

    piece: int | None
    place: str | None
    stands: float  # share of the texts in which it stands, or counts
    weight: float  # that it has there, on average
    times: float  # its share


@dataclass(frozen=True)
class Sinks:
    """Which tokens of a text are sinks."""

    pieces: tuple[int, ...] = ()
    first: bool = False
    last: bool = False

    @classmethod
    def of(cls, found: Sequence[Sink]) -> Sinks:
        places = {sink.place for sink in found}
        return cls(tuple(sink.piece for sink in found if sink.piece is not None), FIRST in places, LAST in places)

    def among(self, sequences: Sequences) -> Bool[np.ndarray, "tokens"]:
        found = np.isin(sequences.ids, self.pieces)
        found[sequences.offsets[:-1]] |= self.first
        found[sequences.offsets[1:] - 1] |= self.last
        return found


@dataclass(frozen=True)
class Held:
    """What one token, or all of a kind in a text, holds."""

    text: Int[np.ndarray, "held"]
    weight: Float[np.ndarray, "held"]
    even: Float[np.ndarray, "held"]  # what even weights would give it

    def __getitem__(self, chosen: np.ndarray) -> Held:
        return Held(self.text[chosen], self.weight[chosen], self.even[chosen])

    @property
    def times(self) -> float:
        return float(self.weight.sum() / self.even.sum())

    def draws(self) -> bool:
        """Whether it has several times its share, and nearly everywhere more."""
        return self.times >= TIMES and bool((self.weight > self.even).mean() >= OFTEN)


def enough_texts(predicted: Int[np.ndarray, "texts"]) -> bool:
    return len(_classes(predicted)) > 0


def find_sinks(
    sequences: Sequences, weights: Float[np.ndarray, "tokens"], predicted: Int[np.ndarray, "texts"]
) -> list[Sink]:
    """The sinks among the tokens of texts with these weights, which sum to 1 in each text; classes that are predicted
    for few texts do not count."""
    classes = _classes(predicted)
    if not len(classes):
        return []
    lengths = sequences.lengths
    text = np.repeat(np.arange(len(sequences)), lengths)
    even = np.repeat(1 / lengths, lengths)
    every = Held(text, weights, even)
    found = [
        _sink(held, len(sequences), piece=piece)
        for piece, held in _of_kinds(sequences.ids, every, predicted, classes)
        if all(held[predicted[held.text] == one].draws() for one in classes)
    ]
    known = np.isin(sequences.ids, Sinks.of(found).pieces)
    for place, token in ((FIRST, sequences.offsets[:-1]), (LAST, sequences.offsets[1:] - 1)):
        held = every[token[~known[token]]]
        of_classes = [held[predicted[held.text] == one] for one in classes]
        if all(len(one.text) >= FEWEST and one.draws() for one in of_classes):
            found.append(_sink(held, len(sequences), place=place))
    return found


def _classes(predicted: Int[np.ndarray, "texts"]) -> Int[np.ndarray, "classes"]:
    names, counts = np.unique(predicted, return_counts=True)
    kept: np.ndarray = names[counts >= FEWEST]
    return kept


def _of_kinds(ids: np.ndarray, every: Held, predicted: np.ndarray, classes: np.ndarray) -> Iterator[tuple[int, Held]]:
    """What each kind of piece holds that stands in enough texts of every class."""
    kinds, kind = np.unique(ids, return_inverse=True)
    pairs, pair = np.unique(every.text * len(kinds) + kind, return_inverse=True)  # text and kind
    summed = Held(pairs // len(kinds), np.bincount(pair, every.weight), np.bincount(pair, every.even))
    of_kind = pairs % len(kinds)
    often = np.ones(len(kinds), bool)
    for one in classes:
        there = np.bincount(of_kind[predicted[summed.text] == one], minlength=len(kinds))
        often &= there >= STANDS * (predicted == one).sum()
    for place in np.flatnonzero(often):
        yield int(kinds[place]), summed[of_kind == place]


def _sink(held: Held, texts: int, piece: int | None = None, place: str | None = None) -> Sink:
    return Sink(piece, place, len(held.text) / texts, float(held.weight.mean()), held.times)
