"""Where text comes from: files, frames, Hugging Face datasets, the papers' benchmarks, generators.

What trains a model needs `corpora.corpus` alone: the public names are imported when they are first used, so that no
module of a source is loaded, or hashed into a training's key, before a corpus is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.corpora.build import build_corpus
    from attentest.corpora.corpus import Corpus
    from attentest.corpora.loading import load
    from attentest.corpora.sources import FORMATS, GENERATED, corpus_names

__all__ = ["FORMATS", "GENERATED", "Corpus", "build_corpus", "corpus_names", "load"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "build": ["build_corpus"],
        "corpus": ["Corpus"],
        "loading": ["load"],
        "sources": ["FORMATS", "GENERATED", "corpus_names"],
    },
)
