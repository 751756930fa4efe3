"""Columns of a table as they must be; a table may come from somebody else, or from a damaged disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from attentest.errors import InputError

IsKind = Callable[[pa.DataType], bool]


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_name(kind: pa.DataType) -> bool:
    """Text, or one of a few texts."""
    return is_text(kind) or (pa.types.is_dictionary(kind) and is_text(kind.value_type))


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def list_of(is_item: IsKind) -> IsKind:
    return lambda kind: is_list(kind) and is_item(kind.value_type)


def expect_columns(table: pa.Table, kinds: Mapping[str, IsKind], path: Path) -> None:
    """Refuse a table without rows or without these columns, or with empty cells in them."""
    if not table.num_rows:
        raise InputError(f"{path} is damaged: it has no rows.")
    if len(set(table.column_names)) < len(table.column_names):
        raise InputError(f"{path} is damaged: it has two columns of one name.")
    for name, is_kind in kinds.items():
        if name not in table.column_names:
            raise InputError(f"{path} is damaged: its column '{name}' is missing.")
        column = table[name]
        if not is_kind(column.type):
            raise InputError(f"{path} is damaged: its column '{name}' holds {str(column.type)[:80]}.")
        if column.null_count or (is_list(column.type) and pc.list_flatten(column).null_count):
            raise InputError(f"{path} is damaged: its column '{name}' has empty cells.")


def expect_marks(table: pa.Table, counts: pa.ChunkedArray, path: Path) -> None:
    """In the column 'rationale' lists of 0 and 1, as many as `counts` says; a text may have none at all."""
    column = table["rationale"]
    if not list_of(pa.types.is_integer)(column.type):
        raise InputError(f"{path} is damaged: its column 'rationale' holds {str(column.type)[:80]}.")
    values = pc.list_flatten(column)
    marks = pc.is_in(values, pa.array([0, 1], values.type))
    lengths = pc.equal(pc.cast(pc.list_value_length(column), pa.int64()), pc.cast(counts, pa.int64()))
    if not (pc.all(marks).as_py() in (True, None) and pc.all(lengths).as_py() in (True, None)):
        raise InputError(f"{path} is damaged: its column 'rationale' has not one mark for each word.")
