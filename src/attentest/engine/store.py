"""Results of steps, by key: whole or not there, checked by their checksums, in a folder or behind any fsspec URL."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import hash_of, read_as, write_json
from attentest.version import __version__

MANIFEST = "entry.json"


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


@dataclass(frozen=True)
class Registered:
    """The folder of a study and the entries it stands on."""

    study: str
    keys: list[str]


class Store:
    """A local folder; with a URL of another kind, a local copy of what was fetched from or sent to it.

    `entries/KEY` is moved there when it is whole. `work/KEY` is where it is made, and stays after a kill, so that a
    training goes on. Locks keep two processes on a machine from doing one step twice.
    """

    def __init__(self, place: str | Path | None = None) -> None:
        place = str(place or os.environ.get("ATTENTEST_STORE") or Path.home() / ".cache" / "attentest" / "store")
        self.place = place
        self._remote = None
        if "://" in place and not place.startswith("file://"):
            self._remote = _Remote(place)
            copies = Path.home() / ".cache" / "attentest" / "copies"
            self.root = copies / hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
        else:
            self.root = Path(place.removeprefix("file://")).resolve()
            self.place = str(self.root)  # the same for a worker or a command in another directory
        for folder in ("entries", "work", "locks", "studies"):
            with _writing(self.root):
                (self.root / folder).mkdir(parents=True, exist_ok=True)

    def path(self, key: str) -> Path:
        return self.root / "entries" / key

    def has(self, key: str) -> bool:
        """Whether the entry is there, without reading its files."""
        return (self.path(key) / MANIFEST).is_file() or (self._remote is not None and self._remote.has(key))

    def manifest(self, key: str) -> Manifest:
        try:
            self._bring(key)
            found = read_as(self.path(key) / MANIFEST, Manifest)
        except InputError as error:
            raise DamagedError(str(error).rstrip(".")) from error
        if found.key != key:
            raise DamagedError(f"{self.path(key) / MANIFEST} is of another entry: `key` is {found.key}")
        return found

    def fetch(self, key: str) -> Path:
        """The entry's folder, its files checked."""
        for name, written in self.manifest(key).files.items():
            file = self.path(key) / name
            if not file.is_file() or file.stat().st_size != written.bytes or hash_of(file) != written.sha256:
                raise DamagedError(f"{file} is not what was written")
        return self.path(key)

    def discard_if_damaged(self, key: str) -> str | None:
        """Take an entry away if its files are not what was written; why, or None if all is well."""
        with self._locked(key):  # another process may have made it anew meanwhile
            try:
                self.fetch(key)
            except DamagedError as error:
                self.discard(key)
                return str(error)
        return None

    def discard(self, key: str) -> None:
        """Take an entry away, whatever is left of it."""
        shutil.rmtree(self.path(key), ignore_errors=True)
        if self._remote is not None:
            self._remote.discard(key)

    @contextmanager
    def claim(self, key: str) -> Iterator[Path]:
        """The folder to make an entry in, held for this process; another one that wants it waits."""
        with self._locked(key):
            work = self.root / "work" / key
            with _writing(self.root):
                work.mkdir(exist_ok=True)
            yield work

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        with _writing(self.root):
            handle = (self.root / "locks" / key).open("wb")
        with handle:
            lock(handle)
            yield

    def commit(self, key: str, about: Mapping[str, Any]) -> None:
        """Move what was made for this key into its place."""
        work = self.root / "work" / key
        (work / MANIFEST).unlink(missing_ok=True)  # of a commit that was killed
        files = {
            str(file.relative_to(work)): {"bytes": file.stat().st_size, "sha256": hash_of(file)}
            for file in sorted(work.rglob("*"))
            if file.is_file()
        }
        made = {"made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "attentest": __version__}
        with _writing(self.root):
            write_json(work / MANIFEST, {"key": key, **about, **made, "files": files})
            shutil.rmtree(self.path(key), ignore_errors=True)
            work.replace(self.path(key))
        if self._remote is not None:
            self._remote.send(key, self.path(key), list(files))

    def register(self, study: Path, keys: list[str]) -> None:
        """Remember what a study stands on, so that it is not collected."""
        name = hashlib.sha256(os.fsencode(study.resolve())).hexdigest()[:16]
        write_json(self.root / "studies" / f"{name}.json", {"study": str(study.resolve()), "keys": keys})

    def collect(self, *, dry_run: bool = False) -> tuple[int, int]:
        """Remove entries that no study needs, and unfinished work; how many went, and their bytes."""
        kept: set[str] = set()
        for file in sorted((self.root / "studies").glob("*.json")):
            record = read_as(file, Registered)
            if Path(record.study).is_dir():
                kept |= set(record.keys)
            elif not dry_run:
                file.unlink()
        gone = [p for folder in ("entries", "work") for p in (self.root / folder).iterdir() if p.name not in kept]
        freed = sum(_size(path) for path in gone)
        if not dry_run:
            for path in gone:
                shutil.rmtree(path, ignore_errors=True)
                (self.root / "locks" / path.name).unlink(missing_ok=True)
                if self._remote is not None:
                    self._remote.discard(path.name)
        return len(gone), freed

    def _bring(self, key: str) -> None:
        if self._remote is None or (self.path(key) / MANIFEST).is_file():
            return
        draft = self.root / "work" / f"{key}.{os.getpid()}"
        draft.mkdir(exist_ok=True)
        self._remote.bring(key, draft)
        with suppress(OSError):  # another process was first
            draft.replace(self.path(key))
        shutil.rmtree(draft, ignore_errors=True)


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # another process may be moving it
            total += file.stat().st_size
    return total


class _Remote:
    """Entries behind an fsspec URL; an entry's manifest is sent last, so that it is there only when the rest is."""

    def __init__(self, url: str) -> None:
        import fsspec

        try:
            self.files, self.root = fsspec.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise InputError(f"The store {url} cannot be opened: {error}.") from error

    def has(self, key: str) -> bool:
        return bool(self.files.exists(f"{self.root}/entries/{key}/{MANIFEST}"))

    def send(self, key: str, folder: Path, names: list[str]) -> None:
        for name in (*names, MANIFEST):
            target = f"{self.root}/entries/{key}/{name}"
            self.files.makedirs(target.rpartition("/")[0], exist_ok=True)
            self.files.put_file(str(folder / name), target)

    def bring(self, key: str, into: Path) -> None:
        source = f"{self.root}/entries/{key}"
        self.files.get_file(f"{source}/{MANIFEST}", str(into / MANIFEST))
        for name in read_as(into / MANIFEST, Manifest).files:
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            self.files.get_file(f"{source}/{name}", str(into / name))

    def discard(self, key: str) -> None:
        if self.files.exists(f"{self.root}/entries/{key}"):
            self.files.rm(f"{self.root}/entries/{key}", recursive=True)


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"The store {place} cannot be written: {error.strerror or error}.") from error


def lock(handle: Any) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; there two processes may do one step twice, with the same result
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
