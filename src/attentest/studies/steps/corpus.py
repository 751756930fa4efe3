"""Load a corpus and keep it as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.corpus import Corpus
from attentest.corpora.loading import load
from attentest.corpora.stored import FILE, save_corpus
from attentest.engine.plan import Plan
from attentest.engine.store import Store
from attentest.errors import InputError
from attentest.progress import Listener


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    corpus = load(settings["source"], **settings["options"])
    if corpus.fingerprint() != settings["fingerprint"]:
        raise InputError(f"{settings['source']} has changed since the study was planned; run the study again.")
    _save(corpus, settings, out)


def _save(corpus: Corpus, settings: Mapping[str, Any], out: Path) -> None:
    save_corpus(corpus.sample(settings["rows"]) if "rows" in settings else corpus, out / FILE)


def keep(plan: Plan, corpus: Corpus, store: Store) -> None:
    """Do the plan's step for a corpus that is in this process alone, where no worker could load it."""
    step = next(step for step in plan if step.work == f"{__name__}:run")
    if store.has(step.key):
        store.discard_if_damaged(step.key)
    with store.claim(step.key) as out:
        if not store.has(step.key):
            _save(corpus, step.settings, out)
            store.commit(step.key, {"name": step.name, "work": step.work, "settings": dict(step.settings)})
