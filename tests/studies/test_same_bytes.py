"""The same input gives the same bytes: with one worker or two, unbroken or resumed after a kill."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = (
    "audit",
    "planted",
    "-o",
    "rows=120",
    "-s",
    "hidden=4",
    "-s",
    "dimension=8",
    "--epochs",
    "2",
    "--texts",
    "12",
)


def audited(place: Path, workers: int, kill: bool = False) -> dict[str, bytes]:
    """Every file of an audit from nothing; always in the same place, which the plan names."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    command = [
        sys.executable,
        "-m",
        "attentest",
        *COMMAND,
        "--workers",
        str(workers),
        "--store",
        "store",
        "--out",
        "out",
    ]
    if kill:
        process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(list(place.glob("store/entries/*"))) < 4:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = [path for path in (place / "out").rglob("*") if path.is_file() and path.name != ".lock"]
    return {path.relative_to(place / "out").as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
def test_an_audit_is_the_same_with_one_worker_or_two_resumed_or_not(tmp_path: Path) -> None:
    two = audited(tmp_path / "place", 2)
    assert {"report.html", "verdict.json", "summary.json", "model/run.json", "status.json"} <= set(two)
    for other in (audited(tmp_path / "place", 1), audited(tmp_path / "place", 2, kill=True)):
        assert [name for name in {**two, **other} if two.get(name) != other.get(name)] == []
