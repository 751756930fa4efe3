"""A corpus turned into the word pieces of a pretrained model; the two texts of a pair are read as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.text.pieces import Frame, PieceTokenizer
from attentest.text.prepare import Report, TokenizedCorpus, part_of
from attentest.text.sequences import Sequences
from attentest.text.settings import TextSettings

_CHUNK = 5_000


def tokenize_pieces(
    corpus: Corpus,
    tokenizer: PieceTokenizer,
    *,
    max_tokens: int,
    special: bool = False,
    report: Report = lambda done, total: None,
) -> TokenizedCorpus:
    """Pieces of every row, with the ids of the pretrained model. `max_tokens` are a text's own pieces, or those of the
    two texts of a pair; with `special` the special tokens around them are items, too.

    Of pairs, `sentences` is 0 on the text and 1 on the second one; special tokens have their token type there.
    """
    pair = corpus.kind == "pair"
    columns = ("text", "second") if pair else ("text",)
    parts = [
        _encoded(corpus.table[name], tokenizer, part_of(report, n, len(columns))) for n, name in enumerate(columns)
    ]
    lengths = np.stack([sequences.lengths for sequences in parts])
    rows = np.flatnonzero(lengths.min(0) > 0)
    if not len(rows):
        raise InputError(f"{corpus.name}: no text has a token.")
    notes = _notes(lengths, rows, max_tokens, "pairs" if pair else "texts")
    kept = _cut(lengths[:, rows], max_tokens)
    parts = [_taken(sequences, rows, length) for sequences, length in zip(parts, kept, strict=True)]
    frame = tokenizer.frame(pair=pair)
    sequences, numbers = _laid_out(parts, frame if special else Frame((), (), (), (0, 1) if pair else (0,)))
    return TokenizedCorpus(
        corpus,
        TextSettings(max_tokens=max_tokens),
        tokenizer.vocabulary,
        sequences,
        rows,
        corpus.labels[rows],
        corpus.split[rows],
        tuple(notes),
        sentences=numbers if pair or numbers.any() else None,
        pieces=replace(tokenizer, special=special),
    )


def _encoded(texts: pa.ChunkedArray, tokenizer: PieceTokenizer, report: Report) -> Sequences:
    found: list[np.ndarray] = []
    lengths: list[int] = []
    for start in range(0, len(texts), _CHUNK):
        some = tokenizer.ids(texts.slice(start, _CHUNK).to_pylist())
        lengths += map(len, some)
        found.append(np.fromiter((number for ids in some for number in ids), np.int32))
        report(min(start + _CHUNK, len(texts)), len(texts))
    return Sequences(np.concatenate(found), np.concatenate(([0], np.cumsum(lengths))))


def _notes(lengths: np.ndarray, rows: np.ndarray, most: int, what: str) -> list[str]:
    totals = lengths.sum(0)[rows]
    lost, long = lengths.shape[1] - len(rows), int((totals > most).sum())
    notes = [f"Dropped {lost:,} {what} without a token."] if lost else []
    if long:
        notes.append(
            f"Cut {long:,} of {len(rows):,} {what} to {most:,} word pieces (the longest has {totals.max():,}); "
            "`max_tokens` sets the limit, up to what the model can read."
        )
    return notes


def _cut(lengths: np.ndarray, most: int) -> np.ndarray:
    """`cut_lengths` of many texts or pairs at once."""
    kept: np.ndarray = np.minimum(lengths, most)
    if len(lengths) == 2:
        shorter = np.minimum(lengths.min(0), most // 2)
        longer = np.minimum(lengths.max(0), most - shorter)
        kept = np.where(lengths[0] <= lengths[1], (shorter, longer), (longer, shorter))
    return kept


def _taken(sequences: Sequences, rows: np.ndarray, lengths: np.ndarray) -> Sequences:
    """The first `lengths` pieces of each of the rows."""
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    where = np.arange(offsets[-1]) + np.repeat(sequences.offsets[rows] - offsets[:-1], lengths)
    return Sequences(sequences.ids[where], offsets)


def _laid_out(texts: list[Sequences], frame: Frame) -> tuple[Sequences, np.ndarray]:
    """The texts of each row one after the other in their frame, and the token type of each item."""
    lengths = np.stack([text.lengths for text in texts])
    offsets = np.concatenate(([0], np.cumsum(lengths.sum(0) + frame.size)))
    ids, types = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    at = offsets[:-1].copy()
    prefix, middle, suffix = frame.parts()
    after = [middle, suffix] if len(texts) == 2 else [suffix]

    def put(special: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        for number, kind in zip(*special, strict=True):
            ids[at], types[at] = number, kind
            at[:] += 1

    put(prefix)
    for text, kind, following in zip(texts, frame.text_types, after, strict=False):
        where = np.arange(len(text.ids)) + np.repeat(at - text.offsets[:-1], text.lengths)
        ids[where], types[where] = text.ids, kind
        at += text.lengths
        put(following)
    return Sequences(ids, offsets), types
