"""What makes a run this run, and what it was made with: the two halves of run.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from attentest.corpora.corpus import Corpus
from attentest.files import hash_of, is_file
from attentest.training.encoder import hash_of_base, place_of
from attentest.training.record import FORMAT
from attentest.training.run import Run
from attentest.training.settings import Settings, plain
from attentest.version import __version__


class Others(NamedTuple):
    """Other runs that a training stands on."""

    preset: Run | None = None
    start: Run | None = None
    base: Run | None = None


def identity_of(corpus: Corpus, settings: Settings, others: Others) -> dict[str, Any]:
    """What makes a run this run: the same identity in the same folder goes on or is found finished."""
    identity: dict[str, Any] = {
        "format": FORMAT,
        "corpus": {
            "name": corpus.name,
            "kind": corpus.kind,
            "answers": corpus.answers,
            "fingerprint": corpus.fingerprint(),
            "classes": list(corpus.classes),
            "rows": corpus.counts(),
        },
        "text": plain(asdict(settings.text)),
        "model": plain(asdict(settings.model)),
        "training": plain(asdict(settings.training)),
        **{name: run and {"model": hash_of(run.path / "model.safetensors")} for name, run in others._asdict().items()},
    }
    if settings.model.pretrained is not None:  # what it is, wherever it lies
        identity["model"]["pretrained"] = settings.model.name
        identity["pretrained"] = hash_of_base(settings.model.pretrained)
    if is_file(Path(settings.text.vectors)):
        identity["vectors"] = hash_of(Path(settings.text.vectors))
    return identity


def made_with(
    corpus: Corpus, device: torch.device, notes: Sequence[str], pretrained: str | None = None
) -> dict[str, Any]:
    """What may differ between two trainings of one run; `pretrained` is the encoder that it started from."""
    return {
        "source": dict(corpus.origin),
        **({} if pretrained is None else {"pretrained_from": place_of(pretrained)}),
        "versions": {"attentest": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "device": str(device),
        "threads": torch.get_num_threads(),
        "notes": [*corpus.notes, *notes],
    }
