"""The files of a run's folder."""

from __future__ import annotations

from pathlib import Path

from attentest.errors import InputError
from attentest.files import is_draft, remove, remove_drafts

# of a fine-tuned encoder, in place of a vocabulary: it is made from these and the weights alone
PRETRAINED = "pretrained"
CONFIG, PIECES, LAYOUT = f"{PRETRAINED}/config.json", f"{PRETRAINED}/tokenizer.json", "layout.json"

# everything a run may leave in its folder
FILES = (
    "run.json",
    "vocabulary.json",
    CONFIG,
    PIECES,
    LAYOUT,
    "checkpoint.safetensors",
    "model.safetensors",
    "history.parquet",
    "metrics.parquet",
    "predictions.parquet",
    "attention.parquet",
    "result.json",
)


OF_ENCODER = (CONFIG, PIECES, LAYOUT)  # of a fine-tuned encoder alone
LOCK = ".training"


class DamagedRunError(InputError):
    """A folder in which a training cannot go on as it is."""

    def __init__(self, what: str, way_out: str = "`overwrite=True` starts it again") -> None:
        super().__init__(f"{what}; {way_out}.")
        self.what = what


AUDITED = "model"  # in the folder of an audit: the run of the audited model


def holds_files(folder: Path) -> bool:
    """Whether there is anything but the drafts a killed process may have left."""
    return any(not is_draft(file) and file.name != LOCK for file in folder.iterdir())


def remove_run(folder: Path) -> None:
    """Remove a run's files, and nothing else that may lie beside them; what says it is finished goes first.

    run.json stays until another is written in its place: killed in between, this is still the folder of a run.
    """
    try:
        for name in reversed(FILES[1:]):
            remove(folder / name)
        remove_drafts(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be overwritten: {error.strerror}.") from error
