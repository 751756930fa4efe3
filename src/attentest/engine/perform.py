"""Do steps: the same functions in a worker of the local pool, on Ray, or in a test."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from attentest.engine.plan import Step
from attentest.engine.store import Store
from attentest.engine.task import Task
from attentest.progress import Listener

Work = Callable[[Mapping[str, Any], Mapping[str, Path], Path, Listener], None]


WorkTogether = Callable[[Sequence[Task], Listener], None]


def perform(step: Step, store: Store, listener: Listener | None = None) -> bool:
    """Make the step's entry; False if another process had made it meanwhile.

    A work's module with RESUMES = True finds what it had written before it was killed; others start from nothing.
    """
    home, function = _work(step)
    work: Work = getattr(home, function)
    listener = listener or Listener()
    with store.claim(step.key) as out:
        if _is_made(step, store, out):
            return False
        _prepare(home, store, out, listener)
        start = time.monotonic()
        work(step.settings, _inputs(step, store), out, listener)
        _commit(step, store, time.monotonic() - start)
    return True


def perform_together(steps: Sequence[Step], store: Store, listener: Listener | None = None) -> None:
    """Make the entries of steps that have `together` in common in one go, those that are not made already."""
    home, function = _work(steps[0])
    work: WorkTogether = getattr(home, f"{function}_together")
    listener = listener or Listener()
    with ExitStack() as held:
        claimed = {  # always in the same order, so that two processes cannot wait for each other
            step.key: held.enter_context(store.claim(step.key)) for step in sorted(steps, key=lambda step: step.key)
        }
        missing = [step for step in steps if not _is_made(step, store, claimed[step.key])]
        if not missing:
            return
        for step in missing:
            _prepare(home, store, claimed[step.key], listener)
        start = time.monotonic()
        work([Task(s.settings, _inputs(s, store), claimed[s.key]) for s in missing], listener)
        for step in missing:
            _commit(step, store, (time.monotonic() - start) / len(missing))


def _work(step: Step) -> tuple[ModuleType, str]:
    module, _, function = step.work.partition(":")
    return import_module(module), function


def _is_made(step: Step, store: Store, out: Path) -> bool:
    if not store.has(step.key):
        return False
    store.empty(out)
    out.rmdir()
    return True


def _prepare(home: ModuleType, store: Store, out: Path, listener: Listener) -> None:
    for sentence in store.told():
        listener.warning(sentence)
    if not getattr(home, "RESUMES", False):
        store.empty(out)


def _inputs(step: Step, store: Store) -> dict[str, Path]:
    return {role: store.fetch(key) for role, key in step.inputs.items()}


def _commit(step: Step, store: Store, seconds: float) -> None:
    about = {"name": step.name, "work": step.work, "settings": dict(step.settings), "inputs": dict(step.inputs)}
    store.commit(step.key, {**about, "seconds": round(seconds, 3)})
