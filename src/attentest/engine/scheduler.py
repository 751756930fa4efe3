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
    """What is heard of a step: progress, note, done, failed, lost (its worker died) or damaged (one of its inputs)."""

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
    for sentence in store.told():
        for watcher in watchers:
            watcher.note(sentence)
    steps = plan.needed(wanted, done)
    schedule = _Schedule(plan, store, watchers, done, {step.key: step for step in steps})
    schedule.outcome.reused = len(plan.needed(wanted, set())) - len(steps)  # not what other targets stand on
    for watcher in watchers:
        watcher.begins(steps, schedule.outcome.reused)
    try:
        changed = True  # looking for what is ready goes through all that waits: not for every bit of progress
        while schedule.waiting or schedule.running:
            if changed:
                schedule.start_ready(runner)
            changed = not schedule.running
            for event in runner.wait() if schedule.running else ():
                schedule.hear(event)
                changed |= event.kind not in ("note", "progress")
    finally:
        runner.stop()
    return schedule.outcome


@dataclass(frozen=True)
class _Running:
    step: Step
    group: tuple[str, ...]  # keys of the steps that are done together with it, its own among them
    began: float


@dataclass
class _Schedule:
    """Which steps wait, run and are done, as events come in."""

    plan: Plan
    store: Store
    watchers: Sequence[Watcher]
    done: set[str]
    waiting: dict[str, Step]
    running: dict[str, _Running] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)  # how often a step was lost, or its inputs damaged
    outcome: Outcome = field(default_factory=Outcome)

    def start_ready(self, runner: Runner) -> None:
        _drop_hopeless(self.waiting, self.running, self.done, self.outcome)
        for steps in self._ready():
            if len({now.group for now in self.running.values()}) >= runner.slots:
                return
            group = tuple(step.key for step in steps)
            for step in steps:
                del self.waiting[step.key]
                self.running[step.key] = _Running(step, group, time.monotonic())
                for watcher in self.watchers:
                    watcher.started(step)
            runner.start(steps)

    def _ready(self) -> list[list[Step]]:
        """Steps whose inputs are there; those that are done together in one list, unless one was in trouble before."""
        found: dict[str, list[Step]] = {}
        for step in self.waiting.values():
            if all(key in self.done for key in step.inputs.values()):
                alone = step.key in self.tries or not step.together
                found.setdefault(step.key if alone else step.together, []).append(step)
        return list(found.values())

    def hear(self, event: Event) -> None:
        now = self.running[event.key]
        if event.kind == "note":
            self._note(event.text)
        elif event.kind == "progress":
            for key in now.group:
                if key in self.running:
                    for watcher in self.watchers:
                        watcher.progress(self.running[key].step, event.text, event.share)
        else:
            del self.running[event.key]
            self._conclude(event, now)

    def _conclude(self, event: Event, now: _Running) -> None:
        step = now.step
        if event.kind == "done":
            self.done.add(step.key)
            self.outcome.done += 1
            for watcher in self.watchers:
                watcher.finished(step, (time.monotonic() - now.began) / len(now.group))
            return
        if event.kind in ("lost", "damaged"):
            self.tries[step.key] = self.tries.get(step.key, 0) + 1
            if self.tries[step.key] <= RETRIES:
                self.waiting[step.key] = step
                if event.kind == "damaged":
                    self._make_inputs_again(step)
                else:
                    self._note(f"The worker process of '{step.name}' died; the step is run again.")
                return
        error = event.text or f"its worker died {self.tries[step.key]} times"
        self.outcome.failed[step.name] = error
        for watcher in self.watchers:
            watcher.failed(step, error)

    def _make_inputs_again(self, step: Step) -> None:
        # an input that is not done is being made again already, and its lock is its worker's
        for key in [k for k in step.inputs.values() if k in self.done]:
            why = self.store.discard_if_damaged(key)
            if why is None:
                continue
            self.done.discard(key)
            self._note(_damaged(self.plan.steps[key], why))
            for again in self.plan.needed([key], self.done):
                if again.key not in self.running:
                    self.waiting.setdefault(again.key, again)

    def _note(self, text: str) -> None:
        for watcher in self.watchers:
            watcher.note(text)


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
                    watcher.note(_damaged(plan.steps[key], why))


def _damaged(step: Step, why: str) -> str:
    return f"'{step.name}' was damaged in the store and is run again: {why}."


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
