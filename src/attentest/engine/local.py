"""Run steps in processes of this machine, each on one core."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from attentest.engine.perform import perform, perform_together
from attentest.engine.plan import Step
from attentest.engine.scheduler import Event
from attentest.engine.store import DamagedError, Store
from attentest.engine.worker import begin
from attentest.errors import InputError
from attentest.progress import Listener


class LocalPool:
    """Workers that live as long as the plan; one that dies is replaced."""

    def __init__(self, store: Store, workers: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.slots = cores if workers is None else workers
        if self.slots < 1:
            raise InputError(f"workers is {workers}; it must be at least 1.")
        self._store = store
        self._context = multiprocessing.get_context("spawn")  # a forked torch may hang
        self._hired: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._busy: dict[str, _Worker] = {}

    def start(self, steps: Sequence[Step]) -> None:
        worker = self._given(list(steps))
        self._busy |= {step.key: worker for step in steps}

    def _given(self, steps: list[Step]) -> _Worker:
        """A worker that has these steps now."""
        while self._idle:
            worker = self._idle.pop()
            try:
                worker.pipe.send(steps)
            except OSError:  # it died while it had nothing to do
                worker.process.join()
                continue
            return worker
        worker = self._hire()
        worker.pipe.send(steps)
        return worker

    def wait(self) -> Sequence[Event]:
        by_pipe = {worker.pipe: worker for worker in self._busy.values()}
        ready = wait(list(by_pipe), timeout=1.0)
        return [event for pipe in ready for event in self._heard(by_pipe[pipe])]  # type: ignore[index]

    def _heard(self, worker: _Worker) -> list[Event]:
        """What a worker says; of one that died, that all it had is lost."""
        mine = [key for key, busy in self._busy.items() if busy is worker]
        try:
            event: Event = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            for key in mine:
                del self._busy[key]
            return [Event(key, "lost") for key in mine]
        if event.kind not in ("progress", "note"):
            del self._busy[event.key]
            if len(mine) == 1:
                self._idle.append(worker)
        return [event]

    def stop(self) -> None:
        """All of them, at once: what they are at is not finished, and so not in the store."""
        for worker in self._hired:
            worker.process.kill()
        for worker in self._hired:
            worker.process.join()
        self._hired, self._idle, self._busy = [], [], {}

    def _hire(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        worker = _Worker(self._context.Process(target=begin, args=(theirs, self._store.place), daemon=True), ours)
        with _without_main(), _no_interrupts():
            worker.process.start()
            self._hired.append(worker)
        theirs.close()
        return worker


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """What is started in here never sees a Ctrl-C, not even while it imports; the parent handles signals afterwards.

    A blocked signal can still reach another thread, such as one that draws progress, and Python then interrupts the
    main one: so the handlers, too, only take note of it.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # started later it would let the signal through again
    noted: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, frame: noted.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if noted:
        signal.raise_signal(noted[0])


@contextmanager
def _without_main() -> Iterator[None]:
    """A worker needs nothing of the program that starts it; a script would be run in it from its top again."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


@dataclass
class _Worker:
    process: Any
    pipe: Connection


def serve(pipe: Connection, place: str) -> None:
    """A worker's life: steps in, the fate of each out."""
    import torch

    torch.set_num_threads(1)  # however many workers there are: sums over several threads round otherwise
    store = Store(place)
    while True:
        try:
            steps: list[Step] = pipe.recv()
        except EOFError:
            return
        for fate in attempt(steps, store, lambda step: _Report(step.key, pipe)):
            try:
                pipe.send(fate)
            except OSError:  # nobody listens any more
                return


def attempt(
    steps: Sequence[Step], store: Store, listener: Callable[[Step], Listener] = lambda step: Listener()
) -> Iterator[Event]:
    """Do steps together if there are several; if that fails, one by one, which tells whose fault it was."""
    if len(steps) > 1:
        try:
            perform_together(steps, store, listener(steps[0]))
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            text = f"{len(steps)} steps could not be done together ({reason}); they are done one by one."
            yield Event(steps[0].key, "note", text)
    for step in steps:  # what was done together is there already
        yield _attempt(step, store, listener(step))


def _attempt(step: Step, store: Store, listener: Listener) -> Event:
    try:
        perform(step, store, listener)
    except DamagedError as error:
        return Event(step.key, "damaged", str(error))
    except InputError as error:
        return Event(step.key, "failed", str(error))
    except Exception:
        return Event(step.key, "failed", traceback.format_exc(limit=-4).strip())
    return Event(step.key, "done")


class _Report(Listener):
    """Sends warnings up the pipe, and progress at most every hundredth of a stage."""

    def __init__(self, key: str, pipe: Connection) -> None:
        self.key, self.pipe, self.last = key, pipe, ("", -1)

    def progress(self, stage: str, done: int, total: int) -> None:
        now = (stage, 100 * done // max(total, 1))
        if now != self.last:
            self.last = now
            self.pipe.send(Event(self.key, "progress", stage, done / max(total, 1)))

    def warning(self, sentence: str) -> None:
        self.pipe.send(Event(self.key, "note", sentence))
