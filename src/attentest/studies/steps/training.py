"""Train one model; killed, it goes on from its last epoch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.stored import FILE, open_corpus
from attentest.progress import Listener
from attentest.training.train_model import train

RESUMES = True
OTHERS = ("preset", "start", "base")


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    others: dict[str, Any] = {role: inputs[role] for role in OTHERS if role in inputs}
    given = {name: value for name, value in settings.items() if name != "vectors_hash"}  # that is for the key alone
    train(open_corpus(inputs["corpus"] / FILE), out, listener=listener, **others, **given)
