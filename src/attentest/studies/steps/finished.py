"""Make a run of a model that was trained elsewhere, from what it says about the test split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.build import for_test
from attentest.corpora.stored import FILE, open_corpus
from attentest.models.pretrained.precision import AUTO
from attentest.progress import Listener
from attentest.text.settings import TextSettings
from attentest.training.take import take_pretrained


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    corpus = for_test(open_corpus(inputs["corpus"] / FILE))
    take_pretrained(
        corpus,
        settings["pretrained"],
        out,
        labels=settings["labels"],
        text=TextSettings(**settings["text"]),
        device=settings["device"],
        dtype=settings.get("dtype", AUTO),
        memory=settings.get("memory"),
        listener=listener,
    )
