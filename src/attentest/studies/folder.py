"""A study's folder: what is planned, how it goes, and in the end its tables and figures."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attentest.engine.plan import Step
from attentest.engine.scheduler import Watcher
from attentest.engine.store import MANIFEST, Store, lock
from attentest.errors import InputError
from attentest.files import make_folder, read_json, write_json
from attentest.studies.expand import StudyPlan
from attentest.trials.instances import HEAT_MAPS

TABLES = ("ours", "beside_published", "directions")
RESULTS = {  # what a summary may leave in a study's folder
    *("findings", "figures", HEAT_MAPS, "comparison", "summary.json", "summary.md"),
    *(f"{table}.{kind}" for table in TABLES for kind in ("csv", "parquet")),
}
STATUS, PLAN = "status.json", "plan.json"
_EVERY = 0.5  # seconds between two writings


def write_plan(folder: Path, expanded: StudyPlan, store: Store, overwrite: bool = False) -> list[str]:
    """Put the plan down; sentences about corpora that are not what they were when the study was last planned.

    A folder that holds other work, or the same with other settings, is refused unless it may be overwritten.
    """
    make_folder(folder)
    study, plan, fingerprints = expanded.study.name, expanded.plan, expanded.fingerprints
    notes = []
    if (folder / PLAN).exists():
        earlier = read_json(folder / PLAN)
        held = None if overwrite else _other_work(earlier, expanded)
        if held is not None:
            raise InputError(
                f"{folder} holds {held}; choose another folder with `out`, or replace it with `overwrite=True`."
            )
        for name, fingerprint in earlier.get("corpora", {}).items():
            if fingerprints.get(name, fingerprint) != fingerprint:
                notes.append(f"{name} has changed since the last run; what stands on it is done again.")
    elif any(entry.name != ".lock" for entry in folder.iterdir()):
        raise InputError(f"{folder} holds files that are not a study; choose another folder with `out`.")
    steps = [{"key": step.key, "name": step.name, "seconds": step.seconds} for step in plan]
    write_json(
        folder / PLAN,
        {
            "study": study,
            "budget": expanded.budget,
            "settings": dict(expanded.settings),
            "store": store.place,
            "corpora": fingerprints,
            "steps": steps,
        },
    )
    store.register(folder, [step.key for step in plan])
    return notes


def _other_work(earlier: dict[str, Any], expanded: StudyPlan) -> str | None:
    """What a folder holds, if it is not what is planned now."""
    study, corpora = expanded.study.name, earlier.get("corpora", {})
    if earlier.get("study") != study:
        return f"the study {earlier.get('study')}"
    if expanded.kind != "study" and corpora.keys() != expanded.fingerprints.keys():
        return f"the {study}, made of {', '.join(corpora)}"
    before, now = earlier.get("settings", expanded.settings), expanded.settings
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if names:
        told = ", ".join(f"{name} {before.get(name)} instead of {now.get(name)}" for name in names)
        return f"the {study} with other settings ({told})"
    return None


@dataclass
class StatusFile(Watcher):
    """Keeps status.json up to date while a plan runs."""

    folder: Path
    running: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    ratio: list[float] = field(default_factory=list)  # of the time steps took to what was estimated
    last: float = 0.0

    def begins(self, steps: Sequence[Step], reused: int) -> None:
        self._write(force=True)

    def started(self, step: Step) -> None:
        self.running[step.key] = {"name": step.name, "since": time.time(), "stage": "", "share": 0.0}
        self._write(force=True)

    def progress(self, step: Step, text: str, share: float) -> None:
        self.running[step.key] |= {"stage": text, "share": share}
        self._write()

    def finished(self, step: Step, seconds: float) -> None:
        self.running.pop(step.key, None)
        if step.seconds:
            self.ratio.append(seconds / step.seconds)
        self._write(force=True)

    def failed(self, step: Step, error: str) -> None:
        self.running.pop(step.key, None)
        self.errors[step.name] = error
        self._write(force=True)

    def _write(self, force: bool = False) -> None:
        if force or time.monotonic() - self.last > _EVERY:
            self.last = time.monotonic()
            write_json(
                self.folder / STATUS,
                {"pid": os.getpid(), "running": self.running, "failed": self.errors, "pace": self.pace()},
            )

    def pace(self) -> float:
        return sum(self.ratio) / len(self.ratio) if self.ratio else 1.0


def export(store: Store, summary: Step, folder: Path) -> None:
    """Copy the tables and figures of a study out of the store; two runs of it take turns."""
    source = store.fetch(summary.key)
    with alone_in(folder):
        for name in RESULTS - {entry.name for entry in source.iterdir()}:  # of another time
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        for entry in source.iterdir():
            target, draft = folder / entry.name, folder / f".{entry.name}.{os.getpid()}"
            if entry.is_dir():
                shutil.copytree(entry, draft)
                shutil.rmtree(target, ignore_errors=True)
                draft.replace(target)
            elif entry.name != MANIFEST:
                shutil.copy2(entry, draft)
                draft.replace(target)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as handle:
        lock(handle)
        yield


def status(folder: Path) -> dict[str, Any]:
    """What is done, running and failed, and about how long is left."""
    plan = read_json(folder / PLAN) if (folder / PLAN).exists() else None
    if not isinstance(plan, dict) or "steps" not in plan:
        raise InputError(f"{folder} is not a study's folder: it has no {PLAN}.")
    store = Store(plan["store"])
    done = [step for step in plan["steps"] if store.has(step["key"])]
    missing = [step for step in plan["steps"] if not store.has(step["key"])]
    now: dict[str, Any] = {"pid": None, "running": {}, "failed": {}, "pace": 1.0}
    with contextlib.suppress(OSError, json.JSONDecodeError):
        now |= json.loads((folder / STATUS).read_text(encoding="utf-8"))
    alive = now["pid"] is not None and _is_alive(int(now["pid"]))
    left = sum(step["seconds"] for step in missing) * now["pace"]
    return {
        "study": plan["study"],
        "budget": plan["budget"],
        "steps": len(plan["steps"]),
        "done": len(done),
        "running": now["running"] if alive and missing else {},
        "failed": now["failed"],
        "alive": alive and bool(missing),
        "seconds_left": round(left / max(1, len(now["running"]) if alive else 1), 1),
        "missing": [step["name"] for step in missing],
    }


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
