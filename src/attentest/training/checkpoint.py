"""The state of an unfinished training, in one file, so that it can go on."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from attentest.errors import InputError
from attentest.files import checked
from attentest.models.build import Trainable
from attentest.training.fit import Progress
from attentest.training.folder import DamagedRunError
from attentest.training.optimizer import Optimizer
from attentest.training.tensors import StoredTensors, read_tensors, write_tensors

NAME = "checkpoint.safetensors"  # in folder.FILES too


def save_checkpoint(folder: Path, model: Trainable, optimizer: Optimizer, progress: Progress) -> None:
    parts = {"model": model.state_dict(), "best": progress.best, "optimizer": optimizer.tensors()}
    tensors = {f"{part}/{name}": value for part, named in parts.items() for name, value in named.items()}
    write_tensors(folder / NAME, tensors, {"history": json.dumps(progress.history)})


def load_checkpoint(folder: Path, model: Trainable, optimizer: Optimizer) -> Progress:
    """Put model and optimiser back to where the checkpoint in `folder` left them; a fresh start if there is none.

    Nothing is put back of one that is damaged.
    """
    path = folder / NAME
    if not path.exists():
        return Progress()
    try:
        stored = read_tensors(path)
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
        for name, value in stored.tensors.items():
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = value
        expected = {name: model.state_dict() for name in ("model", "best")}
        expected["optimizer"] = optimizer.like(parts["optimizer"])
        for part, named in parts.items():
            replace(stored, tensors=named).expect_like(expected.get(part, {}))
        stored.expect_unchanged()
        history = _history(stored)
    except (InputError, KeyError, ValueError, RecursionError) as error:
        raise DamagedRunError(f"{path} is not a checkpoint of this run ({str(error).rstrip('.')})") from error
    model.load_state_dict(parts["model"])
    optimizer.load_tensors(parts["optimizer"])
    return Progress(epoch=len(history), history=history, best=parts["best"])


def _history(stored: StoredTensors) -> list[dict[str, Any]]:
    """What was measured after each epoch; a metric may be undefined, a loss or a score never."""
    rows = checked(json.loads(stored.metadata["history"]), list[dict[str, int | float]], stored.path)
    always = {"epoch", "loss", "score"}
    for epoch, row in enumerate(rows, 1):
        fits = row.keys() == rows[0].keys() | always and row["epoch"] == epoch
        bounded = all(abs(value) <= sys.float_info.max or value != value for value in row.values())
        if not (fits and bounded) or any(row[name] != row[name] for name in always):
            raise InputError("its history is not one of epochs")
    if not rows:
        raise InputError("its history is empty")
    return rows
