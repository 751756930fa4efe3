"""Whose folder it is: a run's own, another run's, or nobody's; one training at a time writes to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import remove_drafts
from attentest.training.folder import FILES, LOCK, DamagedRunError, holds_files, remove_run
from attentest.training.record import RESULT, RUN, read_run
from attentest.training.settings import GROUPS, plain


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Make the folder and hold it for one training; the system lets go of it however the process ends."""
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; give a folder for the run.")
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / LOCK
        if os.path.lexists(place) and not stat.S_ISREG(place.lstat().st_mode):  # a link is not followed
            raise DamagedRunError(f"{place} is not a file", "remove it")
        handle = place.open("ab")
    except OSError as error:
        raise InputError(f"{folder} cannot be made or written to: {error.strerror}.") from error
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; two trainings in one folder are not told apart there
        fcntl = None  # type: ignore[assignment]
    with handle:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"Another training writes to {folder}; wait, or choose another folder.") from error
        try:
            remove_drafts(folder)
            yield
        finally:
            (folder / LOCK).unlink(missing_ok=True)


def clear_for(folder: Path, identity: Mapping[str, Any], overwrite: bool, write: bool) -> None:
    """Refuse a folder that is another's; with `write`, remove what may be overwritten.

    Called once to refuse early, and again to remove when everything is ready to be written: a command that fails
    in between loses nothing. A training that never finished an epoch has nothing to lose.
    """
    if not holds_files(folder):
        return
    for name in FILES:
        if os.path.lexists(folder / name) and not (folder / name).is_file():
            raise DamagedRunError(f"{folder / name} is not a file", "remove it")
    if not (folder / RUN).exists():
        raise DamagedRunError(f"{folder} holds files that are not a run", "choose another folder")
    try:
        _, stored = read_run(folder)
    except InputError as error:
        what = f"{folder} holds files that are not a run ({str(error).rstrip('.')})"
        raise DamagedRunError(what, "choose another folder") from error
    same = _is_same(stored, identity)
    finished = (folder / RESULT).exists()
    begun = finished or (folder / "checkpoint.safetensors").exists()
    if same and not (overwrite and finished):
        return
    if begun and not overwrite:
        raise DamagedRunError(
            f"{folder} already holds another run", "choose another folder, or replace it with `overwrite=True`"
        )
    if write:
        remove_run(folder)


def _is_same(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    """Whether a folder's run has this identity; settings that an older version did not have were as by default."""
    completed = {key: stored.get(key) for key in identity}
    if isinstance(completed["corpus"], dict):
        completed["corpus"] = {"kind": "single", "answers": None} | completed["corpus"]
    for group, kind in GROUPS.items():
        given = completed[group]
        if isinstance(given, dict):
            completed[group] = plain(asdict(kind())) | given
    return completed == identity
