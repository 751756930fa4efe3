"""Standard streams that were closed (>&-) are opened before anything takes their numbers; imports nothing slow."""

from __future__ import annotations

import os
import sys
from os import open as open_descriptor


def open_closed() -> None:
    """A stream that was closed is as one to /dev/null; a file or pipe opened later would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(open_descriptor(os.devnull, os.O_RDWR), True)  # the lowest free number; workers have it
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
