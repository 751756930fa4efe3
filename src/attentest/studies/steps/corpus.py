"""Load a corpus and keep it as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.loading import load
from attentest.corpora.stored import FILE, save_corpus
from attentest.errors import InputError
from attentest.progress import Listener


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    corpus = load(settings["source"], **settings["options"])
    if corpus.fingerprint() != settings["fingerprint"]:
        raise InputError(f"{settings['source']} has changed since the study was planned; start the study again.")
    save_corpus(corpus.sample(settings["rows"]) if "rows" in settings else corpus, out / FILE)
