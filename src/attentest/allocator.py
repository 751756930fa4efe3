"""What glibc does with freed memory: kept for the next tensor rather than given back to the system.

A training step over long texts makes and frees tensors of some megabytes. By default each is mapped anew and its pages
are cleared one by one: a fifth of the time of a step over film reviews.
"""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of malloc.h
_LARGEST_KEPT = (1 << 30, 1 << 25)  # bytes; older versions of glibc take no more than the second
_TRIM, _PAD = 1 << 29, 1 << 26
_OWN_CHOICE = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Whether that was arranged: not without glibc, and not where its environment variables say otherwise."""
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _OWN_CHOICE):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    # first of all: either of the others ends glibc's own adjustment of this limit
    if not any(set_option(_MMAP_THRESHOLD, limit) == 1 for limit in _LARGEST_KEPT):
        return False
    return bool(set_option(_TRIM_THRESHOLD, _TRIM) == 1 and set_option(_TOP_PAD, _PAD) == 1)
