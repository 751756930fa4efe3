"""Texts from the user's own files: csv, tsv, jsonl and parquet, one file or a folder with one for each split."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from attentest.corpora.corpus import SPLIT_NAMES, Corpus, build_corpus
from attentest.errors import InputError

Columns = Mapping[str, str]  # our column name -> the file's
_CHUNK = 50_000


def load_files(
    path: Path,
    columns: Columns,
    *,
    encoding: str = "utf-8",
    positive: str | None = None,
    classes: Sequence[str] | None = None,
    recipe: Mapping[str, Any] | None = None,
) -> Corpus:
    """A corpus from one file, or from a folder whose files are named train, dev (or val) and test."""
    parts = _split_files(path) if path.is_dir() else {"": path}
    tables = []
    for split, file in parts.items():
        table = read_table(file, columns, encoding)
        if split:
            table = table.append_column("split", pa.repeat(split, table.num_rows))
            if "id" not in columns:
                ids = pa.array([f"{split}/{i}" for i in range(table.num_rows)])
                table = table.append_column("id", ids)
        tables.append(table)
    merged = pa.concat_tables(tables, promote_options="permissive")
    return build_corpus(
        path.stem,
        {name: merged[name] for name in merged.column_names},
        kind="pair" if "second" in columns else "single",
        positive=positive,
        classes=classes,
        recipe=recipe,
    )


def read_table(file: Path, columns: Columns, encoding: str = "utf-8") -> pa.Table:
    """The wanted columns of one file, under our names."""
    readers = {
        ".csv": lambda: _read_delimited(file, columns, ",", encoding),
        ".tsv": lambda: _read_delimited(file, columns, "\t", encoding),
        ".jsonl": lambda: _read_jsonl(file, columns, encoding),
        ".parquet": lambda: _read_parquet(file, columns),
    }
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise InputError(f"{file}: cannot read '{file.suffix}' files; give one of {', '.join(readers)}.")
    if not file.is_file():
        raise InputError(f"{file}: there is no such file.")
    try:
        table = reader()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}.") from error
    except pa.ArrowException as error:
        raise InputError(f"{file} cannot be read: {_first_line(error)}.") from error
    if not table.num_rows:
        raise InputError(f"{file} has no rows.")
    return table


def _split_files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        split = SPLIT_NAMES.get(file.stem.lower())
        if split and file.suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet"):
            if split in found:
                raise InputError(f"{folder} has two files for the {split} split: {found[split].name}, {file.name}.")
            found[split] = file
    if "train" not in found:
        raise InputError(
            f"{folder} has no train.csv, train.tsv, train.jsonl or train.parquet; a folder needs one file for "
            "each split, named train, dev and test."
        )
    return found


def _check_columns(file: Path, columns: Columns, there: Sequence[str]) -> None:
    for ours, theirs in columns.items():
        if theirs not in there:
            raise InputError(
                f"{file} has no column '{theirs}'; its columns are {', '.join(there)}. "
                f"Name the {ours} column with --{ours}."
            )


def _read_delimited(file: Path, columns: Columns, delimiter: str, encoding: str) -> pa.Table:
    wanted = list(dict.fromkeys(columns.values()))
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    _check_encoding(file, encoding)
    with pacsv.open_csv(file, pacsv.ReadOptions(encoding=encoding), parse) as header:
        _check_columns(file, columns, header.schema.names)
    # every wanted column is read as text: what a label means is decided over all rows, not over the first block
    convert = pacsv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.large_string()))
    with pacsv.open_csv(file, pacsv.ReadOptions(encoding=encoding), parse, convert) as stream:
        table = pa.Table.from_batches(stream, stream.schema)
    return pa.table({ours: _parse_rationale(file, ours, table[theirs]) for ours, theirs in columns.items()})


def _read_jsonl(file: Path, columns: Columns, encoding: str) -> pa.Table:
    chunks: list[pa.Table] = []
    rows: list[dict[str, Any]] = []
    schema = pa.schema({ours: pa.list_(pa.int8()) if ours == "rationale" else pa.large_string() for ours in columns})

    def flush() -> None:
        chunks.append(pa.Table.from_pylist(rows, schema=schema))
        rows.clear()

    _check_encoding(file, encoding)
    with file.open(encoding=encoding) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise InputError(f"{file}, line {number}: not valid JSON ({error}).") from error
            if not isinstance(record, dict):
                raise InputError(f"{file}, line {number}: expected an object with named fields.")
            if not rows and not chunks:
                _check_columns(file, columns, list(record))
            rows.append({ours: _json_value(ours, record.get(theirs)) for ours, theirs in columns.items()})
            if len(rows) == _CHUNK:
                flush()
    flush()
    return pa.concat_tables(chunks)


def _json_value(ours: str, value: Any) -> Any:
    if value is None or isinstance(value, str) or ours == "rationale":
        return value
    return json.dumps(value)


def _read_parquet(file: Path, columns: Columns) -> pa.Table:
    there = pq.read_schema(file).names
    _check_columns(file, columns, there)
    table = pq.read_table(file, columns=list(dict.fromkeys(columns.values())))
    return pa.table({ours: table[theirs] for ours, theirs in columns.items()})


def _parse_rationale(file: Path, ours: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """In a delimited file a rationale is written as 0s and 1s: '0 1 1 0', '0110' or '[0, 1, 1, 0]'."""
    if ours != "rationale":
        return column
    marks = [[int(c) for c in value if c in "01"] if value else None for value in column.to_pylist()]
    return pa.chunked_array([pa.array(marks, pa.list_(pa.int8()))])


def _check_encoding(file: Path, encoding: str) -> None:
    """Find the first byte that does not decode, so that the message can name its line."""
    try:
        with file.open(encoding=encoding) as lines:
            number = 0
            for number, _ in enumerate(lines, 1):  # noqa: B007 (read after the loop fails)
                pass
    except LookupError as error:
        raise InputError(f"There is no encoding called '{encoding}'.") from error
    except UnicodeDecodeError as error:
        line = _line_of_bad_byte(file, encoding)
        raise InputError(
            f"{file}, line {line}: not valid {encoding}. Save it as UTF-8, or name its encoding with --encoding "
            "(latin-1 and cp1252 are common)."
        ) from error


def _line_of_bad_byte(file: Path, encoding: str) -> int:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                return number
    return 1


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text[:300].rstrip(".")
