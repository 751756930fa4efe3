"""Freed memory stays with the program, where glibc is asked for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from attentest import allocator

GLIBC = sys.platform.startswith("linux") and os.confstr("CS_GNU_LIBC_VERSION") is not None
FAULTS = """
import resource
{before}
rounds = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = b"x" * (40 << 20)  # larger than anything that glibc keeps by itself
    del block
    rounds.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(rounds[-1])
"""


def faults(before: str) -> int:
    without = {name: value for name, value in os.environ.items() if name not in allocator._OWN_CHOICE}
    command = [sys.executable, "-c", FAULTS.format(before=before)]
    return int(subprocess.run(command, env=without, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not GLIBC, reason="another C library keeps memory in its own way")
def test_pages_are_not_cleared_again_once_attentest_is_imported() -> None:
    pages = (40 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert faults("") > pages / 2
    assert faults("import attentest") < pages / 100


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_a_choice_of_your_own_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1000000")
    assert not allocator.keep_freed_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not allocator.keep_freed_memory()
