"""What glibc does with freed memory: kept for the next tensor rather than given back to the system.

A training step over long texts makes and frees tensors of some megabytes. By default each is mapped anew and its pages
are cleared one by one: a fifth of the time of a step over film reviews.
"""

from __future__ import annotations

import ctypes
import os
import sys

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _TOP_PAD = -3, -1, -2  # of malloc.h
_LIMITS = {_MMAP_THRESHOLD: 1 << 30, _TRIM_THRESHOLD: 1 << 29, _TOP_PAD: 1 << 26}  # bytes
_OWN_CHOICE = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Whether that was arranged: not without glibc, and not where its environment variables say otherwise."""
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _OWN_CHOICE):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    taken = [set_option(option, limit) for option, limit in _LIMITS.items()]
    return all(answer == 1 for answer in taken)
