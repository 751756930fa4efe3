"""Answers to and from files: CSV, JSONL and Parquet, by the end of the name.

What is written tells the condition of each item, so it is for those who evaluate the study, not for annotators. What
is read needs the columns of the answers alone; those about items are left aside.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from attentest.errors import InputError, brief
from attentest.files import check_target, checked, expect_file, read_foreign_table, write_bytes, write_table
from attentest.people.answers_table import ANSWER_SCHEMA
from attentest.people.given_answers import answers_of, need_database, opened
from attentest.people.study import PeopleStudy

FORMS = (".csv", ".jsonl", ".parquet")
_ABOUT = pa.schema(
    {
        "condition": pa.string(),
        "expected": pa.bool_(),
        "source": pa.string(),
        "predicted": pa.string(),
        "label": pa.string(),
        "marked": pa.list_(pa.int32()),
    }
)
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class _Row:
    """An answer in a file."""

    annotator: str
    item: str
    relevant: bool
    milliseconds: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    highlighted: list[Annotated[int, msgspec.Meta(ge=0, le=2**31)]] | None = None
    confidence: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None
    comment: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None


def export_answers(study: PeopleStudy, out: Path, database: str | None = None) -> int:
    """Write every answer with what it is about; how many there are."""
    form = _form(out)
    check_target(out)
    answers = answers_of(study, database)
    about = [vars(study.by_id[item]) for item in answers["item"].to_pylist()]
    table = answers
    for field in _ABOUT:
        table = table.append_column(field, pa.array([row[field.name] for row in about], field.type))
    if form == ".parquet":
        write_table(out, table)
    else:
        rows = [row | {"at": row["at"].isoformat()} for row in table.to_pylist()]
        write_bytes(out, (_csv(rows, table.column_names) if form == ".csv" else _jsonl(rows)).encode())
    return int(table.num_rows)


def import_answers(study: PeopleStudy, source: Path, database: str | None = None) -> int:
    """Add the answers of a file to the study's; the number of those that were not there yet.

    All are checked before the first is written. A file can be read twice: an answer that was added is not added again.
    """
    form = _form(source)
    expect_file(source)
    read = {".csv": _from_csv, ".jsonl": _from_jsonl, ".parquet": _from_parquet}[form](source)
    rows = checked(read, list[_Row], source)
    _check(study, rows, source)
    need_database()
    from attentest.people.answers import Given, checked_name

    names = {row.annotator: checked_name(row.annotator) for row in rows}
    answers = opened(study, database)
    answers.add_without_token(sorted(set(names.values())))
    held = {name: answers.current(name) for name in names.values()}
    new = 0
    for row in rows:
        marked = None if row.highlighted is None else sorted(set(row.highlighted))  # as they are stored
        given = Given(row.item, row.relevant, marked, row.confidence, row.comment, row.milliseconds)
        name = names[row.annotator]
        if held[name].get(row.item) != given:
            new += not answers.save(name, given, _key(row)).repeated
    answers.close()
    return new


def _check(study: PeopleStudy, rows: Sequence[_Row], source: Path) -> None:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        item = study.by_id.get(row.item)
        if item is None:
            raise InputError(f"{source} is not of this study: it has no item {brief(row.item)}.")
        if (row.annotator, row.item) in seen:
            raise InputError(f"{source} has two answers of {brief(row.annotator)} to the item {row.item}.")
        seen.add((row.annotator, row.item))
        if any(word >= len(item.start) for word in row.highlighted or ()):
            raise InputError(f"{source}: the text of the item {row.item} has only {len(item.start)} words.")


def _key(row: _Row) -> str:
    return hashlib.sha256(msgspec.json.encode(row)).hexdigest()


def _form(path: Path) -> str:
    if path.suffix.lower() not in FORMS:
        raise InputError(f"{path} must end with {', '.join(FORMS[:-1])} or {FORMS[-1]}.")
    return path.suffix.lower()


def _csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, list) else value


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _from_csv(path: Path) -> list[dict[str, Any]]:
    try:
        reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    return [_typed(row, path) for row in rows]


def _typed(row: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Cells of a CSV file as what they stand for; an empty one is none."""
    found: dict[str, Any] = {}
    for name in (field.name for field in ANSWER_SCHEMA):
        cell = row.get(name)
        if cell in (None, "") or name == "at":
            continue
        if name == "relevant":
            found[name] = _TRUTHS.get(cell.strip().lower(), cell)
        elif name in ("highlighted", "confidence", "milliseconds"):
            found[name] = _decoded(cell, path)
        else:
            found[name] = cell
    return found


def _from_jsonl(path: Path) -> list[Any]:
    return [_decoded(line, path) for line in _text(path).split("\n") if line.strip()]


def _decoded(text: str, path: Path) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: {brief(text)} is not JSON.") from error


def _from_parquet(path: Path) -> list[dict[str, Any]]:
    table = read_foreign_table(path)
    names = [field.name for field in ANSWER_SCHEMA if field.name in table.column_names and field.name != "at"]
    rows = table.select(names).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text in UTF-8.") from error
