"""Locks between the processes of a machine; the system lets go of them however a process ends."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from attentest.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there nobody waits, and nobody is refused
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(file: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock `file`, made if need be; without waiting, one that is held is a BlockingIOError.

    Only a plain file is opened: a link may lead to a file of somebody else, and a pipe may keep this process for ever.
    """
    handle = _opened(file)
    try:
        while fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, handle):
                break
            handle.close()  # its holder removed it, and another process may hold a new one
            handle = _opened(file)
        yield
    finally:
        handle.close()


def _opened(file: Path) -> IO[bytes]:
    if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
        raise InputError(f"{file} is not a file, but the place of a lock; remove it.")
    return file.open("ab")


def _is_at(file: Path, handle: IO[bytes]) -> bool:
    try:
        return os.path.samestat(file.lstat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
