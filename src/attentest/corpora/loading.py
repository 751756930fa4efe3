"""One `load` for names, files, folders, Hugging Face datasets and original layouts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.corpora.benchmarks import BENCHMARKS, load_benchmark
from attentest.corpora.corpus import Corpus
from attentest.corpora.files import load_files
from attentest.corpora.sources import ALIASES, FORMATS, GENERATED, INSTALLED, corpus_names
from attentest.errors import InputError, unknown_name


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
