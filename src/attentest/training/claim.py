"""Whose folder it is: a run's own, another run's, or nobody's; one training at a time writes to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import remove_drafts
from attentest.locks import locked
from attentest.training.folder import FILES, LOCK, DamagedRunError, holds_files, remove_run
from attentest.training.record import RESULT, RUN, read_run
from attentest.training.settings import GROUPS, plain


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Make the folder and hold it for one training; the system lets go of it however the process ends."""
    with ExitStack() as stack:
        try:
            if folder.exists() and not folder.is_dir():
                raise InputError(f"{folder} is a file; give a folder for the run.")
            folder.mkdir(parents=True, exist_ok=True)
            _expect_file(folder / LOCK)
            stack.enter_context(locked(folder / LOCK, wait=False))
            stack.callback((folder / LOCK).unlink, missing_ok=True)
            remove_drafts(folder)
        except BlockingIOError as error:
            raise InputError(f"Another training writes to {folder}; wait, or choose another folder.") from error
        except OSError as error:
            raise InputError(f"{folder} cannot be made or written to: {error.strerror}.") from error
        yield


def _expect_file(path: Path) -> None:
    if os.path.lexists(path) and not path.is_file():
        raise DamagedRunError(f"{path} is not a file", "remove it")


def clear_for(folder: Path, identity: Mapping[str, Any], overwrite: bool, write: bool) -> None:
    """Refuse a folder that is another's; with `write`, remove what may be overwritten.

    Called once to refuse early, and again to remove when everything is ready to be written: a command that fails
    in between loses nothing. A training that never finished an epoch has nothing to lose.
    """
    if not holds_files(folder):
        return
    for name in FILES:
        _expect_file(folder / name)
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
    if isinstance(completed["model"], dict) and "pretrained" in identity:
        # the hash beside it says which encoder it is, by whatever name
        completed["model"] |= {"pretrained": identity["model"]["pretrained"]}
    return completed == identity
