"""Files, written whole or not at all; a damaged one is told as a sentence with its name."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from attentest.errors import InputError

Kind = TypeVar("Kind")


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long for a file, say
        return False


def is_file(path: Path) -> bool:
    """Whether it is a regular file, or a link to one: no folder, pipe or device."""
    try:
        return path.is_file()
    except OSError:  # a name too long for a file, say
        return False


def name_of(path: Path) -> str:
    """A file's name as text: names are bytes, nearly always UTF-8, also where the locale is not."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def hash_of(file: Path) -> str:
    """A hash of a file's content."""
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error


def copy_folder(source: Path, target: Path) -> Path:
    """Copy finished work, without drafts and locks, into a new folder."""
    if is_folder(target) and any(target.iterdir()):
        raise InputError(f"{target} holds files; save into a new folder.")
    try:
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    except OSError as error:
        raise InputError(f"{source} cannot be copied to {target}: {error}.") from error
    return target


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside the file and move it into place: a kill leaves the old file or the new, never half of one."""
    check_target(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(draft)
        with draft.open("rb") as handle:
            os.fsync(handle.fileno())
        draft.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):  # a name too long for a file, say
            draft.unlink(missing_ok=True)


def check_target(path: Path) -> None:
    """Refuse to write where something lies that is no file: moving one there would replace a device or a pipe."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:  # a name too long for a file, a loop of links
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    if not regular:
        raise InputError(f"{path} cannot be written: it is not a regular file.")


def write_bytes(path: Path, content: bytes) -> None:
    def write(draft: Path) -> None:
        draft.write_bytes(content)

    write_whole(path, write)


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    text = json.dumps(without_nan(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # of a path that is no text there may be lone surrogates: their escapes are JSON's, too
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def without_nan(content: Any) -> Any:
    """JSON has no NaN: what is not defined is null."""
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path} is not there; {path.parent} is not finished, or not a folder that attentest wrote."
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged or was not written by attentest ({error}).") from error


def read_as(path: Path, kind: type[Kind]) -> Kind:
    """A JSON file as what it must be; the message names the field that is not."""
    return checked(read_json(path), kind, path)


def checked(content: Any, kind: type[Kind], place: Path) -> Kind:
    """What JSON gave as what it must be; `place` is the file it came from."""
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        named = re.sub(r"`\$\.?([^`]*)`", r"`\1`", str(error)).replace(" - at ``", "")
        why = re.sub(r"\.? - at ", " at ", named)
        raise InputError(f"{place} is damaged, or of another version of attentest: {_lower(why)}.") from error


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def write_table(path: Path, table: pa.Table) -> None:
    def write(draft: Path) -> None:
        with arrow_file(draft, "wb") as file:
            pq.write_table(table, file, compression="zstd")

    write_whole(path, write)


def arrow_file(path: Path, mode: str = "rb") -> pa.NativeFile:
    """For pyarrow, which takes paths that are UTF-8 alone."""
    return pa.OSFile(os.fsencode(path), mode)


def read_table(path: Path) -> pa.Table:
    try:
        return read_parquet(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; {path.parent} is not finished.") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged or not a Parquet file.") from error


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read whole by the thread that asks: a small table is not worth a pool of them."""
    # pyarrow's own read_table scans with two thread pools and was seen to wait on them for ever on a loaded machine
    with arrow_file(path) as opened, pq.ParquetFile(opened, pre_buffer=False) as file:
        return file.read(columns=None if columns is None else list(columns), use_threads=False)
