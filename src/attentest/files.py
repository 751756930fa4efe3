"""Files, written whole or not at all; a damaged one is told as a sentence with its name."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attentest.errors import InputError

Kind = TypeVar("Kind")
LARGEST_JSON = 1 << 29  # bytes; the largest that is written is the vocabulary of a large corpus
_LEAST = 4  # bytes of a value
_SMALL = 1 << 26  # bytes of a table that are not worth counting
_LONGEST = 500  # characters of a reason, which may quote the file
_DRAFT = re.compile(r"\..+\.(\d+)(?:-\d+)?\.attentest", re.DOTALL)  # earlier versions gave no second number
_numbers = itertools.count()
_being_written: set[str] = set()  # drafts of threads of this process
MOST_CELLS = 200_000_000  # of a table that is read for a page
MOST_BYTES = 1 << 31  # of it in memory


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


def inside(folder: Path, name: str | Path) -> Path:
    """A path in a folder that may be somebody else's: refused where it leads out of it, by its words or by a link."""
    try:
        if (folder / name).resolve().is_relative_to(folder.resolve()):
            return folder / name
    except (OSError, ValueError, RuntimeError):  # no path at all, or a ring of links
        pass
    raise InputError(f"{folder} is damaged, or not to be trusted: {str(name)!r} is not a file inside it.")


def hash_of(file: Path) -> str:
    """A hash of a file's content."""
    try:
        expect_file(file)
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error


def expect_file(path: Path) -> None:
    """Refuse what is there but no plain file: to read a pipe or a device may never end."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise InputError(f"{path} is not a file.")


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


def draft_of(path: Path) -> Path:
    """Where a thread of this process makes what will be moved to `path`: each call names another place."""
    return path.with_name(f".{path.name}.{os.getpid()}-{next(_numbers)}.attentest")


def is_draft(path: Path) -> bool:
    return _DRAFT.fullmatch(path.name) is not None


def remove_drafts(folder: Path) -> None:
    """Remove what processes that were killed had begun, also an earlier one that had the number of this process."""
    for entry in filter(is_draft, list(folder.iterdir())):
        process = int(_DRAFT.sub(r"\1", entry.name))
        if entry.name not in _being_written and (process == os.getpid() or not is_alive(process)):
            remove(entry)


def is_alive(process: int) -> bool:
    if process < 1:  # to the system, all processes of a group
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    # folders that lie deeper are moved up first: nothing calls itself and no path gets too long, however deep they go
    left = [path]
    while left:
        folder = left.pop()
        _make_ours(folder)
        for entry in list(folder.iterdir()):
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink(missing_ok=True)
            elif folder == path:
                left.append(entry)
            else:
                _make_ours(entry)
                left.append(entry.rename(path / uuid.uuid4().hex))
        if folder != path:
            folder.rmdir()
    path.rmdir()


def _make_ours(folder: Path) -> None:
    """What is in it can be listed, moved and removed, whatever it was made like."""
    with suppress(PermissionError):  # somebody else's, who may have let us write in it
        folder.chmod(0o700)


@contextmanager
def drafting(path: Path) -> Iterator[Path]:
    """A draft that no other thread takes for one that was left; it is gone afterwards."""
    draft = draft_of(path)
    _being_written.add(draft.name)
    try:
        yield draft
    finally:
        with suppress(OSError):  # a name too long for a file, say
            remove(draft)
        _being_written.discard(draft.name)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside the file and move it into place: a kill leaves the old file or the new, never half of one."""
    check_target(path)
    with drafting(path) as draft:
        try:
            write(draft)
            with draft.open("rb") as handle:
                os.fsync(handle.fileno())
            draft.replace(path)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


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
        expect_file(path)
        if path.stat().st_size > LARGEST_JSON:
            raise InputError(f"{path} is larger than any file that attentest writes.")
        return json.loads(path.read_text(encoding="utf-8"), parse_float=_finite, parse_constant=_finite)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} is not there; {path.parent} is not finished, or not a folder that attentest wrote."
        ) from error
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged or was not written by attentest ({error}).") from error


def _finite(number: str) -> float:
    """What is not defined is null in our files, so that NaN and numbers beyond all bounds are of somebody else."""
    if not math.isfinite(found := float(number)):
        raise ValueError(f"{number[:20]} is no number")
    return found


def read_as(path: Path, kind: type[Kind]) -> Kind:
    """A JSON file as what it must be; the message names the field that is not."""
    return checked(read_json(path), kind, path)


def checked(content: Any, kind: type[Kind], place: Path) -> Kind:
    """What JSON gave as what it must be; `place` is the file it came from."""
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:  # half a character is no text
        named = re.sub(r"`\$\.?([^`]*)`", r"`\1`", str(error)).replace(" - at ``", "")
        why = _lower(re.sub(r"\.? - at ", " at ", named))
        shown = why if len(why) < _LONGEST else f"{why[:_LONGEST]} …"
        raise InputError(f"{place} is damaged, or of another version of attentest: {shown}.") from error


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


def read_foreign_table(path: Path) -> pa.Table:
    """A table that anybody may have written: refused unread where it would fill the memory, and looked through."""
    expect_file(path)
    try:
        cells = cells_of(path)
        if cells > MOST_CELLS:
            raise InputError(f"{path} has {cells:,} cells, more than any table of attentest.")
        if least_size(path) > MOST_BYTES or size_in_memory(path) > MOST_BYTES:
            raise InputError(f"{path} takes more memory than any table of attentest.")
    except (OSError, pa.ArrowException):
        pass  # reading it says what is wrong
    table = read_table(path)
    try:
        table.validate(full=True)  # whether text is UTF-8, for one
    except pa.ArrowException as error:
        raise InputError(f"{path} is damaged or not a Parquet file.") from error
    return table


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read whole by the thread that asks: a small table is not worth a pool of them."""
    expect_file(path)
    # pyarrow's own read_table scans with two thread pools and was seen to wait on them for ever on a loaded machine
    with arrow_file(path) as opened, pq.ParquetFile(opened, pre_buffer=False) as file:
        return file.read(columns=None if columns is None else list(columns), use_threads=False)


def cells_of(path: Path) -> int:
    """How many values a table has; each value of a list counts."""
    with arrow_file(path) as opened:
        about = pq.read_metadata(opened)
    return max(int(about.num_rows), sum(int(chunk.num_values) for chunk in _chunks(about, None)))


def least_size(path: Path, columns: Sequence[str] | None = None) -> int:
    """Bytes that the columns take at least when they are read, as the file itself says; nothing is unpacked."""
    with arrow_file(path) as opened:
        about = pq.read_metadata(opened)
    return sum(
        max(int(chunk.total_uncompressed_size), _LEAST * int(chunk.num_values)) for chunk in _chunks(about, columns)
    )


def size_in_memory(path: Path, columns: Sequence[str] | None = None) -> int:
    """Bytes that the columns take when they are read: a small file can repeat a long text many times.

    Text is looked at as numbers of entries in a dictionary, so that counting takes no such memory itself.
    """
    with arrow_file(path) as opened:
        about = pq.read_metadata(opened)
        largest = sum(int(chunk.total_uncompressed_size * chunk.num_values) for chunk in _chunks(about, columns))
        if largest <= _SMALL:  # however often a value is repeated
            return largest
        leaves = [about.schema.column(number) for number in range(about.num_columns)]
        texts = [
            leaf.path
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in ("STRING", "NONE")
        ]
        wanted = None if columns is None else list(columns)
        with pq.ParquetFile(opened, read_dictionary=texts, pre_buffer=False) as file:
            batches = file.iter_batches(columns=wanted, use_threads=False)
            return sum(_expanded(column) for batch in batches for column in batch.columns)


def _chunks(about: pq.FileMetaData, columns: Sequence[str] | None) -> Iterator[pq.ColumnChunkMetaData]:
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            if columns is None or any(f"{chunk.path_in_schema}.".startswith(f"{name}.") for name in columns):
                yield chunk


def _expanded(values: pa.Array) -> int:
    """Bytes of an array in which each text is written out."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        entries = values.dictionary
        known = pa.types.is_string(entries.type) or pa.types.is_large_string(entries.type)
        if known or pa.types.is_binary(entries.type) or pa.types.is_large_binary(entries.type):
            texts = pc.sum(pc.binary_length(entries).take(values.indices)).as_py() or 0
            return int(texts + values.indices.nbytes)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _expanded(values.flatten()) + 8 * len(values)
    if pa.types.is_struct(kind):
        return sum(_expanded(field) for field in values.flatten())
    return int(values.nbytes)
