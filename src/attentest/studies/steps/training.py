"""Train one model; killed, it goes on from its last epoch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.stored import FILE, open_corpus
from attentest.files import is_draft, remove
from attentest.progress import Listener
from attentest.training.folder import FILES, LOCK, PRETRAINED, DamagedRunError
from attentest.training.train_model import train

RESUMES = True
OTHERS = ("preset", "start", "base")


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    corpus = open_corpus(inputs["corpus"] / FILE)
    others: dict[str, Any] = {role: inputs[role] for role in OTHERS if role in inputs}
    given = {name: value for name, value in settings.items() if not name.endswith("_hash")}  # those are for the key
    try:
        _refuse_others(out)
        train(corpus, out, listener=listener, **others, **given)
    except DamagedRunError as error:
        listener.warning(f"{error.what}; the training starts again.")
        for entry in list(out.iterdir()):
            remove(entry)
        train(corpus, out, listener=listener, **others, **given)


def _refuse_others(out: Path) -> None:
    """Nothing but a training writes to this folder."""
    for entry in out.iterdir():
        own = entry.name in (*FILES, LOCK, PRETRAINED) and not entry.is_symlink()
        if not own and not is_draft(entry):
            raise DamagedRunError(f"{entry} is not of this training")
