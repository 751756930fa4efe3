"""Columns of any type, as a corpus has them: text, labels as text, rationales as lists of 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.corpus import Kind
from attentest.corpora.rationales import of_written
from attentest.errors import InputError, nearest_name

_SCALARS = (bool, int, float, Decimal, date, np.generic)
Columns = Mapping[str, str]  # our column name -> the source's


class MissingColumnError(InputError):
    """A wanted column is not there; the message tells how to name another."""


def kind_of_columns(columns: Columns) -> Kind:
    """What a corpus with these columns is; translations have no label."""
    if "label" not in columns:
        return "generation"
    return "pair" if "second" in columns else "single"


def check_columns(source: str, columns: Columns, there: Sequence[str]) -> None:
    """Complain unless every wanted column is there, once."""
    for ours, theirs in columns.items():
        if theirs not in there:
            nearest = nearest_name(theirs, there)
            hint = f"Did you mean '{nearest}'? " if nearest else ""
            ours = "target" if ours == "second" and kind_of_columns(columns) == "generation" else ours
            raise MissingColumnError(
                f"{source} has no column '{theirs}'; its columns are {', '.join(there) or 'none'}. "
                f"{hint}Name the {ours} column with `{ours}`."
            )
        if there.count(theirs) > 1:
            raise InputError(f"{source} has {there.count(theirs)} columns called '{theirs}'; rename all but one.")


def to_column(source: str, key: str, values: Any) -> Any:
    """`values` under our name `key`; what was changed already is not changed again."""
    column = values if isinstance(values, pa.ChunkedArray | pa.Array) else _to_arrow(source, key, values)
    if key == "rationale":
        return _marks(source, column)
    text = _text(source, key, column)
    return pc.utf8_trim_whitespace(text) if key == "label" else text


def _to_arrow(source: str, key: str, values: Any) -> Any:
    """Values of one type, or of several that can be written as text; NaN and pandas's NA are missing."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise InputError(f"{source}: the {key} column is {values!r:.60}; expected a list, an array or a Series.")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # mixed types, say, or half a surrogate pair
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        return pa.array([_written(source, key, value) for value in listed], pa.large_string())


def _written(source: str, key: str, value: Any) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, _SCALARS) and value == value:
        return str(value)
    if _is_missing(value):
        return None
    raise InputError(f"{source}: the {key} column holds a {type(value).__name__}, {value!r:.60}, among other values.")


def _is_missing(value: Any) -> bool:
    try:
        return bool(pa.array([value], from_pandas=True).null_count)
    except (pa.ArrowException, ValueError, TypeError):
        return False


def _text(source: str, key: str, column: Any) -> Any:
    try:
        if pa.types.is_dictionary(column.type):
            column = _decoded(column)
        return column.cast(pa.large_string())
    except pa.ArrowException as error:
        raise InputError(
            f"{source}: the {key} column is of type {column.type} and cannot be read as text ({error})."
        ) from error


def _decoded(column: Any) -> pa.ChunkedArray:
    """Values of a dictionary-encoded column as text; views of strings, as polars has them, cannot be cast at once."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    values = [chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in chunks]
    return pa.chunked_array(values, pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _marks(source: str, column: Any) -> Any:
    try:
        if _is_text(column.type):
            column = pa.array([of_written(v) if v and v.strip() else None for v in column.to_pylist()])
        marks = column.cast(pa.list_(pa.int8()))
    except (ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{source}: a rationale is one 0 or 1 for each word, such as [0, 1, 1, 0]; {str(error).rstrip('.')}."
        ) from error
    odd = pc.invert(pc.is_in(pc.list_flatten(marks), pa.array([0, 1], pa.int8())))
    if pc.any(odd).as_py():
        value = pc.filter(pc.list_flatten(marks), odd)[0]
        raise InputError(f"{source}: a rationale is one 0 or 1 for each word, such as [0, 1, 1, 0]; it holds {value}.")
    return marks
