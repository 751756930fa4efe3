"""Texts from the user's own files: csv, tsv, jsonl and parquet, one file or a folder with one for each split."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from attentest.corpora.columns import Columns, check_columns, to_column
from attentest.corpora.corpus import SPLIT_NAMES, Corpus, build_corpus
from attentest.errors import InputError
from attentest.files import arrow_file, name_of, read_parquet

_CHUNK = 50_000
_BLOCK = 64 << 20  # bytes read at once: no row of a delimited file can be longer


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
    if path.is_dir() and "split" in columns:
        raise InputError(f"{path} is a folder, and its files are the splits: a split column is for a single file.")
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
        name_of(Path(path.resolve().stem)),
        {name: merged[name] for name in merged.column_names},
        kind="pair" if "second" in columns else "single",
        positive=positive,
        classes=classes,
        recipe=recipe,
    )


def read_table(file: Path, columns: Columns, encoding: str = "utf-8") -> pa.Table:
    """The wanted columns of one file, under our names and, whatever the kind of file, of the same types."""
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
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} cannot be read: {_first_line(error)}.") from error
    if not table.num_rows:
        raise InputError(f"{file} has no rows.")
    return pa.table({ours: to_column(str(file), ours, table[ours]) for ours in table.column_names})


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


def _read_delimited(file: Path, columns: Columns, delimiter: str, encoding: str) -> pa.Table:
    wanted = list(dict.fromkeys(columns.values()))
    _check_encoding(file, encoding)
    # one thread, because only then do errors name the row
    read = pacsv.ReadOptions(encoding=encoding, block_size=_BLOCK, use_threads=False)
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # every wanted column is read as text: what a label means is decided over all rows, not over the first block
    convert = pacsv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.large_string()))
    try:
        with arrow_file(file) as opened, pacsv.open_csv(opened, read, parse) as header:
            check_columns(str(file), columns, header.schema.names)
        with arrow_file(file) as opened, pacsv.open_csv(opened, read, parse, convert) as stream:
            table = pa.Table.from_batches(stream, stream.schema)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            raise InputError(f"{file} has no rows.") from error
        if "columns, got" in str(error):
            raise InputError(
                f"{file} cannot be read: {_first_line(error)}. A text that holds the separator, a line break or "
                "a double quote must stand in double quotes."
            ) from error
        if "straddles" in str(error):
            raise InputError(
                f"{file} has a row of more than {_BLOCK >> 20} MB; is there a double quote that is not closed?"
            ) from error
        raise
    return pa.table({ours: table[theirs] for ours, theirs in columns.items()})


def _read_jsonl(file: Path, columns: Columns, encoding: str) -> pa.Table:
    chunks: list[pa.Table] = []
    rows: list[dict[str, Any]] = []
    fields: dict[str, None] = {}
    schema = pa.schema(dict.fromkeys(columns, pa.large_string()))

    def flush() -> None:
        chunks.append(pa.Table.from_pylist(rows, schema=schema))
        rows.clear()

    _check_encoding(file, encoding)
    with file.open(encoding=_without_mark(encoding)) as lines:
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
        there = pq.read_schema(opened).names
    check_columns(str(file), columns, there)
    table = read_parquet(file, list(dict.fromkeys(columns.values())))
    return pa.table({ours: table[theirs] for ours, theirs in columns.items()})


def _check_encoding(file: Path, encoding: str) -> None:
    """Complain about bytes that do not decode, with the line of the first."""
    try:
        file.open(encoding=encoding).close()
    except (LookupError, ValueError) as error:
        raise InputError(f"There is no encoding called '{encoding}'.") from error
    _refuse_utf16(file, encoding)
    try:
        with file.open(encoding=encoding) as lines:
            for _ in lines:
                pass
    except UnicodeError as error:
        line = _line_of_bad_byte(file, encoding)
        raise InputError(
            f"{file}, line {line}: not valid {encoding}. Save it as UTF-8, or name its encoding with --encoding "
            "(latin-1 and cp1252 are common)."
        ) from error


def _refuse_utf16(file: Path, encoding: str) -> None:
    """UTF-16 read as something else may decode, to text full of NULs."""
    with file.open("rb") as stream:
        first = stream.read(2)
    marked = first in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    if (marked or b"\0" in first) and not codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        guess = "utf-16" if marked else "utf-16-be" if first[:1] == b"\0" else "utf-16-le"
        raise InputError(f"{file} looks like UTF-16 and not like {encoding}: try --encoding {guess}.")


def _line_of_bad_byte(file: Path, encoding: str) -> int:
    data = file.read_bytes()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return data[: error.start].decode(encoding, "ignore").count("\n") + 1
    return 1


def _without_mark(encoding: str) -> str:
    """The same encoding, but the mark some editors put at the start of UTF-8 is not read as text."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text[:300].rstrip(".")
