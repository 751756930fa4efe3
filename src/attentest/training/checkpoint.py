"""The state of an unfinished training, in one file, so that it can go on."""

from __future__ import annotations

import json
from pathlib import Path

from torch import Tensor

from attentest.errors import InputError
from attentest.models.reader import Reader
from attentest.training.fit import Progress
from attentest.training.optimizer import PaperOptimizer
from attentest.training.tensors import read_tensors, write_tensors

NAME = "checkpoint.safetensors"  # in folder.FILES too


def save_checkpoint(folder: Path, model: Reader, optimizer: PaperOptimizer, progress: Progress) -> None:
    parts = {"model": model.state_dict(), "best": progress.best, "optimizer": optimizer.tensors()}
    tensors = {f"{part}/{name}": value for part, named in parts.items() for name, value in named.items()}
    write_tensors(folder / NAME, tensors, {"history": json.dumps(progress.history)})


def load_checkpoint(folder: Path, model: Reader, optimizer: PaperOptimizer) -> Progress:
    """Put model and optimiser back to where the checkpoint in `folder` left them; a fresh start if there is none."""
    path = folder / NAME
    if not path.exists():
        return Progress()
    tensors, metadata = read_tensors(path)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = value
    try:
        history = json.loads(metadata["history"])
        model.load_state_dict(parts["model"])
        optimizer.load_tensors(parts["optimizer"])
        if set(parts["best"]) != set(parts["model"]):
            raise ValueError("the best epoch's weights are missing")
    except (KeyError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} is not a checkpoint of this run; `overwrite=True` starts it again.") from error
    return Progress(epoch=len(history), history=history, best=parts["best"])
