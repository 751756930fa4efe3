"""Plant words in a corpus that was prepared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.planting import plant
from attentest.corpora.stored import FILE, open_corpus, save_corpus
from attentest.progress import Listener


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    corpus = open_corpus(inputs["corpus"] / FILE).sample(settings["rows"])
    save_corpus(plant(corpus, settings["share"], seed=settings["seed"]), out / FILE)
