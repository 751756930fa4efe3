"""Entries behind an fsspec URL; an entry's manifest is sent last, so that it is there only when the rest is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attentest.engine.manifest import MANIFEST, DamagedError, check_entry, read_manifest
from attentest.errors import InputError


class Remote:
    def __init__(self, url: str) -> None:
        import fsspec

        self.shown = re.sub(r"//[^/@]*@", "//", url)  # without a password
        with self._reached("opened"):
            self.files, self.root = fsspec.url_to_fs(url)

    def has(self, key: str) -> bool:
        with self._reached("reached"):
            return bool(self.files.exists(f"{self.root}/entries/{key}/{MANIFEST}"))

    def send(self, key: str, folder: Path, names: list[str]) -> None:
        with self._reached("written"):
            for name in (*names, MANIFEST):
                target = f"{self.root}/entries/{key}/{name}"
                self.files.makedirs(target.rpartition("/")[0], exist_ok=True)
                self.files.put_file(str(folder / name), target)

    def bring(self, key: str, into: Path) -> None:
        """What is there was written by others: only files of this entry are taken."""
        with self._reached("read"):
            try:
                self._get(key, MANIFEST, into)
                for name in read_manifest(into, key).files:
                    self._get(key, name, into)
                check_entry(into, key)
            except (FileNotFoundError, DamagedError) as error:
                raise DamagedError(f"its entry in {self.shown} is not what was sent there ({error})") from error

    def _get(self, key: str, name: str, into: Path) -> None:
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        self.files.get_file(f"{self.root}/entries/{key}/{name}", str(into / name))

    def discard(self, key: str) -> None:
        with self._reached("written"):
            if self.files.exists(f"{self.root}/entries/{key}"):
                self.files.rm(f"{self.root}/entries/{key}", recursive=True)

    @contextmanager
    def _reached(self, done: str) -> Iterator[None]:
        try:
            yield
        except (InputError, DamagedError):
            raise
        except Exception as error:  # each kind of store has its own: no connection, no rights, no room …
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"The store {self.shown} cannot be {done}: {lines[0].rstrip('.')}.") from error
