"""Run a plan: start what is ready, hear what became of it, and say so; what is in the store is not done again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from attentest.engine.plan import Plan, Step
from attentest.engine.store import Store

RETRIES = 3  # of a step whose worker died, or whose inputs were damaged


@dataclass(frozen=True)
class Event:
    """What a runner hears of a step: progress, done, failed, lost (its worker died) or damaged (one of its inputs)."""

    key: str
    kind: str
    text: str = ""
    share: float = 0.0


class Runner(Protocol):
    slots: int

    def start(self, steps: Sequence[Step]) -> None:
        """Begin a step, or several that are done together; each gets events of its own."""

    def wait(self) -> Sequence[Event]:
        """What happened; returns within a second or so."""

    def stop(self) -> None: ...


class Watcher:
    """Hears how a plan goes; the CLI's shows it, and the study folder's writes it down."""

    def begins(self, steps: Sequence[Step], reused: int) -> None: ...

    def note(self, sentence: str) -> None: ...

    def started(self, step: Step) -> None: ...

    def progress(self, step: Step, text: str, share: float) -> None: ...

    def finished(self, step: Step, seconds: float) -> None: ...

    def failed(self, step: Step, error: str) -> None: ...


@dataclass
class Outcome:
    done: int = 0  # steps that were run
    reused: int = 0  # steps that were in the store
    failed: dict[str, str] = field(default_factory=dict)  # name -> error
    skipped: list[str] = field(default_factory=list)  # names of steps that stood on failed ones


def run_plan(
    plan: Plan, store: Store, runner: Runner, watchers: Sequence[Watcher] = (), targets: Sequence[Step] | None = None
) -> Outcome:
    """Do what is missing of the targets (or of all steps); a failed step stops only those that stand on it."""
    wanted = [step.key for step in (plan if targets is None else targets)]
    done = {step.key for step in plan if store.has(step.key)}
    _drop_damaged(plan, store, wanted, done, watchers)
    steps = plan.needed(wanted, done)
    outcome = Outcome(reused=len(plan) - len(steps))
    for watcher in watchers:
        watcher.begins(steps, outcome.reused)
    waiting = {step.key: step for step in steps}
    running: dict[str, _Running] = {}
    lost: dict[str, int] = {}
    try:
        while waiting or running:
            _drop_hopeless(waiting, running, done, outcome)
            for steps in _ready(waiting, done):
                if len({now.first for now in running.values()}) >= runner.slots:
                    break
                for step in steps:
                    del waiting[step.key]
                    running[step.key] = _Running(step, steps[0].key, time.monotonic())
                    for watcher in watchers:
                        watcher.started(step)
                runner.start(steps)
            for event in runner.wait() if running else ():
                step = running[event.key].step
                if event.kind == "progress":
                    for watcher in watchers:
                        watcher.progress(step, event.text, event.share)
                    continue
                began = running.pop(event.key).began
                lost[event.key] = lost.get(event.key, 0) + (event.kind in ("lost", "damaged"))
                if event.kind == "done":
                    done.add(event.key)
                    outcome.done += 1
                    for watcher in watchers:
                        watcher.finished(step, time.monotonic() - began)
                elif event.kind == "damaged" and lost[event.key] <= RETRIES:
                    for key in [k for k in step.inputs.values() if store.discard_if_damaged(k)]:
                        done.discard(key)
                        for again in plan.needed([key], done):
                            waiting[again.key] = again
                            for watcher in watchers:
                                watcher.note(f"'{again.name}' was damaged in the store and is run again.")
                    waiting[event.key] = step
                elif event.kind == "lost" and lost[event.key] <= RETRIES:
                    waiting[event.key] = step
                    for watcher in watchers:
                        watcher.note(f"The worker process of '{step.name}' died; the step is run again.")
                else:
                    error = event.text or f"its worker died {lost[event.key]} times"
                    outcome.failed[step.name] = error
                    for watcher in watchers:
                        watcher.failed(step, error)
    finally:
        runner.stop()
    return outcome


@dataclass(frozen=True)
class _Running:
    step: Step
    first: str  # key of the first of those that are done together
    began: float


def _ready(waiting: Mapping[str, Step], done: set[str]) -> list[list[Step]]:
    """Steps whose inputs are there, those that are done together in one list."""
    found: dict[str, list[Step]] = {}
    for step in waiting.values():
        if all(key in done for key in step.inputs.values()):
            found.setdefault(step.together or step.key, []).append(step)
    return list(found.values())


def _drop_damaged(plan: Plan, store: Store, wanted: Sequence[str], done: set[str], watchers: Sequence[Watcher]) -> None:
    """Entries that will be read and are not what was written are taken away, and said; so are those they need then."""
    checked: set[str] = set()
    while True:
        read = {key for step in plan.needed(list(wanted), done) for key in step.inputs.values()} | set(wanted)
        unchecked = (read & done) - checked
        if not unchecked:
            return
        checked |= unchecked
        for key in unchecked:
            why = store.discard_if_damaged(key)
            if why is not None:
                done.discard(key)
                for watcher in watchers:
                    watcher.note(f"'{plan.steps[key].name}' was damaged in the store and is run again: {why}.")


def _drop_hopeless(waiting: dict[str, Step], running: Mapping[str, object], done: set[str], outcome: Outcome) -> None:
    """Steps whose inputs will never be there."""
    while True:
        possible = done | set(waiting) | set(running)
        hopeless = [s for s in waiting.values() if not all(key in possible for key in s.inputs.values())]
        if not hopeless:
            return
        for step in hopeless:
            del waiting[step.key]
            outcome.skipped.append(step.name)
