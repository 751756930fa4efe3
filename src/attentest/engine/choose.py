"""The engine by its name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from attentest.engine.local import LocalPool
from attentest.engine.on_ray import RayPool
from attentest.engine.scheduler import Runner
from attentest.engine.store import Store
from attentest.errors import InputError, brief

MOST_WORKERS = 1024
PATIENCE = 10  # seconds that a store may take to answer
READ_ONLY = ("http", "https", "zip", "tar", "libarchive", "github", "gist", "git", "data", "reference", "jlab")


def runner_for(
    engine: str = "local", workers: int | None = None, address: str | None = None
) -> Callable[[Store], Runner]:
    """What starts steps: processes of this machine, or tasks on a Ray cluster."""
    if engine not in ("local", "ray"):
        raise InputError(f"The engine {brief(engine)} is not known; choose local or ray.")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers is {workers}; it must lie between 1 and {MOST_WORKERS:,}.")
    return lambda store: LocalPool(store, workers) if engine == "local" else RayPool(store, address)


def open_store(place: Store | str | Path | None, *, make: bool = True) -> Store:
    """The store at this place, if it answers and can be written; made if it is not there, unless it is not to be."""
    if isinstance(place, Store):
        return place
    named = str(place or os.environ.get("ATTENTEST_STORE") or "")
    if "://" in named and not named.startswith("file://"):
        _check_url(named)
    try:
        return Store(place, make=make)
    except RuntimeError as error:  # links in a loop, or no home directory
        raise InputError(f"The store {named or 'in the home directory'} cannot be opened: {error}") from error


def _check_url(url: str) -> None:
    """Ask once whether the place is there: what does not answer is told now, not when steps are done."""
    scheme = url.partition("://")[0].rpartition("::")[2]
    if scheme in READ_ONLY:
        raise InputError(f"The store {url} cannot be used: files cannot be written to {scheme}.")
    failed: list[Exception] = []

    def ask() -> None:
        import fsspec

        try:
            files, root = fsspec.url_to_fs(url)
            files.exists(root)
        except Exception as error:  # each kind of place has errors of its own
            failed.append(error)

    asking = threading.Thread(target=ask, daemon=True)  # a connection may be waited for much longer
    asking.start()
    asking.join(PATIENCE)
    if asking.is_alive():
        raise InputError(f"The store {url} does not answer within {PATIENCE} seconds.")
    if failed:
        reason = str(failed[0]).split("\n")[0].rstrip(".") or type(failed[0]).__name__
        raise InputError(f"The store {url} cannot be opened: {reason}.")
