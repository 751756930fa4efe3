"""Locks between the processes of a machine; the system lets go of them however a process ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there nobody waits, and nobody is refused
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(file: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock `file`, made if need be; without waiting, one that is held is a BlockingIOError."""
    with file.open("ab") as handle:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
