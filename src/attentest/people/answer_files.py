"""Files with answers, as anybody may have written them: every mistake is named with its line and its column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import msgspec

from attentest.errors import InputError, brief
from attentest.exports.formulas import unguarded
from attentest.files import expect_file, read_foreign_table

FORMS = (".csv", ".jsonl", ".parquet")
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EXPECTED = {
    "annotator": "a name",
    "item": "the id of an item",
    "relevant": "yes or no, or true or false",
    "milliseconds": "a whole number that is not negative",
    "highlighted": "numbers of words, counted from 0, such as [0, 3]",
    "confidence": "a whole number from 1 to 5",
    "study": "what an export says, or nothing",
    "comment": "a text of at most 100,000 characters",
}
_NEEDED = ("annotator", "item", "relevant")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_COLUMN = re.compile(r"(?:`\$\.|required field `)(\w+)")


@dataclass(frozen=True)
class AnswerRow:
    """An answer in a file."""

    annotator: str
    item: str
    relevant: bool
    milliseconds: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    highlighted: list[Annotated[int, msgspec.Meta(ge=0, le=2**31)]] | None = None
    confidence: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None
    comment: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None
    study: str | None = None  # which one it is an answer to, as an export says


COLUMNS = tuple(field.name for field in fields(AnswerRow))


def form_of(path: Path) -> str:
    if path.suffix.lower() not in FORMS:
        raise InputError(f"{path} must end with {', '.join(FORMS[:-1])} or {FORMS[-1]}.")
    return path.suffix.lower()


def read_answers(path: Path) -> list[tuple[str, AnswerRow]]:
    """Answers, each with its place in the file, for messages."""
    form = form_of(path)
    expect_file(path)
    read = {".csv": _from_csv, ".jsonl": _from_jsonl, ".parquet": _from_parquet}[form](path)
    rows = [(place, _row(place, content)) for place, content in read]
    if not rows:
        raise InputError(f"{path} holds no answers.")
    return rows


def _row(place: str, content: Any) -> AnswerRow:
    if not isinstance(content, Mapping):
        raise InputError(f"{place}: {brief(content)} is no answer; expected an object with {_listed(_NEEDED)}.")
    given = {name: found for name in COLUMNS if (found := _tidy(name, content.get(name))) is not None}
    try:
        return msgspec.convert(given, AnswerRow)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # half a character is no text
        named = _COLUMN.search(str(error))
        if named is None:
            raise InputError(f"{place} is no answer: {error}.") from error
        column = named.group(1)
        found = f"is {brief(given[column])}" if column in given else "is empty"
        raise InputError(f"{place}: `{column}` {found}; expected {_EXPECTED[column]}.") from error


def _tidy(name: str, value: Any) -> Any:
    """Truths as people write them; whole numbers that a program wrote as 4.0, and what it wrote for nothing, as NaN."""
    if name == "relevant" and isinstance(value, str | int):
        return _TRUTHS.get(str(value).strip().lower(), value)
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return value


def _from_csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise InputError(f"{path} is empty; expected columns {_listed(_NEEDED)}.")
        _check_header(header, path)
        for cells in reader:
            if any(cells):
                place = f"{path}, line {reader.line_num - sum(cell.count(chr(10)) for cell in cells)}"
                if len(cells) > len(header):
                    raise InputError(
                        f"{place} has {len(cells)} cells for {len(header)} columns; quote what has commas."
                    )
                yield place, {name: _typed(name, cell) for name, cell in zip(header, cells, strict=False) if cell}
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} cannot be read as CSV: {error}.") from error


def _check_header(header: Sequence[str], path: Path) -> None:
    missing = [name for name in _NEEDED if name not in header]
    if not missing:
        return
    said = f"{path} has no column {_listed(missing)}."
    if len(header) == 1:
        said += "".join(
            f" Its columns seem to be separated by {name} ({sign!r}); save it with commas."
            for sign, name in _SEPARATORS.items()
            if sign in header[0]
        )
    raise InputError(said)


def _listed(names: Sequence[str]) -> str:
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def _typed(name: str, cell: str) -> Any:
    """A cell as what it stands for; one that is not JSON where it must be stays text, and is refused as such."""
    if name not in ("highlighted", "confidence", "milliseconds"):
        return unguarded(cell)
    try:
        return msgspec.json.decode(cell)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return cell


def _from_jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            place = f"{path}, line {number}"
            try:
                yield place, msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                raise InputError(f"{place}: {brief(line)} is not JSON.") from error


def _from_parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    table = read_foreign_table(path)
    _check_header(table.column_names, path)
    names = [name for name in COLUMNS if name in table.column_names]
    for number, row in enumerate(table.select(names).to_pylist(), 1):
        yield f"{path}, row {number}", row


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text in UTF-8.") from error
