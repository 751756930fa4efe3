"""Work that goes on while the page is used, for all runs in turn, with the lowest priority."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from attentest.server.explorer.examined import Examined

LOWEST = 19


@contextmanager
def examining(every: Sequence[Examined]) -> Iterator[threading.Thread]:
    """Within, the texts of all runs are examined; left, it ends after the piece that is at work."""
    thread = threading.Thread(target=_examine, args=(every,), name="examining", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        for one in every:
            one.stopped = True
        thread.join(timeout=1)


def _examine(every: Sequence[Examined]) -> None:
    if sys.platform == "linux":  # there a priority is of one thread
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)
    left = [one.chunks() for one in every]
    while left and not any(one.stopped for one in every):
        for chunks in tuple(left):
            if next(chunks, False) is False:
                left.remove(chunks)
