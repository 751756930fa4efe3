"""Csv and tsv files, whatever sign separates their columns."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from attentest.corpora.columns import Columns, MissingColumnError, check_columns
from attentest.corpora.encodings import check_encoding, without_mark
from attentest.errors import InputError
from attentest.files import arrow_file

USUAL = {".csv": ",", ".tsv": "\t"}
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
_WRITTEN_OUT = {"\\t": "\t", "tab": "\t"}  # a tab is hard to type
_SAMPLE = 1 << 17  # bytes that tell the separator
_ROWS = 200  # of the sample, at most
_ALIKE = 0.9  # of these, when they have as many columns as the header
_BLOCK = 64 << 20  # bytes read at once: no row of a delimited file can be longer
_DECLARED = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # the line that Excel puts first, and reads


def read_delimited(file: Path, columns: Columns, encoding: str, separator: str | None) -> tuple[pa.Table, list[str]]:
    """The wanted columns as text, under our names; and a note about the separator, if it is not the usual one."""
    check_encoding(file, encoding)
    usual = USUAL[file.suffix.lower()]
    sample = _read_sample(file, encoding)
    declared = _DECLARED.match(sample)
    if separator is not None:
        chosen = _checked(separator)
    else:
        chosen = declared[1] if declared else find_separator(sample, columns, usual)
    table = _read(file, columns, encoding, chosen, skip=int(declared is not None))
    notes = (
        [f"{file.name}: the columns seem to be separated by {_named(chosen)}, not by {_named(usual)}."]
        if separator is None and chosen != usual
        else []
    )
    return table, notes


def find_separator(sample: str, columns: Columns, usual: str) -> str:
    """The sign under which the header has most of the wanted columns, and every row as many as the header."""
    wanted = set(columns.values())

    def fit(separator: str) -> tuple[int, int]:
        header, *rows = _records(sample, separator)
        alike = sum(len(row) == len(header) for row in rows) >= _ALIKE * len(rows)
        return len(wanted & set(header)), len(header) if alike else 0

    return max((usual, *SEPARATORS), key=fit)  # the first of the best: the usual one, where others are no better


def _records(sample: str, separator: str) -> list[list[str]]:
    """Header and rows; blank lines are none, and the last row is left out, as the sample may end in it."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    header, *rows = [record for record, _ in zip(reader, range(_ROWS), strict=False) if record] or [[]]
    return [header, *rows[:-1]]


def _read_sample(file: Path, encoding: str) -> str:
    with file.open("rb") as stream:
        start = stream.read(_SAMPLE)
    decoder = codecs.getincrementaldecoder(without_mark(encoding))(errors="replace")
    return decoder.decode(start).removeprefix("\ufeff")


def _checked(separator: str) -> str:
    sign = _WRITTEN_OUT.get(separator, separator)
    if not (len(sign) == 1 and sign.isascii() and sign not in '"\r\n\0'):
        raise InputError(f"The separator is {separator!r}; expected one character, such as , or ; or | or tab.")
    return sign


def _named(separator: str) -> str:
    return SEPARATORS.get(separator, f"'{separator}'")


def _read(file: Path, columns: Columns, encoding: str, separator: str, skip: int) -> pa.Table:
    wanted = list(dict.fromkeys(columns.values()))
    # one thread, because only then do errors name the row
    read = pacsv.ReadOptions(encoding=encoding, block_size=_BLOCK, use_threads=False, skip_rows=skip)
    parse = pacsv.ParseOptions(delimiter=separator, newlines_in_values=True)
    # every wanted column is read as text: what a label means is decided over all rows, not over the first block
    convert = pacsv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.large_string()))
    try:
        with arrow_file(file) as opened, pacsv.open_csv(opened, read, parse) as header:
            _check_header(file, columns, header.schema.names, separator)
        with arrow_file(file) as opened, pacsv.open_csv(opened, read, parse, convert) as stream:
            table = pa.Table.from_batches(stream, stream.schema)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            raise InputError(f"{file} has no rows.") from error
        if "columns, got" in str(error):
            raise InputError(
                f"{file} cannot be read: {first_line(error)}. A text that contains the separator, a line break or "
                f"a double quote must be in double quotes. The columns seem to be separated by {_named(separator)}; if "
                "they are not, set `separator`."
            ) from error
        if "straddles" in str(error):
            raise InputError(
                f"{file} has a row of more than {_BLOCK >> 20} MB; is there a double quote that is not closed?"
            ) from error
        raise
    return pa.table({ours: table[theirs] for ours, theirs in columns.items()})


def _check_header(file: Path, columns: Columns, there: list[str], separator: str) -> None:
    try:
        check_columns(str(file), columns, there)
    except MissingColumnError as error:
        if len(there) > 1:
            raise
        raise MissingColumnError(
            f"{error} The file has a single column when cut at {_named(separator)}; if another sign separates its "
            "columns, name it with `separator`."
        ) from error


def first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text[:300].rstrip(".")
