"""Train one translation model; killed, it goes on from its last epoch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.stored import FILE, open_corpus
from attentest.files import is_draft, remove
from attentest.progress import Listener
from attentest.training.folder import LOCK, DamagedRunError
from attentest.translation.folder import FILES
from attentest.translation.train_model import train_translation

RESUMES = True


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    corpus = open_corpus(inputs["corpus"] / FILE)
    try:
        for entry in out.iterdir():  # nothing but a training writes to this folder
            own = entry.name in (*FILES, LOCK) and not entry.is_symlink()
            if not own and not is_draft(entry):
                raise DamagedRunError(f"{entry} is not of this training")
        train_translation(corpus, out, listener=listener, **settings)
    except DamagedRunError as error:
        listener.warning(f"{error.what}; the training starts again.")
        for entry in list(out.iterdir()):
            remove(entry)
        train_translation(corpus, out, listener=listener, **settings)
