"""Texts from the user's own files: csv, tsv, jsonl and parquet, one file or a folder with one for each split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.corpora.build import SPLIT_NAMES, build_corpus
from attentest.corpora.columns import Columns, check_columns, kind_of_columns, to_column
from attentest.corpora.corpus import Corpus
from attentest.corpora.delimited import USUAL, first_line, read_delimited
from attentest.corpora.encodings import check_encoding, without_mark
from attentest.errors import InputError
from attentest.files import arrow_file, is_file, least_size, name_of, read_parquet, size_in_memory
from attentest.memory import check_memory

KINDS = (".csv", ".tsv", ".jsonl", ".parquet")
_CHUNK = 50_000


def load_files(
    path: Path,
    columns: Columns,
    *,
    name: str | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    positive: str | None = None,
) -> Corpus:
    """A corpus from one file, or from a folder whose files are named train, dev (or val) and test."""
    if path.is_dir() and "split" in columns:
        raise InputError(f"{path} is a folder whose files are the splits; a split column needs a single file.")
    parts = _split_files(path) if path.is_dir() else {"": path}
    tables, notes = [], []
    for split, file in parts.items():
        table, assumed = read_table(file, columns, encoding, separator)
        notes += assumed
        if split:
            table = table.append_column("split", pa.repeat(split, table.num_rows))
            if "id" not in columns:
                ids = pa.array([f"{split}/{i}" for i in range(table.num_rows)])
                table = table.append_column("id", ids)
        tables.append(table)
    merged = pa.concat_tables(tables, promote_options="permissive")
    return build_corpus(
        name or name_of(Path(path.resolve().stem)),
        {name: merged[name] for name in merged.column_names},
        kind=kind_of_columns(columns),
        positive=positive,
        notes=notes,
    )


def read_table(
    file: Path, columns: Columns, encoding: str = "utf-8", separator: str | None = None
) -> tuple[pa.Table, list[str]]:
    """The wanted columns of one file, under our names and of the same types for every kind; and what was assumed."""
    kind = file.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{file}: cannot read '{file.suffix}' files; give one of {', '.join(KINDS)}.")
    if separator is not None and kind not in USUAL:
        raise InputError(f"{file} has no separator; it only applies to csv and tsv files.")
    if not is_file(file):
        raise InputError(f"{file}: there is no such file.")
    check_memory(file.stat().st_size, str(file))
    notes: list[str] = []
    try:
        if kind in USUAL:
            table, notes = read_delimited(file, columns, encoding, separator)
        elif kind == ".jsonl":
            table = _read_jsonl(file, columns, encoding)
        else:
            table = _read_parquet(file, columns)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}.") from error
    if not table.num_rows:
        raise InputError(f"{file} has no rows.")
    return pa.table({ours: to_column(str(file), ours, table[ours]) for ours in table.column_names}), notes


def _split_files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        split = SPLIT_NAMES.get(file.stem.lower())
        if split and file.suffix.lower() in KINDS:
            if split in found:
                raise InputError(f"{folder} has two files for the {split} split: {found[split].name}, {file.name}.")
            found[split] = file
    if "train" not in found:
        raise InputError(
            f"{folder} has no train.csv, train.tsv, train.jsonl or train.parquet; a folder needs one file for "
            "each split, named train, dev and test."
        )
    return found


def _read_jsonl(file: Path, columns: Columns, encoding: str) -> pa.Table:
    chunks: list[pa.Table] = []
    rows: list[dict[str, Any]] = []
    fields: dict[str, None] = {}
    schema = pa.schema(dict.fromkeys(columns, pa.large_string()))

    def flush() -> None:
        chunks.append(pa.Table.from_pylist(rows, schema=schema))
        rows.clear()

    check_encoding(file, encoding)
    with file.open(encoding=without_mark(encoding)) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                reason = getattr(error, "msg", error)  # without its own count of lines, which is always 1
                raise InputError(f"{file}, line {number}: not valid JSON ({reason}).") from error
            if not isinstance(record, dict):
                raise InputError(f"{file}, line {number}: expected an object with named fields.")
            fields |= dict.fromkeys(record)
            where = f"{file}, line {number}"
            rows.append({ours: _json_value(ours, record.get(theirs), where) for ours, theirs in columns.items()})
            if len(rows) == _CHUNK:
                flush()
    flush()
    if fields:
        check_columns(str(file), columns, list(fields))
    return pa.concat_tables(chunks)


def _json_value(ours: str, value: Any, where: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        # half a surrogate pair, as in a tweet that was cut, is valid JSON but no text
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | dict) and ours != "rationale":
        raise InputError(f"{where}: the {ours} is {'a list' if isinstance(value, list) else 'an object'}, not text.")
    return json.dumps(value)


def _read_parquet(file: Path, columns: Columns) -> pa.Table:
    with arrow_file(file) as opened:
        there = pq.read_metadata(opened).schema.to_arrow_schema().names
    check_columns(str(file), columns, there)
    wanted = list(dict.fromkeys(columns.values()))
    # a small file can stand for very much
    check_memory(least_size(file, wanted), str(file))
    check_memory(size_in_memory(file, wanted), str(file))
    table = read_parquet(file, wanted)
    return pa.table({ours: table[theirs] for ours, theirs in columns.items()})
