"""Memory is estimated and refused before it is asked for: a machine that runs out of it ends programs silently."""

from __future__ import annotations

import os
import re
from pathlib import Path

from attentest.errors import InputError, brief

_EXHAUSTED = ("can't allocate memory", "not enough memory", "CUDA out of memory")
_MEMINFO = Path("/proc/meminfo")
# of the control group that a container or a batch job runs in: the limit, what of it is in use, and what of that are
# copies of files, which are given up when memory is asked for
_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", r"(?:in)?active_file"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", r"total_(?:in)?active_file"),
)


def check_memory(needed: int, what: str) -> None:
    """Refuse work that needs more bytes than there are; `what` says in a few words what needs them."""
    there = free_memory()
    if there is not None and needed > there:
        raise InputError(
            f"{what} would take about {written_size(needed)} of memory, and {written_size(there)} are free here."
        )


def size_of(written: str) -> int:
    """Bytes, from a size such as 500MB or 2GB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", written, re.IGNORECASE)
    size = 0 if found is None else float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " ")
    if size < 1:
        raise InputError(f"The memory '{brief(written)}' is not a size; write it as 500MB or 2GB.")
    return int(size)


def most_bytes(given: int | str | None) -> int | None:
    """A limit that may be given as a number of bytes or as it is written; None is none."""
    return None if given is None else size_of(given if isinstance(given, str) else f"{given}B")


def out_of_memory(error: Exception) -> bool:
    """Whether this is what torch raises where memory is at its end, on a GPU or not."""
    kind = type(error).__name__
    said = str(error)
    return kind == "OutOfMemoryError" or isinstance(error, MemoryError) or any(words in said for words in _EXHAUSTED)


def free_memory() -> int | None:
    """Bytes that can still be asked for, or None where the system does not say."""
    known = [free for free in (_of_machine(), *(_of_group(*names) for names in _GROUPS)) if free is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass  # not Linux: all the memory that there is, then
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _of_group(group: Path, limit: str, used: str, copies: str) -> int | None:
    try:
        most, now, about = ((group / name).read_text(encoding="ascii") for name in (limit, used, "memory.stat"))
        copied = re.findall(rf"^{copies} (\d+)$", about, re.MULTILINE)
        return max(0, int(most) - int(now) + sum(map(int, copied)))
    except (OSError, ValueError):  # no such group, or no limit ("max")
        return None


def written_size(size: float) -> str:
    """As people read it: 1.2 GB."""
    for unit in ("bytes", "KB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            break
        size /= 1000
    return f"{size:,.3g} {unit}" if size < 1000 else f"{size:,.0f} {unit}"
