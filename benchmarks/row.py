"""One line of the benchmark table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]


@dataclass(frozen=True)
class Row:
    name: str
    work: str  # what was done, and how well both did it
    ours: float  # seconds, as a median, unless the name says otherwise
    twin: float | None  # none: nothing to compare with
    ratio: float | None  # how many times better ours is
    target: float | None


def seconds(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def fair_clock(*threads: int) -> Clock:
    """Processor time where all sides have one thread: what else runs on the machine does not lengthen it."""
    return time.process_time if set(threads) == {1} else time.perf_counter
