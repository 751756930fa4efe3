"""Results of steps, by key: whole or not there, checked by their checksums, in a folder or behind any fsspec URL."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.engine.manifest import MANIFEST, DamagedError, Manifest, check_entry, files_in, read_manifest
from attentest.engine.remote import Remote
from attentest.errors import InputError
from attentest.files import hash_of, read_as, remove, remove_drafts, write_json
from attentest.locks import locked
from attentest.version import __version__

__all__ = ["MANIFEST", "DamagedError", "Store"]

FOLDERS = ("entries", "work", "locks", "studies")
DAMAGED = "damaged"
MARK = ".attentest-store"  # a file in each store: entries are removed, so no other folder may be taken for one
_FETCHED = ".fetched"


@dataclass(frozen=True)
class Registered:
    """The folder of a study and the entries it stands on."""

    study: str
    keys: list[str]


def root_of(place: str) -> Path:
    """The folder of a store on this machine, that of copies where its place is a URL; nothing is made or asked for."""
    if _is_url(place):
        return Path.home() / ".cache" / "attentest" / "copies" / hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    try:
        return Path(place.removeprefix("file://")).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # no name of a folder, or a loop of links
        raise InputError(f"The store {place[:200]!r} cannot be opened: {error}.") from error


def _is_url(place: str) -> bool:
    return "://" in place and not place.startswith("file://")


class Store:
    """A local folder; with a URL of another kind, a local copy of what was fetched from or sent to it.

    `entries/KEY` is moved there when it is whole. `work/KEY` is where it is made, and stays after a kill, so that a
    training goes on. Locks keep two processes on a machine from doing one step twice. Whatever is damaged is moved to
    `damaged/`, and `told` says so. If it is not to be made, nothing is changed by opening it.
    """

    def __init__(self, place: str | Path | None = None, *, make: bool = True) -> None:
        place = str(place or os.environ.get("ATTENTEST_STORE") or Path.home() / ".cache" / "attentest" / "store")
        self.place = place
        self._remote = None
        self._held: set[str] = set()  # keys whose locks this process has
        self._untold: dict[Path, str] = {}  # where something was set aside -> what is to be said of it
        self.root = root_of(place)
        if _is_url(place):
            self._remote = Remote(place)
        else:
            self.place = str(self.root)  # the same for a worker or a command in another directory
        with _writing(self.root):
            _check_no_other_folder(self.root)
            if not make:
                return
            self.root.mkdir(parents=True, exist_ok=True)
            (self.root / MARK).touch()
            for folder in FOLDERS:
                if not (self.root / folder).is_dir():  # a link to one may stand for it
                    self._make_way(self.root / folder, folder)
                (self.root / folder).mkdir(exist_ok=True)

    def told(self) -> list[str]:
        """What was set aside since this was last asked."""
        told, self._untold = list(self._untold.values()), {}
        return told

    def path(self, key: str) -> Path:
        return self.root / "entries" / key

    def has(self, key: str) -> bool:
        """Whether something is there under this key, without reading it."""
        return os.path.lexists(self.path(key)) or (self._remote is not None and self._remote.has(key))

    def manifest(self, key: str) -> Manifest:
        self._bring(key)
        return read_manifest(self.path(key), key)

    def fetch(self, key: str) -> Path:
        """The entry's folder, its files checked."""
        self._bring(key)
        check_entry(self.path(key), key)
        return self.path(key)

    def discard_if_damaged(self, key: str) -> str | None:
        """Take an entry away if its files are not what was written; why, or None if all is well."""
        with self._locked(key):  # another process may have made it anew meanwhile
            try:
                self.fetch(key)
            except DamagedError as error:
                return self._discard_damaged(key, error)
        return None

    def _discard_damaged(self, key: str, why: DamagedError) -> str | None:
        with _writing(self.root):
            aside = self._set_aside(self.path(key), key)
        if self._remote is not None:
            with suppress(DamagedError):
                if aside:  # the copy here was damaged, and that behind the URL may be whole
                    self.fetch(key)
                    return None
            self._remote.discard(key)
        return f"{why}; it is set aside as {aside}" if aside else str(why)

    def discard(self, key: str) -> None:
        """Take an entry away, here and behind the URL."""
        with _writing(self.root):
            remove(self.path(key))
        if self._remote is not None:
            self._remote.discard(key)

    @contextmanager
    def claim(self, key: str) -> Iterator[Path]:
        """The folder to make an entry in, held for this process; another one that wants it waits."""
        with self._locked(key):
            work = self.root / "work" / key
            with _writing(self.root):
                usable = work.is_dir() and not work.is_symlink() and os.access(work, os.R_OK | os.W_OK | os.X_OK)
                if not usable:
                    self._make_way(work, f"work-{key}")
                work.mkdir(exist_ok=True)
                remove(work / MANIFEST)  # of a commit that was killed
                remove_drafts(work)
            yield work

    def empty(self, work: Path) -> None:
        """Throw away what was begun in a claimed folder."""
        with _writing(self.root):
            remove(work)
            work.mkdir()

    def commit(self, key: str, about: Mapping[str, Any]) -> None:
        """Move what was made for this key into its place."""
        work = self.root / "work" / key
        made = {"made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "attentest": __version__}
        with _writing(self.root):
            files = {
                name: {"bytes": (work / name).stat().st_size, "sha256": hash_of(work / name)}
                for name in sorted(files_in(work))
            }
            write_json(work / MANIFEST, {"key": key, **about, **made, "files": files})
            self._set_aside(self.path(key), key)
            work.replace(self.path(key))
        if self._remote is not None:
            self._remote.send(key, self.path(key), list(files))

    def register(self, study: Path, keys: list[str]) -> None:
        """Remember what a study stands on, so that it is not collected."""
        file = self.root / "studies" / _register_of(str(study.resolve()))
        with _writing(self.root):
            remove_drafts(file.parent)
            if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
                self._make_way(file, f"register-{file.name}")
        write_json(file, {"study": str(study.resolve()), "keys": keys})

    def collect(self, *, dry_run: bool = False) -> tuple[int, int]:
        """Remove entries that no study needs, unfinished work, and what was set aside; how many went, and their bytes.

        What a study needs is worth more than room: if a register of one cannot be read, nothing is removed.
        """
        with _writing(self.root):
            kept = self._needed(dry_run)
            places = [folder for folder in (self.root / "entries", self.root / "work") if folder.is_dir()]
            gone = [path for place in places for path in place.iterdir() if path.name not in kept]
            aside = [path for path in (self.root / DAMAGED).glob("*") if path not in self._untold]
            freed = sum(_size(path) for path in (*gone, *aside))
            if not dry_run:
                for path in gone:
                    self._collect(path)
                for path in aside:
                    remove(path)
        return len(gone) + len(aside), freed

    def _needed(self, dry_run: bool) -> set[str]:
        kept: set[str] = set()
        studies = self.root / "studies"
        lost = [*(self.root / DAMAGED).glob("studies*")]
        if os.path.lexists(studies) and not studies.is_dir():
            lost.append(studies)
        for file in (*sorted(studies.glob("*.json")), *lost):
            try:
                record = read_as(file, Registered)
                if file.name != _register_of(record.study):
                    raise InputError(f"{file} is damaged: `study` is another one's.")
            except (InputError, UnicodeEncodeError) as error:
                raise InputError(
                    f"{str(error).rstrip('.')}. It says which results a study needs, so nothing is removed: "
                    f"run your studies again with this store, then delete {file}."
                ) from error
            if _may_be_there(record.study):
                kept |= set(record.keys)
            elif not dry_run:
                file.unlink()
        return kept

    def _collect(self, path: Path) -> None:
        key = path.name.removesuffix(_FETCHED)
        with self._locked(key, wait=False) as mine:
            if not mine:  # another process is making it
                return
            remove(path)
            if self._remote is not None and path.parent.name == "entries":
                self._remote.discard(key)
            (self.root / "locks" / key).unlink(missing_ok=True)

    def _bring(self, key: str) -> None:
        if self._remote is None or os.path.lexists(self.path(key)):
            return
        with self._locked(key):  # so that a draft is of a process that was killed
            draft = self.root / "work" / f"{key}{_FETCHED}"
            with _writing(self.root):
                remove(draft)
                draft.mkdir()
                try:
                    self._remote.bring(key, draft)
                    if not os.path.lexists(self.path(key)):
                        draft.replace(self.path(key))
                finally:
                    remove(draft)

    def _make_way(self, path: Path, name: str) -> None:
        aside = self._set_aside(path, name)
        if aside:
            self._untold[aside] = f"{path} was not what attentest writes there; it is set aside as {aside}."

    def _set_aside(self, path: Path, name: str) -> Path | None:
        """Move what is damaged to where a user can look at it; None if nothing is there."""
        if not os.path.lexists(path):
            return None
        folder = self.root / DAMAGED
        if not folder.is_dir():
            folder.unlink(missing_ok=True)
            folder.mkdir()
        names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
        target = next(folder / one for one in names if not os.path.lexists(folder / one))
        if path.is_dir() and not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IRWXU)  # a folder that cannot be written cannot be moved
        path.rename(target)
        return target

    @contextmanager
    def _locked(self, key: str, wait: bool = True) -> Iterator[bool]:
        """Hold a key against other processes; False if one has it and this one is not to wait."""
        if key in self._held:
            yield True
            return
        with ExitStack() as stack:
            with _writing(self.root):
                mine = self._hold(key, wait, stack)
            yield mine

    def _hold(self, key: str, wait: bool, stack: ExitStack) -> bool:
        file = self.root / "locks" / key
        if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
            self._make_way(file, f"lock-{key}")
        elif file.exists() and not os.access(file, os.R_OK | os.W_OK):
            file.chmod(0o600)
        try:
            stack.enter_context(locked(file, wait))
        except BlockingIOError:
            return False
        self._held.add(key)
        stack.callback(self._held.discard, key)
        return True


def _check_no_other_folder(root: Path) -> None:
    """Refuse a folder that holds other things; stores of earlier versions have no mark, but always the same folders."""
    try:
        held = {
            path.name for path in root.iterdir() if not path.name.startswith(".")
        }  # besides what systems leave there
    except FileNotFoundError:
        return
    # asked after the listing: another process may be making the store, and puts the mark there first
    if not held or os.path.lexists(root / MARK):
        return
    if not set(FOLDERS) <= held <= {*FOLDERS, DAMAGED} or not all((root / name).is_dir() for name in FOLDERS):
        raise InputError(f"{root} holds files that are not a store of attentest; choose another folder as `store`.")


def _size(path: Path) -> int:
    total, left = 0, [path]
    while left:
        one = left.pop()
        with suppress(OSError):  # another process may be moving it, or it lies too deep to be named
            about = one.lstat()
            total += about.st_size
            if stat.S_ISDIR(about.st_mode):
                left += one.iterdir()
    return total


def _register_of(study: str) -> str:
    return f"{hashlib.sha256(study.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.json"


def _may_be_there(folder: str) -> bool:
    """Whether a study's folder is there, or cannot be seen."""
    try:
        return stat.S_ISDIR(Path(folder).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"The store {str(place)[:1000]} cannot be written: {error.strerror or error}.") from error
