"""Tokens that a model reads and that do not count as items of a text: they stay where they are, whatever becomes of the
items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from attentest.text.sequences import Sequences

if TYPE_CHECKING:
    from attentest.text.prepare import TokenizedCorpus

NONE = -1  # the place of what fills up


@dataclass(frozen=True)
class Aside:
    """`places` are those of the items in the whole texts; the rest is of the tokens that are set aside."""

    places: Int[np.ndarray, "items"]
    sequences: Sequences
    own_places: Int[np.ndarray, "aside"]
    numbers: Int[np.ndarray, "aside"]  # of their sentences; 0 where these are not told apart

    def take(self, rows: Int[np.ndarray, "taken"], items: Int[np.ndarray, "items"]) -> Aside:
        """Those of these texts, each as often as it is named; `items` are the numbers of their items."""
        where = Sequences(np.arange(len(self.own_places)), self.sequences.offsets).take(rows)
        sequences = Sequences(self.sequences.ids[where.ids], where.offsets)
        return Aside(self.places[items], sequences, self.own_places[where.ids], self.numbers[where.ids])

    def padded(self, rows: Int[np.ndarray, "batch"]) -> Int[np.ndarray, "batch aside 3"]:
        """The place, the id and the sentence of each."""
        ids, real = self.sequences.padded(rows)
        places, numbers = (self.sequences.padded(rows, values)[0] for values in (self.own_places, self.numbers))
        found: np.ndarray = np.stack((np.where(real, places, NONE), ids, numbers), -1).astype(np.int64)
        return found


def set_aside(data: TokenizedCorpus, chosen: Bool[np.ndarray, "tokens"]) -> TokenizedCorpus:
    """The same texts with these tokens set aside; a text that has no others keeps them all as its items."""
    sequences = data.sequences
    starts, lengths = sequences.offsets[:-1], sequences.lengths
    chosen = chosen & np.repeat(~np.logical_and.reduceat(chosen, starts), lengths)
    places = np.arange(len(chosen)) - np.repeat(starts, lengths)
    numbers = np.zeros(len(chosen), np.int64) if data.sentences is None else data.sentences

    def of(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[~chosen]

    return replace(
        data,
        sequences=_chosen(sequences, ~chosen),
        sentences=of(data.sentences),
        rationale=of(data.rationale),
        preset=of(data.preset),
        aside=Aside(places[~chosen], _chosen(sequences, chosen), places[chosen], numbers[chosen]),
    )


def _chosen(sequences: Sequences, chosen: Bool[np.ndarray, "tokens"]) -> Sequences:
    counts = np.add.reduceat(chosen.astype(np.int64), sequences.offsets[:-1])
    return Sequences(sequences.ids[chosen], np.concatenate(([0], np.cumsum(counts))))
