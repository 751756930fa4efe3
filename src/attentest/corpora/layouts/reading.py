"""Opening the files of a downloaded corpus, with a sentence where they are not what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attentest.errors import InputError
from attentest.files import is_file


def need(folder: Path, corpus: str, names: Sequence[str]) -> None:
    """Complain unless `folder` is a folder that holds every one of `names`; a * in a name stands for anything."""
    expected = f"expected a folder with {', '.join(names)}"
    if not folder.exists():
        raise InputError(f"{corpus}: {folder} does not exist; {expected}.")
    if not folder.is_dir():
        raise InputError(f"{corpus}: {folder} is not a folder; {expected}.")
    missing = [name for name in names if not any(folder.glob(name))]
    if missing:
        raise InputError(f"{corpus}: {folder} has no {missing[0]}; {expected}.")


def read_text(file: Path, corpus: str, fallback: str | None = None) -> str:
    """The text of a UTF-8 file; bytes that are not UTF-8 are read as `fallback`, where there is one."""
    if not is_file(file):  # a pipe would be waited for
        raise InputError(f"{corpus}: {file} is no regular file; expected a text file.")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{corpus}: {file} cannot be read ({error.strerror}); expected a text file.") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if fallback is not None:
            return data.decode(fallback)
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{corpus}: {file}, line {line}, byte {error.start} is not UTF-8; save the file as UTF-8."
        ) from error


def read_lines(file: Path, corpus: str) -> list[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers from 1."""
    # only \n and \r\n end a line: str.splitlines would also break texts at \x85 and \u2028
    lines = (line.removesuffix("\r") for line in read_text(file, corpus).split("\n"))
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def shorten(text: str, width: int = 40) -> str:
    """The beginning of `text`, to show in an error."""
    return text if len(text) <= width else text[: width - 1] + "…"
