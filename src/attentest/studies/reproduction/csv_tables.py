"""Small tables of records in the repository: CSV in a fixed order, so that a change is a line, checked when read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from attentest.errors import InputError
from attentest.files import write_bytes

Record = TypeVar("Record")
LARGEST = 20_000_000  # bytes; ours have far fewer
_DIGITS = 6


def write_records(path: Path, kind: type[Record], records: Iterable[Record]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = _names(kind)
    writer.writerow(names)
    writer.writerows(sorted([_written(getattr(record, name)) for name in names] for record in records))
    write_bytes(path, out.getvalue().encode())


def read_records(path: Path, kind: type[Record]) -> list[Record]:
    """Those of a file; an empty list where there is no such file."""
    if not path.exists():
        return []
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than any table that attentest writes.")
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is damaged: it cannot be read as CSV ({error}).") from error
    names = _names(kind)
    if not rows or rows[0] != names:
        raise InputError(f"{path} is damaged: its first line must be {','.join(names)}.")
    kinds = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    found = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise InputError(f"{path}, line {number}: it has {len(row)} cells, and {len(names)} are expected.")
        values = {name: _read(path, number, name, kinds[name], text) for name, text in zip(names, row, strict=True)}
        found.append(kind(**values))
    return found


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]


def _written(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def _read(path: Path, line: int, name: str, kind: str, text: str) -> Any:
    if kind == "str":
        return text
    if not text and kind == "float | None":
        return None
    try:
        value = int(text) if kind == "int" else float(text)
        finite = math.isfinite(value)
    except (ValueError, OverflowError):  # a whole number may be too large for a float
        finite = False
    if not finite:
        raise InputError(f"{path}, line {line}: `{name}` is '{text[:40]}', which is not a number.")
    return value
