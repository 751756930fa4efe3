"""Steps small enough to count: used by the engine's tests, also in worker processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.progress import Listener


def add(settings: dict[str, Any], inputs: dict[str, Path], out: Path, listener: object) -> None:
    """The sum of a number and of what the inputs hold; leaves a mark each time it runs."""
    if settings.get("breaks"):
        raise InputError("this one breaks")
    total = settings["number"] + sum(int((path / "sum").read_text(encoding="utf-8")) for path in inputs.values())
    mark(settings)
    time.sleep(settings.get("seconds", 0))
    if settings.get("always_dies"):
        os.kill(os.getpid(), 9)
    if settings.get("dies") and not (Path(settings["log"]) / "died").exists():
        (Path(settings["log"]) / "died").touch()
        os.kill(os.getpid(), 9)
    (out / "sum").write_text(str(total))


def add_together(tasks: list[Any], listener: object) -> None:
    """All at once; any that is told to fails them all."""
    for task in tasks:
        with (Path(task.settings["log"]) / "together").open("a") as file:
            file.write(f"{len(tasks)}\n")
        if task.settings.get("breaks"):
            raise RuntimeError("not all of these can be done at once")
        add(task.settings, task.inputs, task.out, listener)


def fail(settings: dict[str, Any], inputs: dict[str, Path], out: Path, listener: object) -> None:
    (out / "half").write_text("half")
    raise InputError("this one never works")


def warn(settings: dict[str, Any], inputs: dict[str, Path], out: Path, listener: Listener) -> None:
    listener.note("nobody needs to know")
    listener.warning("the work was damaged and is started again")


def mark(settings: dict[str, Any]) -> None:
    if "log" in settings:
        with (Path(settings["log"]) / "ran").open("a") as file:
            file.write(f"{settings['number']}\n")


def count_threads(settings: dict[str, Any], inputs: dict[str, Path], out: Path, listener: object) -> None:
    import torch

    (out / "threads").write_text(str(torch.get_num_threads()))


def hang(settings: dict[str, Any], inputs: dict[str, Path], out: Path, listener: object) -> None:
    """Whatever it is told."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (Path(settings["log"]) / "hangs").touch()
    time.sleep(600)
