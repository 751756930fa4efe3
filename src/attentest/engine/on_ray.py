"""Run steps on a Ray cluster; results go through the same store, which every node must reach."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attentest.engine.plan import Step
from attentest.engine.scheduler import Event
from attentest.engine.store import Store
from attentest.errors import InputError
from attentest.progress import Listener


class RayPool:
    """A task for each step, or for several done together, with a core (or a GPU); Ray repeats one whose worker died."""

    def __init__(self, store: Store, address: str | None = None, *, cpus: float = 1, gpus: float = 0) -> None:
        try:
            import ray
        except ImportError as error:
            raise InputError(
                "The engine ray needs Ray, which is not installed: pip install 'attentest[ray]'"
            ) from error
        self._ray, self._store = ray, store
        self._mine = not ray.is_initialized()
        if self._mine:
            _knock(address)
            try:
                with _same_handlers():
                    ray.init(address=address, log_to_driver=False, configure_logging=False)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InputError(f"Ray at '{address}' cannot be reached: {str(error).splitlines()[0]}") from error
        self.slots = max(1, int(ray.cluster_resources().get("CPU", 1) // cpus))
        self._task = ray.remote(_attempt).options(num_cpus=cpus, num_gpus=gpus, max_retries=3)
        self._running: dict[Any, list[Step]] = {}

    def start(self, steps: Sequence[Step]) -> None:
        self._running[self._task.remote(list(steps), self._store.place)] = list(steps)

    def wait(self) -> Sequence[Event]:
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=1.0)
        return [event for reference in ready for event in self._fates(reference)]

    def stop(self) -> None:
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running = {}
        if self._mine:
            self._ray.shutdown()

    def _fates(self, reference: Any) -> list[Event]:
        steps = self._running.pop(reference)
        try:
            events: list[Event] = self._ray.get(reference)
        except self._ray.exceptions.WorkerCrashedError:
            return [Event(step.key, "lost") for step in steps]
        except self._ray.exceptions.RayError as error:
            # of several it is not known whose fault it was: each is tried alone
            kind = "failed" if len(steps) == 1 else "lost"
            return [Event(step.key, kind, str(error).splitlines()[0]) for step in steps]
        return events


@contextmanager
def _same_handlers() -> Iterator[None]:
    """Ray answers SIGTERM with a stack trace; a program that handles signals itself still does so afterwards."""
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)


def _knock(address: str | None) -> None:
    """Ray itself would knock for minutes at a door where nobody is, and then end the process."""
    host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise InputError(f"Ray at '{address}' cannot be reached: {error.strerror or error}.") from error


def _attempt(steps: list[Step], place: str) -> list[Event]:
    import torch

    from attentest.engine.local import attempt

    torch.set_num_threads(1)
    events: list[Event] = []
    for fate in attempt(steps, Store(place), lambda step: _Warnings(step.key, events)):
        events.append(fate)  # behind what its step warned of
    return events


class _Warnings(Listener):
    """Keeps warnings for the end of the task."""

    def __init__(self, key: str, events: list[Event]) -> None:
        self.key, self.events = key, events

    def warning(self, sentence: str) -> None:
        self.events.append(Event(self.key, "note", sentence))
