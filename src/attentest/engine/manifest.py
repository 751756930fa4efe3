"""What an entry of the store must be: the files that its manifest names, as they were written, and no others."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from attentest.errors import InputError
from attentest.files import hash_of, read_as

MANIFEST = "entry.json"
_LONGEST = 1000  # characters of a name


class DamagedError(Exception):
    """An entry whose files are not what was written."""


@dataclass(frozen=True)
class FileRecord:
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What entry.json says of an entry, as far as it is read again."""

    key: str
    files: dict[str, FileRecord]


def read_manifest(folder: Path, key: str) -> Manifest:
    file = folder / MANIFEST
    try:
        found = read_as(file, Manifest)
    except InputError as error:
        raise DamagedError(str(error).rstrip(".")) from error
    if found.key != key:
        raise DamagedError(f"{file} is of another entry: `key` is {found.key[:80]!r}")
    if not found.files:
        raise DamagedError(f"{file} names no file")
    odd = _outside(found.files)
    if odd:
        raise DamagedError(f"{file} names {odd[0][:80]!r}, which is no file of this entry")
    return found


def _outside(names: Iterable[str]) -> list[str]:
    """Names that do not lie in the entry, on any system, or that stand for a file and a folder at once."""
    listed = list(names)
    folders = {str(parent) for name in listed for parent in PurePosixPath(name).parents}
    return [name for name in listed if not _is_inside(name) or name in folders]


def _is_inside(name: str) -> bool:
    if name == MANIFEST or len(name) > _LONGEST or not (name.isascii() and name.isprintable()):
        return False
    return not (PureWindowsPath(name).anchor or "\\" in name or {"", ".", ".."} & set(name.split("/")))


def check_entry(folder: Path, key: str) -> None:
    """Refuse an entry that is not what was written."""
    try:
        if folder.is_symlink() or not folder.is_dir():
            raise DamagedError(f"{folder} is no folder")
        files = read_manifest(folder, key).files
        for name in sorted(files.keys() ^ files_in(folder)):
            raise DamagedError(f"{folder / name} is {'missing' if name in files else 'not of this entry'}")
        for name, written in files.items():
            file = folder / name
            if file.stat().st_size != written.bytes or hash_of(file) != written.sha256:
                raise DamagedError(f"{file} is not what was written")
    except (OSError, InputError) as error:
        raise DamagedError(f"{folder} cannot be read ({str(error).rstrip('.')})") from error


def files_in(folder: Path) -> set[str]:
    """The names of an entry's files, without the manifest and without what systems and killed processes leave there.

    Whatever is neither a file nor a folder, such as a link, is refused.
    """
    found, left = set(), [folder]
    while left:
        for path in left.pop().iterdir():
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                left.append(path)
            elif not stat.S_ISREG(mode):
                raise DamagedError(f"{path} is neither a file nor a folder")
            elif not path.name.startswith("."):
                found.add(path.relative_to(folder).as_posix())
    return found - {MANIFEST}
