"""One line of the benchmark table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    work: str  # what was done, and how well both did it
    ours: float  # seconds, as a median, unless the name says otherwise
    twin: float | None  # none: nothing to compare with
    ratio: float | None  # how many times better ours is
    target: float | None


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
