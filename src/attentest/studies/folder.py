"""A study's folder: what is planned, how it goes, and in the end its tables and figures."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attentest.engine.plan import Step
from attentest.engine.scheduler import Watcher
from attentest.engine.store import MANIFEST, Store, root_of
from attentest.errors import InputError
from attentest.files import is_alive, is_draft, is_folder, make_folder, read_as, write_json
from attentest.publish import LOCK, NEXT, alone_in, is_published, keep_plan, replacing, writing
from attentest.studies.expand import StudyPlan
from attentest.training.folder import AUDITED, FILES
from attentest.translation.folder import FILES as TRANSLATION_FILES
from attentest.trials.instances import HEAT_MAPS

TABLES = ("ours", "means", "beside_published", "directions")
PAGE, VERDICT = "report.html", "verdict.json"
RESULTS = {  # what a study, an audit or a comparison may leave in its folder
    *("findings", "figures", HEAT_MAPS, "comparison", "summary.json", "summary.md", PAGE, VERDICT),
    *dict.fromkeys(
        f"{AUDITED}/{name.partition('/')[0]}" for name in (*FILES, *TRANSLATION_FILES)
    ),  # trials and pages of the audited model's own stay
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
    check_free(folder, PLAN, "a study")
    make_folder(folder)
    with alone_in(folder):
        check_free(folder, PLAN, "a study")  # another process may have been here meanwhile
        notes = [] if overwrite or not (folder / PLAN).exists() else _compared(folder, expanded)
        steps = [PlannedStep(step.key, step.name, step.seconds) for step in expanded.plan]
        about = (expanded.study.name, expanded.budget, dict(expanded.settings), store.place, expanded.fingerprints)
        write_json(folder / PLAN, asdict(PlanRecord(*about, steps)))
        store.register(folder, [step.key for step in expanded.plan])
    return notes


def check_free(folder: Path, mark: str, kind: str) -> None:
    """Refuse a folder with files that are nobody's, as it has no `mark`; what a killed process left does not count."""
    if not is_folder(folder) or (folder / mark).exists():
        return
    ours = {LOCK, NEXT, STATUS}
    if any(entry.name not in ours and not is_draft(entry) for entry in folder.iterdir()):
        raise InputError(f"{folder} holds files that are not {kind}; choose another folder with `out`.")


def _compared(folder: Path, expanded: StudyPlan) -> list[str]:
    """What has changed since the folder was planned; refused if it holds other work."""
    earlier = _earlier(folder)
    held = _other_work(earlier, expanded)
    if held is not None:
        raise InputError(f"{folder} holds {held}; {_WAY_OUT}")
    return [
        f"{name} has changed since the last run; the steps that depend on it are run again."
        for name, fingerprint in earlier.corpora.items()
        if expanded.fingerprints.get(name, fingerprint) != fingerprint
    ]


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

    def ended(self) -> None:
        """Only what failed is worth keeping: a folder is the same however often its plan was taken up."""
        self.now = StatusRecord(None, {}, self.now.failed, 1.0)
        self._write(force=True)

    def _write(self, force: bool = False) -> None:
        if force or time.monotonic() - self.last > _EVERY:
            self.last = time.monotonic()
            write_json(self.folder / STATUS, asdict(self.now))


def plan_key(folder: Path) -> str:
    """What tells a plan from another: its settings and steps, not where they are kept or how long they may take."""
    if not (folder / PLAN).is_file():
        return ""
    plan = read_as(folder / PLAN, PlanRecord)
    said = json.dumps([plan.study, plan.budget, plan.settings, [step.key for step in plan.steps]], sort_keys=True)
    return hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def export(store: Store, summary: Step, folder: Path, plan: str) -> None:
    """Put the results of a study into its folder; a page that shows these already stays."""
    source = store.fetch(summary.key)
    names = [file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()]
    with alone_in(folder):
        if is_published(folder, source, [name for name in names if name != MANIFEST]):
            keep_plan(folder, plan)
            return
    with exporting(store, summary, folder, plan):
        pass


@contextlib.contextmanager
def exporting(store: Store, summary: Step, folder: Path, plan: str) -> Iterator[Path]:
    """A draft with the results of a study, to be completed: all of it is published as one."""
    source = store.fetch(summary.key)
    with alone_in(folder):
        if plan_key(folder) != plan:
            raise InputError(
                f"Another command has planned other work in {folder} meanwhile, which is left as it is; run this one "
                "again with another `out`. Its finished steps are kept."
            )
        with replacing(folder, RESULTS, plan) as draft:
            with writing(folder):
                shutil.copytree(source, draft, dirs_exist_ok=True, ignore=shutil.ignore_patterns(MANIFEST))
            yield draft


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
    entries = root_of(plan.store) / "entries"  # a plan may be anybody's: no folder is made, and no address asked
    missing = [step for step in plan.steps if not os.path.lexists(entries / step.key)]
    alive = now.pid is not None and is_alive(now.pid) and bool(missing)
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
