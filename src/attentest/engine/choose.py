"""The engine by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attentest.engine.local import LocalPool
from attentest.engine.on_ray import RayPool
from attentest.engine.scheduler import Runner
from attentest.engine.store import Store
from attentest.errors import InputError


def runner_for(
    engine: str = "local", workers: int | None = None, address: str | None = None
) -> Callable[[Store], Runner]:
    """What starts steps: processes of this machine, or tasks on a Ray cluster."""
    if engine not in ("local", "ray"):
        raise InputError(f"The engine '{engine}' is not known; choose local or ray.")
    return lambda store: LocalPool(store, workers) if engine == "local" else RayPool(store, address)


def open_store(place: Store | str | Path | None) -> Store:
    return place if isinstance(place, Store) else Store(place)
