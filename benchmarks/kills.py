"""`python -m benchmarks.kills STUDY [OPTIONS …]`: a study killed at ten random moments against an unbroken one.

Both start from an empty store. Killed (SIGKILL, the workers too) and started again, the study must end with the same
tables, and no step that was finished at a kill may have been made again. A second unbroken run shows the store.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.row import seconds

KILLS, SEED = 10, 0


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        whole = lambda: _run(arguments, place / "whole")  # noqa: E731
        unbroken = seconds(whole)
        print(f"unbroken, from nothing: {unbroken:.1f} s", flush=True)
        print(f"a second run, from the store: {seconds(whole):.1f} s", flush=True)
        moments = np.sort(np.random.default_rng(SEED).uniform(0, unbroken, KILLS))
        finished: dict[str, str] = {}
        broken = 0
        for number, life in enumerate((b - a for a, b in pairwise((0.0, *moments))), 1):
            finished_itself = _run(arguments, place / "broken", life)
            now = _entries(place / "broken")
            broken += sum(now.get(key) != manifest for key, manifest in finished.items())
            finished = now
            said = "had finished" if finished_itself else "killed"
            print(f"life {number}: {said} after {life:.1f} s, {len(now)} steps finished", flush=True)
        _run(arguments, place / "broken")
        now = _entries(place / "broken")
        broken += sum(now.get(key) != manifest for key, manifest in finished.items())
        tables = [_tables(place / name) for name in ("whole", "broken")]
    print(f"finished steps that were made again: {broken}")
    print(f"{len(tables[0])} tables and figures, {'identical' if tables[0] == tables[1] else 'NOT identical'}")
    return int(broken > 0 or tables[0] != tables[1] or not tables[0])


def _run(arguments: list[str], place: Path, life: float | None = None) -> bool:
    """Run the study; with a life, until it is killed: True if it ended before."""
    command = [sys.executable, "-m", "attentest.cli", "study", *arguments]
    command += ["--out", str(place / "study"), "--store", str(place / "store")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        code = process.wait(life)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    if code:
        raise SystemExit(f"the study ended with exit code {code}")
    return True


def _entries(place: Path) -> dict[str, str]:
    """What is finished: a manifest says when and how long, so that one made again differs."""
    return {
        file.parent.name: file.read_text(encoding="utf-8")
        for file in (place / "store" / "entries").glob("*/entry.json")
    }


def _tables(place: Path) -> dict[str, bytes]:
    kinds = (".csv", ".md", ".svg", ".parquet")
    files = (file for file in sorted((place / "study").rglob("*")) if file.suffix in kinds)
    return {str(file.relative_to(place / "study")): file.read_bytes() for file in files}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
