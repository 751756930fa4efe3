"""`python -m benchmarks.kills [--random N] [--exports N]`: SIGKILL at random moments, and while results are written.

An audit and a study are killed at random moments of their work, and an audit, a study and a report while they put their
results into a folder that holds those of another time. Half of the kills hit the program alone, whose workers have to
end by themselves, half all of its processes. After each the same command runs again. At the end every file in the
folder must be, byte for byte, that of an unbroken run; no step that was finished may have been made again, and no draft
may be left. After a kill during an export, a page written elsewhere must be that of the old or of the new results.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

STUDY = """\
name: killed
title: A study to be killed
corpora: [planted]
models:
  - {encoder: bilstm}
  - {encoder: average}
training: {hidden: 8, dimension: 8, epochs: 2}
trials:
  - uniform
  - permutation: {permutations: 20}
experiments:
  - seeds: {seeds: 2}
"""
AUDIT = ("audit", "planted", "-o", "rows=300", "-s", "hidden=8", "-s", "dimension=8", "--texts", "40")
SWITCH = 0.01  # seconds in which new results are moved into place, about


@dataclass(frozen=True)
class Scene:
    """A command whose results lie in `out`, and another for the same folder with other results."""

    name: str
    place: Path
    command: tuple[str, ...]
    other: tuple[str, ...]

    def run(self, other: bool = False) -> None:
        command = self.other if other else self.command
        done = subprocess.run(self._program(command), cwd=self.place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")

    def begin(self, other: bool = False) -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = self._program(self.other if other else self.command)
        return subprocess.Popen(command, cwd=self.place, start_new_session=True, **quiet)  # type: ignore[call-overload,no-any-return]

    @property
    def out(self) -> Path:
        return self.place / "out"

    @property
    def store(self) -> Path:
        return self.place / "store"

    def _program(self, command: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "attentest.cli", *command]

    def files(self) -> dict[str, bytes]:
        """Everything in the folder, but for the lock."""
        found = (path for path in sorted(self.out.rglob("*")) if path.is_file() and path.name != ".lock")
        return {path.relative_to(self.out).as_posix(): path.read_bytes() for path in found}

    def page(self) -> bytes:
        """The page of what the folder holds now, written elsewhere."""
        page = self.place / "elsewhere.html"
        subprocess.run(
            self._program(("report", "out", "--out", page.name)), cwd=self.place, capture_output=True, check=True
        )
        return page.read_bytes()

    def entries(self) -> dict[str, str]:
        """What is finished: a manifest says when and how long, so that one made again differs."""
        found = (self.store / "entries").glob("*/entry.json")
        return {file.parent.name: file.read_text(encoding="utf-8") for file in found}

    def drafts(self) -> list[str]:
        names = [path for place in (self.out, self.store) if place.exists() for path in place.rglob("*")]
        return [str(path) for path in names if path.name.endswith(".attentest") or path.name == ".next"]


@dataclass
class Tally:
    kills: int = 0
    in_exports: int = 0
    made_again: int = 0
    differing: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    mixed: int = 0


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.kills", description="SIGKILL against an unbroken run.")
    options.add_argument("--random", type=int, default=60, help="kills at random moments, shared by audit and study")
    options.add_argument("--exports", type=int, default=40, help="kills while results are written")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args(arguments)
    chance, tally = np.random.default_rng(given.seed), Tally()
    with tempfile.TemporaryDirectory() as folder:
        audit, study, report = scenes(Path(folder))
        for scene in (audit, study):
            killed_at_random(scene, given.random // 2, chance, tally)
        for scene, share in ((audit, 0.5), (study, 0.3), (report, 0.2)):
            killed_in_exports(scene, round(given.exports * share), chance, tally)
    print(f"{tally.kills} kills, {tally.in_exports} of them while results were written")
    print(f"finished steps that were made again: {tally.made_again}")
    print(f"files that differ from an unbroken run: {len(tally.differing)} {tally.differing[:5]}")
    print(f"drafts left: {len(tally.drafts)} {tally.drafts[:5]}")
    print(f"pages of neither the old nor the new results: {tally.mixed}")
    return int(bool(tally.made_again or tally.differing or tally.drafts or tally.mixed))


def scenes(folder: Path) -> Iterator[Scene]:
    for name in ("audit", "study", "report"):
        place = folder / name
        place.mkdir()
        (place / "study.yaml").write_text(STUDY, encoding="utf-8")
        where = ("--store", "store", "--out", "out", "--overwrite")
        audit = (*AUDIT, *where)
        studies = [("study", "study.yaml", "--rows", rows, *where) for rows in ("200", "240")]
        first, second = {
            "audit": (audit, (*audit, "--seed", "1")),
            "study": tuple(studies),
            # the page of one judgement is replaced by that of another
            "report": tuple(("report", "out", "--threshold", f"faithful.gradient={at}") for at in (0.1, 0.2)),
        }[name]
        yield Scene(name, place, first, second)


def killed_at_random(scene: Scene, kills: int, chance: np.random.Generator, tally: Tally) -> None:
    """Lives that end at random until the command ends by itself, which is then compared, and all begins anew.

    A third of them end at a random time, mostly while the program starts and plans, the others some steps later.
    """
    began = time.monotonic()
    scene.run()
    unbroken, whole = time.monotonic() - began, scene.files()
    print(f"{scene.name}: unbroken in {unbroken:.1f} s, {len(whole)} files", flush=True)
    left = kills
    while left:
        _clear(scene)
        while left:
            steps = None if chance.random() < 1 / 3 else int(chance.integers(1, 6))
            seconds = float(chance.uniform(0, unbroken / 2 if steps is None else 1))
            if _killed(scene, tally, chance.random() < 0.5, seconds, steps):
                break
            left -= 1
            print(f"{scene.name}: {left} kills to go, {len(scene.entries())} steps finished", flush=True)
        _finish(scene, whole, tally)


def killed_in_exports(scene: Scene, kills: int, chance: np.random.Generator, tally: Tally) -> None:
    """The results of one command are replaced by those of the other, which is killed while it does so."""
    _clear(scene)
    if scene.name == "report":
        Scene("audit", scene.place, (*AUDIT, "--store", "store", "--out", "out"), ()).run()
    results, pages = {}, {}
    for other in (False, True):
        scene.run(other)
        results[other] = scene.files()
        pages[scene.page()] = other
    pages |= _pages_while_the_other_is_planned(scene, results)
    length = _export_length(scene)
    print(f"{scene.name}: results are written in {length:.2f} s", flush=True)
    for number in range(kills):
        other = number % 2 == 1  # the folder holds the results of the other command
        # half of them anywhere while results are written, half in the moment of the switch
        draft, delay = (".results.", length) if chance.random() < 0.5 else (".next", SWITCH)
        process = scene.begin(other)
        if not _seen(scene.out, draft, process):
            process.wait()
            print(f"{scene.name}: export {number + 1} was not seen", flush=True)
            continue
        time.sleep(float(chance.uniform(0, delay)))
        _kill(process, alone=chance.random() < 0.5)
        tally.kills += 1
        tally.in_exports += 1
        page = scene.page()
        tally.mixed += page not in pages
        told = "MIXED" if page not in pages else "new" if pages[page] == other else "old"
        print(
            f"{scene.name}: export {number + 1} of {kills} killed at {draft}; the results are the {told} ones",
            flush=True,
        )
        _finish(scene, results[other], tally, other)


def _pages_while_the_other_is_planned(scene: Scene, results: dict[bool, dict[str, bytes]]) -> dict[bytes, bool]:
    """Pages of results that are older than the plan beside them, which they say."""
    found = {}
    for other in (False, True):
        scene.run(other)
        if "plan.json" in results[not other]:
            (scene.out / "plan.json").write_bytes(results[not other]["plan.json"])
            found[scene.page()] = other
    return found


def _killed(scene: Scene, tally: Tally, alone: bool, seconds: float, steps: int | None) -> bool:
    """Let the command finish so many steps more and live for so many seconds then; True if it ended before."""
    before = len(scene.entries())
    process = scene.begin()
    if steps is not None:
        _until(lambda: len(scene.entries()) >= before + steps, process)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        finished = scene.entries()
        _kill(process, alone)
        tally.kills += 1
        now = scene.entries()
        tally.made_again += sum(now.get(key) != manifest for key, manifest in finished.items())
        return False
    if code:
        raise SystemExit(f"{scene.name}: exit code {code} after a kill")
    return True


def _finish(scene: Scene, whole: dict[str, bytes], tally: Tally, other: bool = False) -> None:
    finished = scene.entries()
    scene.run(other)
    now, files = scene.entries(), scene.files()
    tally.made_again += sum(now.get(key) != manifest for key, manifest in finished.items())
    differing = [name for name in {**whole, **files} if whole.get(name) != files.get(name)]
    tally.differing += [f"{scene.name}/{name}" for name in differing]
    tally.drafts += scene.drafts()


def _kill(process: subprocess.Popen[bytes], alone: bool) -> None:
    """Kill the program, or its workers too."""
    if alone:
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _clear(scene: Scene) -> None:
    for folder in (scene.out, scene.store):
        shutil.rmtree(folder, ignore_errors=True)


def _seen(folder: Path, draft: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a draft is there; False if the process ends before."""
    return _until(lambda: _holds(folder, draft), process)


def _holds(folder: Path, *drafts: str) -> bool:
    return any(path.name.startswith(drafts) for path in folder.iterdir())


def _until(true: Callable[[], bool], process: subprocess.Popen[bytes]) -> bool:
    while not true():
        if process.poll() is not None:
            return False
        time.sleep(0.0005)
    return True


def _export_length(scene: Scene) -> float:
    """Seconds from the first sign of new results to the end of the switch."""
    process = scene.begin()
    _seen(scene.out, ".results.", process)
    began = time.monotonic()
    _until(lambda: not _holds(scene.out, ".results.", ".next"), process)
    length = time.monotonic() - began
    process.wait()
    scene.run(True)
    return length


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
