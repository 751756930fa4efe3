"""Where text comes from: files, frames, Hugging Face datasets, the papers' benchmarks, generators.

What trains a model needs `corpora.corpus` alone: the public names are imported when they are first used, so that no
module of a source is loaded, or hashed into a training's key, before a corpus is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attentest.corpora.build import build_corpus
    from attentest.corpora.corpus import Corpus
    from attentest.corpora.loading import load
    from attentest.corpora.sources import FORMATS, GENERATED, corpus_names

__all__ = ["FORMATS", "GENERATED", "Corpus", "build_corpus", "corpus_names", "load"]

_HOMES = {
    "load": "loading",
    "Corpus": "corpus",
    "build_corpus": "build",
    "corpus_names": "sources",
    "FORMATS": "sources",
    "GENERATED": "sources",
}


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
