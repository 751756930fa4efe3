"""Parquet tables that are not what they should be: every column in turn, in every way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Damage = Callable[[Path], object]


def of_bytes(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def of_table(change: Callable[[pa.Table], pa.Table]) -> Damage:
    return lambda path: pq.write_table(change(pq.read_table(path)), path)


FILES: dict[str, Damage] = {
    "empty": of_bytes(lambda content: b""),
    "its magic alone": of_bytes(lambda content: b"PAR1PAR1"),
    "cut in the middle": of_bytes(lambda content: content[: len(content) // 2]),
    "cut at the end": of_bytes(lambda content: content[:-1]),
    "cut at the start": of_bytes(lambda content: content[1:]),
    "zeros": of_bytes(lambda content: bytes(len(content))),
    "text": of_bytes(lambda content: b"id,text\n1,a\n"),
    "a footer of 2^31 bytes": of_bytes(lambda content: content[:-8] + b"\xff\xff\xff\x7fPAR1"),
    "a footer of 2^32 bytes": of_bytes(lambda content: content[:-8] + b"\xff\xff\xff\xffPAR1"),
    "zeros in its footer": of_bytes(lambda content: content[:-60] + bytes(52) + content[-8:]),
    "no rows": of_table(lambda table: table.slice(0, 0)),
    "no columns": of_table(lambda table: table.select([])),
    "a row less": of_table(lambda table: table.slice(1)),
    "a row twice": of_table(lambda table: pa.concat_tables([table, table.slice(0, 1)])),
}


def _put(name: str, values: pa.Array, table: pa.Table) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _twice(name: str, table: pa.Table) -> pa.Table:
    return table.append_column(name, table[name])


def of_columns(path: Path) -> Iterator[tuple[str, Damage]]:
    """Each column of a table missing, twice, empty, of other types and with other values."""
    table = pq.read_table(path)
    rows = table.num_rows
    others: dict[str, pa.Array] = {
        "all null": pa.nulls(rows),
        "integers": pa.array(range(rows)),
        "floats": pa.array(np.linspace(0, 1, rows)),
        "NaN": pa.array(np.full(rows, np.nan)),
        "truth values": pa.array([True] * rows),
        "bytes": pa.array([b"\xff"] * rows),
        "text": pa.array(["\x1b[2J<script>"] * rows),
        "lists of lists": pa.array([[[1]]] * rows),
        "records": pa.array([{"a": 1}] * rows),
        "times": pa.array([0] * rows, pa.timestamp("s")),
    }
    for name in table.column_names:
        yield f"{name} missing", of_table(partial(pa.Table.drop_columns, columns=[name]))
        yield f"{name} renamed", of_table(partial(pa.Table.rename_columns, names={name: "other"}))
        yield f"{name} twice", of_table(partial(_twice, name))
        for kind, values in others.items():
            yield f"{name} holds {kind}", of_table(partial(_put, name, values))
        for kind, values in _other_values(table[name]).items():
            yield f"{name} {kind}", of_table(partial(_put, name, values))


def _other_values(column: pa.ChunkedArray) -> dict[str, pa.Array]:
    """Values of the right type that cannot be."""
    values, kind = column.to_pylist(), column.type
    first, rest = values[0], values[1:]

    def changed(value: Any) -> pa.Array:
        return pa.array([value, *rest], kind)

    found = {"one null": changed(None)}
    if not pa.types.is_list(kind):
        return found
    found |= {
        "a list empty": changed([]),
        "a list shorter": changed(first[1:]),
        "a list longer": changed([*first, first[-1]]),
        "a null in a list": changed([None, *first[1:]]),
    }
    if pa.types.is_string(kind.value_type):
        return found
    numbers: dict[str, Any] = {"below 0": -1, "above all": 120 if kind.value_type == pa.int8() else 2**24}
    if pa.types.is_floating(kind.value_type):
        numbers |= {"NaN": float("nan"), "infinite": float("inf"), "larger by 0.1": first[0] + 0.1}
    return found | {f"a number {name}": changed([value, *first[1:]]) for name, value in numbers.items()}
