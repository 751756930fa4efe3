"""A study's folder: what is planned, how it goes, and in the end its tables and figures."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attentest.engine.plan import Step
from attentest.engine.scheduler import Watcher
from attentest.engine.store import MANIFEST, Store, lock
from attentest.errors import InputError
from attentest.files import make_folder, read_as, write_json
from attentest.studies.expand import StudyPlan
from attentest.trials.instances import HEAT_MAPS

TABLES = ("ours", "means", "beside_published", "directions")
RESULTS = {  # what a summary may leave in a study's folder
    *("findings", "figures", HEAT_MAPS, "comparison", "summary.json", "summary.md"),
    *(f"{table}.{kind}" for table in TABLES for kind in ("csv", "parquet")),
}
STATUS, PLAN = "status.json", "plan.json"
_EVERY = 0.5  # seconds between two writings


@dataclass(frozen=True)
class PlannedStep:
    key: str
    name: str
    seconds: float  # an estimate


@dataclass(frozen=True)
class PlanRecord:
    """What plan.json says."""

    study: str
    budget: str
    settings: dict[str, Any]  # of an audit
    store: str
    corpora: dict[str, str]  # source -> fingerprint
    steps: list[PlannedStep]


@dataclass
class RunningStep:
    name: str
    since: float
    worker: str  # steps that are done together have the same
    stage: str
    share: float


@dataclass
class StatusRecord:
    """What status.json says."""

    pid: int | None
    running: dict[str, RunningStep]  # by key
    failed: dict[str, str]  # name -> error
    pace: float  # of the time steps took to what was estimated


def write_plan(folder: Path, expanded: StudyPlan, store: Store, overwrite: bool = False) -> list[str]:
    """Put the plan down; sentences about corpora that are not what they were when the study was last planned.

    A folder that holds other work, or the same with other settings, is refused unless it may be overwritten.
    """
    make_folder(folder)
    study, plan, fingerprints = expanded.study.name, expanded.plan, expanded.fingerprints
    notes = []
    if (folder / PLAN).exists() and not overwrite:
        earlier = _earlier(folder)
        held = _other_work(earlier, expanded)
        if held is not None:
            raise InputError(f"{folder} holds {held}; {_WAY_OUT}")
        for name, fingerprint in earlier.corpora.items():
            if fingerprints.get(name, fingerprint) != fingerprint:
                notes.append(f"{name} has changed since the last run; the steps that depend on it are run again.")
    elif not (folder / PLAN).exists() and any(entry.name != ".lock" for entry in folder.iterdir()):
        raise InputError(f"{folder} holds files that are not a study; choose another folder with `out`.")
    steps = [PlannedStep(step.key, step.name, step.seconds) for step in plan]
    settings = dict(expanded.settings)
    write_json(folder / PLAN, asdict(PlanRecord(study, expanded.budget, settings, store.place, fingerprints, steps)))
    store.register(folder, [step.key for step in plan])
    return notes


_WAY_OUT = "choose another folder with `out`, or replace it with `overwrite=True`."


def _earlier(folder: Path) -> PlanRecord:
    try:
        return read_as(folder / PLAN, PlanRecord)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')}; {_WAY_OUT}") from error


def _other_work(earlier: PlanRecord, expanded: StudyPlan) -> str | None:
    """What a folder holds, if it is not what is planned now."""
    study = expanded.study.name
    if earlier.study != study:
        return f"the study {earlier.study}"
    if expanded.kind != "study" and earlier.corpora.keys() != expanded.fingerprints.keys():
        return f"the {study}, made of {', '.join(earlier.corpora)}"
    before, now = earlier.settings, expanded.settings
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if names:
        told = ", ".join(f"{name} {before.get(name)} instead of {now.get(name)}" for name in names)
        return f"the {study} with other settings ({told})"
    return None


@dataclass
class StatusFile(Watcher):
    """Keeps status.json up to date while a plan runs."""

    folder: Path
    now: StatusRecord = field(default_factory=lambda: StatusRecord(os.getpid(), {}, {}, 1.0))
    ratios: list[float] = field(default_factory=list)  # of the time steps took to what was estimated
    last: float = 0.0

    def begins(self, steps: Sequence[Step], reused: int) -> None:
        self._write(force=True)

    def started(self, step: Step) -> None:
        self.now.running[step.key] = RunningStep(step.name, time.time(), step.together or step.key, "", 0.0)
        self._write(force=True)

    def progress(self, step: Step, text: str, share: float) -> None:
        running = self.now.running[step.key]
        running.stage, running.share = text, share
        self._write()

    def finished(self, step: Step, seconds: float) -> None:
        self.now.running.pop(step.key, None)
        if step.seconds:
            self.ratios.append(seconds / step.seconds)
            self.now.pace = sum(self.ratios) / len(self.ratios)
        self._write(force=True)

    def failed(self, step: Step, error: str) -> None:
        self.now.running.pop(step.key, None)
        self.now.failed[step.name] = error
        self._write(force=True)

    def _write(self, force: bool = False) -> None:
        if force or time.monotonic() - self.last > _EVERY:
            self.last = time.monotonic()
            write_json(self.folder / STATUS, asdict(self.now))


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
    with (folder / ".lock").open("wb") as handle:
        lock(handle)
        yield


@dataclass(frozen=True)
class Status:
    study: str
    budget: str
    steps: int
    done: int
    running: dict[str, RunningStep]
    failed: dict[str, str]
    alive: bool
    seconds_left: float
    missing: list[str]


def status(folder: Path) -> Status:
    """What is done, running and failed, and about how long is left."""
    if not (folder / PLAN).is_file():
        raise InputError(f"{folder} is not the folder of a study or an audit: it has no {PLAN}.")
    plan = read_as(folder / PLAN, PlanRecord)
    now = read_as(folder / STATUS, StatusRecord) if (folder / STATUS).is_file() else StatusRecord(None, {}, {}, 1.0)
    store = Store(plan.store)
    missing = [step for step in plan.steps if not store.has(step.key)]
    alive = now.pid is not None and _is_alive(now.pid) and bool(missing)
    left = sum(step.seconds for step in missing) * now.pace
    return Status(
        study=plan.study,
        budget=plan.budget,
        steps=len(plan.steps),
        done=len(plan.steps) - len(missing),
        running=now.running if alive else {},
        failed=now.failed,
        alive=alive,
        seconds_left=round(left / (max(1, len({step.worker for step in now.running.values()})) if alive else 1), 1),
        missing=[step.name for step in missing],
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
