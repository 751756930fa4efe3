"""A corpus turned into the word pieces of a pretrained model; the two texts of a pair are read as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.text.pieces import Frame, PieceTokenizer
from attentest.text.prepare import Report, TokenizedCorpus, part_of
from attentest.text.sequences import Sequences
from attentest.text.settings import TextSettings
from attentest.text.windows import Bounds, Lengths, Long, check_stride, cut_shorter, stretches

_CHUNK = 5_000
ABOUT_WINDOWS = (
    "Each window is read as a text of its own; the probabilities of a text are the means over its windows, and trials "
    "examine one window of each text, drawn at random."
)


def tokenize_pieces(
    corpus: Corpus,
    tokenizer: PieceTokenizer,
    *,
    max_tokens: int,
    min_tokens: int = 1,
    long: Long = "cut",
    stride: int = 0,
    special: bool = False,
    report: Report = lambda done, total: None,
) -> TokenizedCorpus:
    """Pieces of every row, with the ids of the pretrained model. `max_tokens` are a text's own pieces, or those of the
    two texts of a pair; with `special` the special tokens around them are items, too.

    Longer texts are cut, dropped, or become several rows, one for each window; neighbours share `stride` pieces.

    Of pairs, `sentences` is 0 on the text and 1 on the second one; special tokens have their token type there.
    """
    pair = corpus.kind == "pair"
    settings = TextSettings(max_tokens=max_tokens, min_tokens=min_tokens, long=long, stride=stride)
    check_stride(stride, max_tokens, pair)
    columns = ("text", "second") if pair else ("text",)
    parts = [
        _encoded(corpus.table[name], tokenizer, part_of(report, n, len(columns))) for n, name in enumerate(columns)
    ]
    lengths = np.stack([sequences.lengths for sequences in parts])
    what = "pairs" if pair else "texts"
    rows, notes = _usable(corpus, lengths, settings, what)
    text, bounds = stretches(lengths[:, rows], max_tokens, long, stride)
    notes += _of_long(lengths[:, rows], settings, len(text), what)
    rows = rows[text]
    parts = [_taken(sequences, rows, bounds[:, part]) for part, sequences in enumerate(parts)]
    frame = tokenizer.frame(pair=pair)
    sequences, numbers = _laid_out(parts, frame if special else Frame((), (), (), (0, 1) if pair else (0,)))
    return TokenizedCorpus(
        corpus,
        settings,
        tokenizer.vocabulary,
        sequences,
        rows,
        corpus.labels[rows],
        corpus.split[rows],
        tuple(notes),
        sentences=numbers if pair or numbers.any() else None,
        pieces=replace(tokenizer, special=special),
        bounds=bounds,
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


def _usable(corpus: Corpus, lengths: Lengths, settings: TextSettings, what: str) -> tuple[np.ndarray, list[str]]:
    """Rows that are neither empty nor too short, nor too long where these are dropped."""
    totals = lengths.sum(0)
    empty = lengths.min(0) == 0
    short = ~empty & (totals < settings.min_tokens)
    long = ~empty & (totals > settings.max_tokens) & (settings.long == "drop")
    rows = np.flatnonzero(~(empty | short | long))
    if empty.all():
        raise InputError(f"{corpus.name}: no text has a token.")
    if not len(rows):
        raise InputError(
            f"{corpus.name}: none of the {what} has between {settings.min_tokens:,} and {settings.max_tokens:,} word "
            "pieces."
        )
    why = {
        "without a token": empty,
        f"with fewer than {settings.min_tokens:,} word pieces": short,
        f"with more than {settings.max_tokens:,} word pieces": long,
    }
    return rows, [f"Dropped {lost.sum():,} {what} {reason}." for reason, lost in why.items() if lost.any()]


def _of_long(lengths: Lengths, settings: TextSettings, stretches: int, what: str) -> Iterator[str]:
    """What became of texts that are longer than the model reads."""
    totals, most = lengths.sum(0), settings.max_tokens
    long = totals > most
    if not long.any():
        return
    if settings.long == "cut":
        yield (
            f"Cut {long.sum():,} of {len(totals):,} {what} to {most:,} word pieces (the longest has {totals.max():,}); "
            "`max_tokens` sets the limit, up to what the model can read."
        )
        return
    yield (
        f"Read {long.sum():,} of {len(totals):,} {what} in {stretches - (~long).sum():,} windows of {most:,} word "
        f"pieces, of which neighbours share {settings.stride:,} or, at the end of a text, more (the longest has "
        f"{totals.max():,}). {ABOUT_WINDOWS}"
    )
    cut = cut_shorter(lengths[:, long], most)
    if cut:
        yield f"Cut the shorter text of {cut:,} pairs to {most // 2:,} word pieces, half of a window."


def _taken(sequences: Sequences, rows: np.ndarray, bounds: Bounds) -> Sequences:
    """The pieces of each of the rows that lie within its bounds."""
    lengths = bounds[:, 1] - bounds[:, 0]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    where = np.arange(offsets[-1]) + np.repeat(sequences.offsets[rows] + bounds[:, 0] - offsets[:-1], lengths)
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
