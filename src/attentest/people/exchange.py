"""Answers to and from files: CSV, JSONL and Parquet, by the end of the name.

What is written tells the condition of each item, so it is for those who evaluate the study, not for annotators. What
is read needs the columns of the answers alone; those about items are left aside.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.corpora.rationales import of_spans
from attentest.errors import InputError, brief
from attentest.exports.formulas import guarded
from attentest.files import check_target, write_bytes, write_table
from attentest.people.answer_files import AnswerRow, form_of, read_answers
from attentest.people.answers_table import UNKNOWN_TIME, with_known_times
from attentest.people.given_answers import answers_of, need_database, opened
from attentest.people.study import Item, PeopleStudy

_ABOUT = pa.schema(
    {
        "condition": pa.string(),
        "expected": pa.bool_(),
        "source": pa.string(),
        "predicted": pa.string(),
        "label": pa.string(),
        "marked": pa.list_(pa.int32()),
        "text": pa.string(),
        "second": pa.string(),
        "rationale": pa.list_(pa.int8()),  # of the text, as corpora have it; null if nobody was asked to highlight
    }
)


def export_answers(study: PeopleStudy, out: Path, database: str | None = None) -> int:
    """Write every answer with what it is about; how many there are."""
    form = form_of(out)
    check_target(out)
    table = with_known_times(answers_of(study, database))
    about = [
        vars(item) | {"rationale": rationale_of(item, highlighted)}
        for item, highlighted in zip(
            (study.by_id[id] for id in table["item"].to_pylist()), table["highlighted"].to_pylist(), strict=True
        )
    ]
    table = table.append_column("study", pa.array([study_mark(study)] * table.num_rows, pa.string()))
    for field in _ABOUT:
        table = table.append_column(field, pa.array([row[field.name] for row in about], field.type))
    if form == ".parquet":
        write_table(out, table)
    else:
        rows = [row | {"at": row["at"].isoformat()} for row in table.to_pylist()]
        write_bytes(out, (_csv(rows, table.column_names) if form == ".csv" else _jsonl(rows)).encode())
    return int(table.num_rows)


def study_mark(study: PeopleStudy) -> str:
    """What tells files of one study from those of others: a hash, as its id is a secret."""
    return hashlib.sha256(f"answers of {study.record.id}".encode()).hexdigest()[:16]


def rationale_of(item: Item, highlighted: Sequence[int] | None) -> list[int] | None:
    """A 0 or 1 for each word between spaces; words of an item can be parts of these. A second text has none."""
    if highlighted is None:
        return None
    first = len(item.start) - item.in_second
    return of_spans(item.text, [(item.start[word], item.end[word]) for word in highlighted if word < first])


def import_answers(study: PeopleStudy, source: Path, database: str | None = None) -> int:
    """Add the answers of a file to the study's; the number of those that were not there yet.

    All are checked before the first is written. A file can be read twice: an answer that holds is not added again.
    """
    rows = read_answers(source)
    need_database()
    from attentest.people.answers import Given

    named = _checked(study, rows)
    answers = opened(study, database)
    answers.add_without_token(sorted({name for name, _ in named}))
    held = {name: answers.current(name) for name, _ in named}
    new = 0
    for name, row in named:
        marked = None if row.highlighted is None else sorted(set(row.highlighted))  # as they are stored
        time = UNKNOWN_TIME if row.milliseconds is None else row.milliseconds
        given = Given(row.item, row.relevant, marked, row.confidence, row.comment, time)
        if held[name].get(row.item) != given:
            # a new key each time: what was said before, and changed or undone since, can be said again
            answers.save(name, given, uuid.uuid4().hex)
            new += 1
    answers.close()
    return new


def _checked(study: PeopleStudy, rows: Sequence[tuple[str, AnswerRow]]) -> list[tuple[str, AnswerRow]]:
    """Rows with the names of their annotators as they are stored."""
    from attentest.people.answers import checked_name

    mark = study_mark(study)
    found: dict[tuple[str, str], AnswerRow] = {}
    for place, row in rows:
        if row.study not in (None, mark):
            raise InputError(
                f"{place}: `study` is {brief(row.study)}, so the answers are to another study, or study.json was "
                f"changed after they were given; this one is {mark}."
            )
        item = study.by_id.get(row.item)
        if item is None:
            raise InputError(f"{place} is not of this study: it has no item {brief(row.item)}.")
        try:
            name = checked_name(row.annotator)
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        if (name, row.item) in found:
            raise InputError(f"{place}: there are two answers of {brief(name)} to the item {row.item}.")
        if any(word >= len(item.start) for word in row.highlighted or ()):
            raise InputError(f"{place}: `highlighted`: the text of {row.item} has only {len(item.start)} words.")
        found[name, row.item] = row
    return [(name, row) for (name, _), row in found.items()]


def _csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, names, lineterminator="\r\n")  # a cell with either of them is quoted
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, list) else value


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
