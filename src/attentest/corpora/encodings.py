"""Encodings of text files: bytes that do not fit are told with their line."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

from attentest.errors import InputError

NOT_OF_FILES = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")


def check_encoding(file: Path, encoding: str) -> None:
    """Complain about bytes that do not decode, with the line of the first."""
    _refuse_utf16(file, encoding)
    try:
        with file.open(encoding=encoding) as lines:
            for _ in lines:
                pass
    except UnicodeError as error:
        line = _line_of_bad_byte(file, encoding)
        raise InputError(
            f"{file}, line {line}: not valid {encoding}. Save it as UTF-8, or name its encoding with `encoding` "
            "(latin-1 and cp1252 are common)."
        ) from error


def check_name(encoding: str) -> None:
    """Refuse what is no encoding of a text file: unknown, from bytes to bytes, or for host names and source code."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        usable = codecs.lookup(encoding).name.replace("-", "_") not in NOT_OF_FILES
    except (LookupError, ValueError):
        usable = False
    if not usable:
        raise InputError(f"There is no encoding called '{encoding}' for text files; utf-8 and latin-1 are common.")


def _refuse_utf16(file: Path, encoding: str) -> None:
    """UTF-16 read as something else may decode, to text full of NULs."""
    with file.open("rb") as stream:
        first = stream.read(2)
    marked = first in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    if (marked or b"\0" in first) and not codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        guess = "utf-16" if marked else "utf-16-be" if first[:1] == b"\0" else "utf-16-le"
        raise InputError(f"{file} looks like UTF-16 and not like {encoding}: try `encoding={guess!r}`.")


def _line_of_bad_byte(file: Path, encoding: str) -> int:
    data = file.read_bytes()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return data[: error.start].decode(encoding, "ignore").count("\n") + 1
    return 1


def without_mark(encoding: str) -> str:
    """The same encoding, but the mark some editors put at the start of UTF-8 is not read as text."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
