"""One `load` for names, files, folders, frames, Hugging Face datasets and original layouts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.corpora.benchmarks import BENCHMARKS, load_benchmark
from attentest.corpora.corpus import Corpus
from attentest.corpora.encodings import check_name
from attentest.corpora.files import KINDS, load_files
from attentest.corpora.frames import kind_of, load_frames
from attentest.corpora.planting import plant as with_planted_words
from attentest.corpora.sources import ALIASES, FORMATS, GENERATED, INSTALLED, corpus_names
from attentest.corpora.stored import is_saved_corpus, open_corpus
from attentest.errors import InputError, unknown_name
from attentest.files import is_file


def load(
    source: Any,
    /,
    *,
    text: str | None = None,
    label: str | None = None,
    second: str | None = None,
    target: str | None = None,
    split: str | None = None,
    id: str | None = None,
    rationale: str | None = None,
    positive: str | None = None,
    name: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    data_dir: str | Path | None = None,
    rows: int | None = None,
    plant: float | None = None,
    **options: Any,
) -> Corpus:
    """Load a corpus.

    `source` is the name of a corpus (`attentest corpora` lists them), a csv, tsv, jsonl or parquet file, a
    folder with one such file for each split, `hf:NAME` for a Hugging Face dataset, or, with `format`, a folder
    in a corpus's original layout. It may also be data in memory: a dict of columns, a list of dicts, a pandas or
    polars DataFrame, an Arrow table, a Hugging Face dataset, or a dict of these with one for each split.

    `text`, `label`, `second`, `split`, `id` and `rationale` name the columns of a file or frame; `target` names the
    column with translations, or the file whose lines translate those of `source`; `positive` is the positive one of
    two classes; `name` is what the corpus is called in results; `separator` stands between the columns of a csv file,
    if it should not be guessed; `rows` takes a random sample; `plant` is the share of rows that get a new label and a
    made-up word that tells it, marked as their rationale; other options go to the corpus (`difficulty=0.5` for
    planted).
    """
    asked = {"text": text, "label": label, "second": second, "split": split, "id": id, "rationale": rationale}
    asked["target"] = target
    # a frame's columns may be numbers, and so may classes
    chosen = {column: str(theirs) for column, theirs in asked.items() if theirs not in (None, "")}
    positive = None if positive is None else str(positive)
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise InputError(f"name is {name!r}; expected a name for the corpus.")
    for_files = {"format": format, "separator": separator, "data_dir": data_dir, **options}
    check_name(encoding)
    if encoding != "utf-8":
        for_files["encoding"] = encoding
    if isinstance(source, Corpus):
        _refuse("A corpus that is loaded already", chosen | for_files)
        corpus = source if positive is None else source.with_positive(positive)
        origin: dict[str, Any] = dict(source.origin)
    elif isinstance(source, str | os.PathLike):
        given = os.fspath(source)
        corpus = _load_named(
            str(given),
            chosen,
            positive=positive,
            name=name,
            format=format,
            encoding=encoding,
            separator=separator,
            data_dir=data_dir,
            rows=rows,
            options=options,
        )
        origin = {"source": str(given), "format": format, "separator": separator, **chosen, **options}
    else:
        _refuse(f"A {kind_of(source)}", for_files)
        corpus = load_frames(source, _columns(chosen), name=name or "corpus", positive=positive)
        origin = {"source": kind_of(source), **chosen}
    if name is not None:
        corpus = replace(corpus, name=name)
    if rows is not None:
        corpus = corpus.sample(rows)
    if plant is not None:
        corpus = with_planted_words(corpus, plant)
    changed = {"name": name, "positive": positive, "rows": rows, "plant": plant}
    if isinstance(source, Corpus) and all(value is None for value in changed.values()):
        return source
    origin |= {key: value for key, value in changed.items() if value is not None}
    return replace(corpus, origin={key: value for key, value in origin.items() if value is not None})


def _load_named(
    given: str,
    chosen: Mapping[str, str],
    *,
    positive: str | None,
    name: str | None,
    format: str | None,
    encoding: str,
    separator: str | None,
    data_dir: str | Path | None,
    rows: int | None,
    options: dict[str, Any],
) -> Corpus:
    """What a string or a path stands for."""
    if not given.strip():
        raise InputError("The corpus is missing: give a name, a file, a folder or hf:NAME.")
    named = ALIASES.get(given, given)
    path = Path(given)
    is_name = format is not None or named in corpus_names()
    is_saved = not is_name and _exists(given) and is_saved_corpus(path)
    if chosen and (is_name or is_saved):
        raise InputError(
            f"{given} has fixed columns; `{next(iter(chosen))}` only applies to your own files and hf: datasets."
        )
    if separator is not None and (is_name or is_saved or given.startswith("hf:")):
        raise InputError(f"{given} has no separator; it only applies to csv and tsv files.")
    if format is not None:
        if format not in FORMATS:
            raise unknown_name("format", format, FORMATS)
        corpus = FORMATS[format](_existing(given), **options)
    elif given.startswith("hf:"):
        from attentest.corpora.huggingface import load as load_huggingface

        subset = options.pop("subset", None)
        _no_options(given, options)
        return load_huggingface(given[3:], _columns(chosen), positive=positive, subset=subset, name=name)
    elif named in GENERATED:
        corpus = GENERATED[named](**options, **({} if rows is None else {"rows": rows}))
    elif named in INSTALLED:
        corpus = INSTALLED[named](**options)
    elif named in BENCHMARKS:
        _no_options(named, options)
        corpus = load_benchmark(named, data_dir)
    elif is_saved:
        _no_options(given, options)
        corpus = open_corpus(path)
    elif "target" in chosen and path.suffix.lower() not in KINDS and is_file(path):
        _no_options(given, options)
        _refuse("Two files of lines", {"separator": separator, **{k: v for k, v in chosen.items() if k != "target"}})
        from attentest.corpora.parallel import load_lines  # a source like others: imported when it is asked for

        return load_lines(path, Path(chosen["target"]), name=name, encoding=encoding)
    elif _exists(given):
        _no_options(given, options)
        return load_files(path, _columns(chosen), name=name, encoding=encoding, separator=separator, positive=positive)
    elif path.suffix or "/" in given:
        raise InputError(f"{given}: there is no such file or folder.")
    else:
        raise unknown_name("corpus or file", given, corpus_names())
    return corpus if positive is None else corpus.with_positive(positive)


def _columns(chosen: Mapping[str, str]) -> dict[str, str]:
    if "target" not in chosen:
        return {"text": "text", "label": "label", **chosen}
    for column in ("label", "second", "rationale"):
        if column in chosen:
            raise InputError(f"A corpus of translations has no {column}; leave out `{column}` or `target`.")
    own = {column: theirs for column, theirs in chosen.items() if column != "target"}
    return {"text": "text", **own, "second": chosen["target"]}


def _refuse(what: str, options: Mapping[str, Any]) -> None:
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{what} takes no '{option}'; leave it out.")


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
