"""Freed memory stays with the program, where glibc is asked for it."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest

from attentest import allocator

GLIBC = sys.platform.startswith("linux") and platform.libc_ver()[0] == "glibc"
FAULTS = """
import resource
{before}
rounds = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = b"x" * ({size} << 20)
    del block
    rounds.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(rounds[-1])
"""


def faults(before: str, size: int = 40) -> int:
    """Of the third block of so many megabytes; 40 are more than glibc keeps by itself."""
    without = {name: value for name, value in os.environ.items() if name not in allocator._OWN_CHOICE}
    command = [sys.executable, "-c", FAULTS.format(before=before, size=size)]
    return int(subprocess.run(command, env=without, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not GLIBC, reason="another C library keeps memory in its own way")
def test_pages_are_not_cleared_again_once_attentest_is_imported() -> None:
    pages = (40 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert faults("") > pages / 2
    assert faults("import attentest", size=24) < pages / 100  # which every version takes


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_a_choice_of_your_own_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1000000")
    assert not allocator.keep_freed_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not allocator.keep_freed_memory()


@pytest.mark.skipif(not GLIBC, reason="another C library is not asked")
@pytest.mark.parametrize(("most", "arranged"), [(1 << 30, True), (1 << 25, True), (0, False)])
def test_a_version_that_takes_less_is_asked_for_less(
    monkeypatch: pytest.MonkeyPatch, most: int, arranged: bool
) -> None:
    """The other options would end glibc's own adjustment, so they are left alone where the first is refused."""
    asked: list[tuple[int, int]] = []

    def mallopt(option: int, value: int) -> int:
        taken = option != allocator._MMAP_THRESHOLD or value <= most
        asked.extend([(option, value)] if taken else [])
        return int(taken)

    for name in allocator._OWN_CHOICE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    assert allocator.keep_freed_memory() is arranged
    assert [option for option, _ in asked] == ([-3, -1, -2] if arranged else [])
    assert not arranged or asked[0][1] == most
