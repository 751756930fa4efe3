"""The tables of a run, checked when they are read: a run may come from somebody else, or from a damaged disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.columns import IsKind, expect_columns, expect_marks, is_text, list_of
from attentest.errors import InputError
from attentest.files import read_foreign_table
from attentest.text.items import Items

_ROUNDING = 1e-3  # of a text's weights or probabilities, which sum to 1 in float32
_TEXTS, _INTEGERS, _FLOATS = map(list_of, (is_text, pa.types.is_integer, pa.types.is_floating))


def read_predictions(path: Path, classes: Sequence[str], pair: bool) -> pa.Table:
    words = ("id", "text", *(("second",) if pair else ()), "label", "predicted")
    table = _read(path, {**dict.fromkeys(words, is_text), "probability": _FLOATS})
    for name in ("label", "predicted"):
        unknown = sorted(set(table[name].to_pylist()) - set(classes))
        if unknown:
            raise InputError(f"{path} and run.json are not of one run: `classes` lacks '{unknown[0]}'.")
    if (_lengths(table, "probability") != len(classes)).any():
        raise InputError(f"{path} and run.json are not of one run: a text has not one probability for each class.")
    _expect_shares(table, "probability", _starts(table, "probability"), path)
    return table


def read_attention(path: Path, predictions: pa.Table, hierarchical: bool, pieces: bool = False) -> pa.Table:
    """The weights on the tokens of the texts in `predictions`; `pieces` of words, also of the second text of a pair,
    have columns that say which word and which text they are of."""
    lists = {"token": _TEXTS, "start": _INTEGERS, "end": _INTEGERS, "weight": _FLOATS}
    lists |= {"sentence": _INTEGERS} if hierarchical else {}
    lists |= {"word": _INTEGERS} if pieces else {}
    lists |= {"part": _INTEGERS} if pieces and "second" in predictions.column_names else {}
    table = _read(path, {"id": is_text, **lists, **({"sentence_weight": _FLOATS} if hierarchical else {})})
    if table.num_rows != predictions.num_rows:
        raise InputError(f"The tables in {path.parent} are not of one run: their numbers of rows differ.")
    if table["id"].to_pylist() != predictions["id"].to_pylist():
        raise InputError(f"{path} and predictions.parquet are not of one run: their ids differ.")
    lengths = tokens_of(table)
    for name in lists:
        if not lengths.all() or not np.array_equal(_lengths(table, name), lengths):
            raise InputError(f"{path} is damaged: its column '{name}' has not one entry for each token.")
    if pieces:
        _expect_words(table, predictions, path)
    else:
        _expect_spans(table, predictions, path)
    starts = _starts(table, "weight")
    if hierarchical:
        starts = _starts_of_sentences(table, path)
        _expect_shares(table, "sentence_weight", _starts(table, "sentence_weight"), path)
    _expect_shares(table, "weight", starts, path)
    if "rationale" in table.column_names:
        expect_marks(table, pc.list_value_length(table["token"]), path)
    return table


def read_history(path: Path) -> pa.Table:
    return _read(path, {"epoch": pa.types.is_integer, "loss": pa.types.is_floating, "score": pa.types.is_floating})


def tokens_of(attention: pa.Table) -> np.ndarray:
    """How many tokens each text has."""
    return _lengths(attention, "token")


def _read(path: Path, kinds: Mapping[str, IsKind]) -> pa.Table:
    table = read_foreign_table(path)
    expect_columns(table, kinds, path)
    return table


def _lengths(table: pa.Table, name: str) -> np.ndarray:
    found: np.ndarray = pc.fill_null(pc.list_value_length(table[name]), 0).to_numpy().astype(np.int64)
    return found


def _starts(table: pa.Table, name: str) -> np.ndarray:
    """Where the lists begin in the values of all of them."""
    lengths = _lengths(table, name)
    starts: np.ndarray = np.cumsum(lengths) - lengths
    return starts


def _values(table: pa.Table, name: str) -> np.ndarray:
    found: np.ndarray = pc.list_flatten(table[name]).to_numpy()
    return found


def _expect_shares(table: pa.Table, name: str, starts: np.ndarray, path: Path) -> None:
    """Numbers from 0 to 1 that sum to 1 from each start to the next."""
    values = _values(table, name).astype(np.float64)
    valid = np.isfinite(values).all() and (values >= 0).all() and _lengths(table, name).all()
    if not valid or (np.abs(np.add.reduceat(values, starts) - 1) > _ROUNDING).any():
        raise InputError(f"{path} is damaged: its column '{name}' has numbers that are no shares of a whole.")


def _expect_spans(table: pa.Table, predictions: pa.Table, path: Path) -> None:
    """Tokens one after the other within their text."""
    start, end = (_values(table, name).astype(np.float64) for name in ("start", "end"))
    sizes = pc.utf8_length(predictions["text"]).to_numpy().repeat(tokens_of(table))
    before = np.concatenate(([0.0], end[:-1]))
    before[_starts(table, "start")] = 0
    if not ((before <= start) & (start < end) & (end <= sizes)).all():
        raise InputError(f"{path} and predictions.parquet are not of one run: tokens do not lie in their texts.")


def _expect_words(table: pa.Table, predictions: pa.Table, path: Path) -> None:
    """Pieces lie in their own text, the words of the second after those of the first."""
    texts = [predictions[name] for name in ("text", "second") if name in predictions.column_names]
    sizes = np.stack([pc.utf8_length(text).to_numpy() for text in texts]).repeat(tokens_of(table), 1)
    start, end, word = (_values(table, name).astype(np.float64) for name in ("start", "end", "word"))
    part = _values(table, "part") if len(texts) == 2 else np.zeros(len(word), np.int64)
    known = bool(np.isin(part, (0, 1)).all())
    size = sizes[part.astype(np.int64) if known else 0, np.arange(len(word))]
    first = np.zeros(len(word), bool)
    first[_starts(table, "word")] = True
    inside = np.isin(np.diff(word, prepend=0)[~first], (0, 1)).all() and (np.diff(part, prepend=0)[~first] >= 0).all()
    fits = known and inside and not word[first].any()
    if not fits or not ((start >= 0) & (start <= end) & (end <= size)).all():
        raise InputError(f"{path} and predictions.parquet are not of one run: tokens do not lie in their texts.")


def items_of(row: Mapping[str, Any]) -> Items:
    """What a row of the attention table says of the tokens; where they are no pieces each is a word of its own."""
    numbers = np.arange(len(row["token"]))
    spans = list(zip(row["start"], row["end"], strict=True))
    texts = np.array(row["part"]) if row.get("part") is not None else np.zeros_like(numbers)
    return Items(row["token"], spans, texts, np.array(row["word"]) if row.get("word") is not None else numbers)


def _starts_of_sentences(table: pa.Table, path: Path) -> np.ndarray:
    """Sentences are numbered from 0 in each text, and each has a weight."""
    numbers, starts = _values(table, "sentence").astype(np.int64), _starts(table, "sentence")
    steps = np.diff(numbers, prepend=0)
    inside = np.ones(len(numbers), bool)
    inside[starts] = False
    last = numbers[np.append(starts[1:], len(numbers)) - 1]
    fits = np.isin(steps[inside], (0, 1)).all() and not numbers[starts].any()
    if not fits or not np.array_equal(last + 1, _lengths(table, "sentence_weight")):
        raise InputError(f"{path} is damaged: its columns 'sentence' and 'sentence_weight' do not fit each other.")
    found: np.ndarray = np.flatnonzero(~inside | (steps != 0))
    return found
