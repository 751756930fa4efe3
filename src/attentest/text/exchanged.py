"""Texts some of whose tokens or sentences are those of other texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import Sequences, runs


def exchanged(
    data: TokenizedCorpus,
    rows: Int[np.ndarray, "copies"],
    donors: Int[np.ndarray, "copies"],
    places: Int[np.ndarray, "copies most"],
    taken: Int[np.ndarray, "copies most"],
    *,
    whole_sentences: bool = False,
) -> TokenizedCorpus:
    """A copy of each of `rows` in which the items at `places` are those at `taken` of its donor; -1 is no place.

    Items are tokens, or sentences. A token keeps the weight that was given to its place and the sentence it is in.
    """
    sequences = data.sequences
    assert not whole_sentences or (data.preset is None and data.aside is None)  # these are of tokens
    starts, offsets = sentence_starts(data) if whole_sentences else (np.arange(len(sequences.ids)), sequences.offsets)
    lengths = np.diff(starts, append=len(sequences.ids))
    own = Sequences(np.arange(len(starts)), offsets).take(rows)
    items = own.ids.copy()
    copy, number = (places >= 0).nonzero()
    items[own.offsets[copy] + places[copy, number]] = offsets[donors[copy]] + taken[copy, number]
    tokens = runs(starts[items], lengths[items])
    ends = np.concatenate(([0], np.cumsum(lengths[items])))
    sentences = None if data.sentences is None else data.sentences[own.ids]
    if whole_sentences:
        sentences = np.repeat(runs(np.zeros_like(rows), own.lengths), lengths[items])
    return replace(
        data,
        sequences=Sequences(sequences.ids[tokens], ends[own.offsets]),
        rows=data.rows[rows],
        labels=data.labels[rows],
        split=data.split[rows],
        preset=None if data.preset is None else data.preset[own.ids],
        second=None if data.second is None else data.second.take(rows),
        sentences=sentences,
        rationale=None,
        bounds=None,  # its tokens stand in no text
        aside=None if data.aside is None else data.aside.take(rows, own.ids),
    )


def sentence_starts(data: TokenizedCorpus) -> tuple[Int[np.ndarray, "sentences"], Int[np.ndarray, texts + 1]]:
    """The first token of each sentence, and the first sentence of each text."""
    assert data.sentences is not None
    begins = np.diff(data.sentences, prepend=-1) != 0
    begins[data.sequences.offsets[:-1]] = True
    return np.flatnonzero(begins), np.concatenate(([0], np.cumsum(begins)))[data.sequences.offsets]
