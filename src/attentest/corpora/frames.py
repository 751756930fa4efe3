"""Texts that are in memory already: dicts, pandas and polars frames, Arrow tables, Hugging Face datasets.

No library is imported here: an object of one that is not loaded cannot be given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.build import build_corpus
from attentest.corpora.columns import Columns, check_columns, kind_of_columns, to_column
from attentest.corpora.corpus import Corpus
from attentest.errors import InputError

ACCEPTED = (
    "a corpus's name, a file, a folder, a dict of columns, a list of dicts, a pandas or polars DataFrame, an Arrow "
    "table or a Hugging Face dataset"
)
UNLABELLED = "unsupervised"  # what Hugging Face calls a split without labels


@dataclass(frozen=True)
class Frame:
    """Columns by name, each read when it is asked for."""

    names: Sequence[str]
    column: Callable[[int], Any]
    labels: Callable[[str], Sequence[str] | None] = lambda column: None  # names of the values 0, 1, 2… of a column


def load_frames(
    source: Any,
    columns: Columns,
    *,
    name: str = "corpus",
    called: str | None = None,
    positive: str | None = None,
) -> Corpus:
    """A corpus of one frame, or of a dict with one for each split; messages say `called` for it."""
    called = called or f"The {kind_of(source)}"
    if isinstance(source, Mapping) and not source:
        raise InputError(f"{called} is empty; give {ACCEPTED}.")
    splits = _splits(source, columns, called)
    classes: Sequence[str] | None = None
    parts = []
    for split, given in splits.items():
        frame = _frame(given, called)
        check_columns(called, columns, frame.names)
        part = {
            ours: to_column(called, ours, frame.column(frame.names.index(theirs))) for ours, theirs in columns.items()
        }
        _check_lengths(part, columns, called)
        classes = classes or ("label" in columns and frame.labels(columns["label"])) or None
        if classes:
            part["label"] = _without_unlabelled(part["label"])
        if len(splits) > 1:
            rows = len(part["text"])
            part["split"] = pa.repeat(split, rows)
            part.setdefault("id", pa.array([f"{split}/{i}" for i in range(rows)], pa.large_string()))
        parts.append(pa.table(part))
    merged = pa.concat_tables(parts, promote_options="permissive")
    if not merged.num_rows:
        raise InputError(f"{called} has no rows.")
    return build_corpus(
        name,
        {column: merged[column] for column in merged.column_names},
        kind=kind_of_columns(columns),
        classes=classes,
        positive=positive,
    )


def kind_of(source: Any) -> str:
    """How people call it: pandas DataFrame, dict."""
    kind = type(source)
    library = kind.__module__.partition(".")[0]
    return kind.__name__ if library in ("builtins", "collections", "__main__") else f"{library} {kind.__name__}"


def _splits(source: Any, columns: Columns, called: str) -> Mapping[str, Any]:
    if not (isinstance(source, Mapping) and source and all(map(_is_frame, source.values()))):
        return {"": source}
    if "split" in columns:
        raise InputError(f"{called} has its splits as keys; a split column only applies to a single table.")
    labelled = {str(split): frame for split, frame in source.items() if split != UNLABELLED}
    if not labelled:
        raise InputError(f"{called} has no splits with labels.")
    return labelled


def _is_frame(value: Any) -> bool:
    """Whether it has columns, and is none itself."""
    if isinstance(value, Mapping) or _is_dataset(value) or _streams(value) or _is_a(value, "polars", "LazyFrame"):
        return True
    return hasattr(value, "__arrow_c_stream__") and (hasattr(value, "columns") or hasattr(value, "column_names"))


def _frame(source: Any, called: str) -> Frame:
    if isinstance(source, Mapping):
        values = list(source.values())
        return Frame([str(key) for key in source], values.__getitem__)
    if isinstance(source, list | tuple):
        return _of_rows(source, called)
    if _is_a(source, "pandas", "DataFrame"):
        return Frame([str(key) for key in source.columns], lambda place: source.iloc[:, place])
    if _is_dataset(source):
        return _of_dataset(source)
    if _is_a(source, "polars", "LazyFrame"):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        try:
            table = pa.table(source)
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise InputError(f"{called} is not a table with columns; give {ACCEPTED}.") from error
        return Frame(table.column_names, table.column)
    streams = " Read a streaming dataset into a list first: list(dataset.take(1000))." if _streams(source) else ""
    raise InputError(f"load cannot read an object of type {kind_of(source)}; give {ACCEPTED}.{streams}")


def _of_rows(rows: Sequence[Any], called: str) -> Frame:
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"{called} has a {type(row).__name__} at position {number}; each row must be a dict.")
        names |= dict.fromkeys(row)
    if not rows:
        raise InputError(f"{called} has no rows.")
    keys = list(names)
    return Frame([str(key) for key in keys], lambda place: [row.get(keys[place]) for row in rows])


def _of_dataset(dataset: Any) -> Frame:
    names = list(dataset.column_names)

    def column(place: int) -> Any:
        return dataset.select_columns([names[place]]).with_format("arrow")[:].column(0)

    return Frame(names, column, lambda name: getattr(dataset.features[name], "names", None))


def _is_dataset(value: Any) -> bool:
    """Of Hugging Face, and not one that streams."""
    return all(hasattr(value, name) for name in ("features", "column_names", "with_format", "num_rows"))


def _streams(value: Any) -> bool:
    return hasattr(value, "features") and hasattr(value, "take")


def _is_a(value: Any, library: str, kind: str) -> bool:
    loaded = sys.modules.get(library)
    return loaded is not None and isinstance(value, getattr(loaded, kind))


def _check_lengths(part: Mapping[str, Any], columns: Columns, called: str) -> None:
    for ours, values in part.items():
        if len(values) != len(part["text"]):
            raise InputError(
                f"{called} has {len(part['text']):,} values in '{columns['text']}' and {len(values):,} in "
                f"'{columns[ours]}'; every column needs one for each row."
            )


def _without_unlabelled(labels: Any) -> Any:
    """Where labels have names, -1 says that a row has none: so are test sets hidden."""
    return pc.if_else(pc.equal(labels, "-1"), None, labels)
