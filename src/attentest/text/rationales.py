"""The words that are the reason for a label, as marks of tokens or of sentences."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from attentest.text.exchanged import sentence_starts
from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import Sequences


def token_marks(data: TokenizedCorpus) -> Int[np.ndarray, "tokens"]:
    """1 for each token of a rationale, in the layout of the sequences."""
    if data.rationale is not None:
        return data.rationale
    if not data.corpus.has_rationale:
        return np.zeros(len(data.sequences.ids), np.int8)
    rationales = data.corpus.table.select(["text", "rationale"]).take(data.rows).to_pylist()
    found = [
        items.marks(row["text"], row["rationale"]) if row["rationale"] else [0] * len(items.spans)
        for row, items in zip(rationales, data.items(np.arange(len(data.rows))), strict=True)
    ]
    return np.concatenate(found)


def sentence_marks(data: TokenizedCorpus) -> tuple[Int[np.ndarray, "sentences"], Sequences]:
    """A 1 for each sentence that has some of the rationale, and the sentences' layout."""
    starts, offsets = sentence_starts(data)
    found = np.maximum.reduceat(token_marks(data), starts)
    return found, Sequences(found, offsets)
