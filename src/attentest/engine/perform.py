"""Do one step: the same function in a worker of the local pool, on Ray, or in a test."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from attentest.engine.plan import Step
from attentest.engine.store import Store
from attentest.progress import Listener

Work = Callable[[Mapping[str, Any], Mapping[str, Path], Path, Listener], None]


def perform(step: Step, store: Store, listener: Listener | None = None) -> bool:
    """Make the step's entry; False if another process had made it meanwhile.

    A work's module with RESUMES = True finds what it had written before it was killed; others start from nothing.
    """
    module, _, function = step.work.partition(":")
    home = import_module(module)
    work: Work = getattr(home, function)
    with store.claim(step.key) as out:
        if store.has(step.key):
            shutil.rmtree(out, ignore_errors=True)
            return False
        if not getattr(home, "RESUMES", False):
            shutil.rmtree(out)
            out.mkdir()
        start = time.monotonic()
        inputs = {role: store.fetch(key) for role, key in step.inputs.items()}
        work(step.settings, inputs, out, listener or Listener())
        about = {"name": step.name, "work": step.work, "settings": dict(step.settings), "inputs": dict(step.inputs)}
        store.commit(step.key, {**about, "seconds": round(time.monotonic() - start, 3)})
    return True
