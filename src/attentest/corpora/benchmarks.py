"""The papers' benchmarks as Parquet files in one data folder, each by its name.

The folder is given as `data_dir` or in the environment variable ATTENTEST_DATA; nothing is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora import adaptations
from attentest.corpora.adaptations import Tables, with_column
from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus, Kind
from attentest.corpora.recipes import BABI_RECIPE, NLI, NLI_RECIPE
from attentest.errors import InputError
from attentest.files import is_file, read_parquet

SENTIMENT = ("negative", "positive")
TOPICS = ("world", "sports", "business", "science")


@dataclass(frozen=True)
class Benchmark:
    """Where a corpus lies in the data folder and what its columns mean."""

    summary: str
    files: Mapping[str, str]  # split -> file; the key "" is for a file without splits
    columns: Mapping[str, str] = field(default_factory=lambda: {"text": "text", "label": "label"})
    kind: Kind = "single"
    classes: tuple[str, ...] | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)
    adapt: Callable[[Tables], Tables] = lambda tables: tables


def data_folder(data_dir: str | Path | None) -> Path | None:
    """The folder the user named, or the one in ATTENTEST_DATA, or None."""
    chosen = data_dir or os.environ.get("ATTENTEST_DATA")
    return Path(chosen) if chosen else None


def load_benchmark(name: str, data_dir: str | Path | None = None) -> Corpus:
    benchmark = BENCHMARKS[name]
    folder = data_folder(data_dir)
    if folder is None:
        raise InputError(f"'{name}' is read from a data folder: set `data_dir` or the variable ATTENTEST_DATA.")
    tables = {split: _with_split(_read(folder / file, name), split) for split, file in benchmark.files.items()}
    try:
        merged = _merge(benchmark.adapt(tables), benchmark.columns)
    except KeyError as error:
        raise InputError(f"'{name}' in {folder} lacks a column ({error.args[0]}); check the data folder.") from error
    return build_corpus(
        name,
        {column: merged[column] for column in merged.column_names},
        kind=benchmark.kind,
        classes=benchmark.classes,
        recipe=benchmark.recipe,
    )


def _merge(tables: Tables, columns: Mapping[str, str]) -> pa.Table:
    parts = []
    for split, table in tables.items():
        part = {ours: table[theirs] for ours, theirs in columns.items()}
        if split:
            part["split"] = pa.repeat(split, table.num_rows)
            part.setdefault("id", pa.array([f"{split}/{i}" for i in range(table.num_rows)]))
        parts.append(pa.table(part))
    return pa.concat_tables(parts, promote_options="permissive")


def _read(file: Path, name: str) -> pa.Table:
    if not is_file(file):
        raise InputError(f"'{name}' needs {file}, which does not exist; check the data folder.")
    try:
        return read_parquet(file)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} is not a readable Parquet file ({error}).") from error


def _with_split(table: pa.Table, split: str) -> pa.Table:
    """Ids are unique in their file only, so they get its split before them."""
    if not split or "id" not in table.column_names:
        return table
    return with_column(table, "id", pc.binary_join_element_wise(split, table["id"].cast(pa.string()), "/"))


def _splits(name: str, *splits: str, **renamed: str) -> dict[str, str]:
    return {s: f"{name}/{s}.parquet" for s in splits} | {s: f"{name}/{f}.parquet" for s, f in renamed.items()}


_QA = {"text": "context", "second": "question", "label": "answer", "rationale": "rationale"}
_PAIR = {"text": "premise", "second": "hypothesis", "label": "label"}
_TRANSLATION = {"text": "source", "second": "target"}
_MARKED = {"text": "text", "label": "label", "rationale": "rationale"}
_PRETOKENIZED = {"tokenizer": "whitespace"}

BENCHMARKS: dict[str, Benchmark] = {
    "sst_jw": Benchmark(
        "SST sentences as Jain & Wallace filtered them, 2 classes",
        _splits("sst_jw", "train", "dev", "test"),
        classes=SENTIMENT,
        recipe={"tokenizer": "whitespace", "min_frequency": 1},
        adapt=adaptations.jw_kept,
    ),
    "imdb_jw": Benchmark(
        "IMDb reviews of fewer than 400 tokens, split as Jain & Wallace do, 2 classes",
        _splits("imdb", "train", "test"),
        columns={"text": "text", "label": "label", "id": "id"},
        classes=SENTIMENT,
        recipe={"min_frequency": 10, "min_tokens": 7, "max_tokens": 399, "long": "drop"},
        adapt=adaptations.jw_imdb,
    ),
    "ag_news_jw": Benchmark(
        "AG News, world against business, 2 classes (a part of the training set)",
        _splits("ag_news", test="test", train="train_partial"),
        classes=("world", "business"),
        recipe={"digits": "qqq", "min_frequency": 5},
        adapt=adaptations.world_business,
    ),
    "20news_sports_jw": Benchmark(
        "20 Newsgroups, baseball against hockey, 2 classes",
        _splits("20news_sports_jw", "train", "dev", "test"),
        columns={"text": "text", "label": "label", "id": "id"},
        classes=("baseball", "hockey"),
        recipe={"digits": "qqq", "min_frequency": 2, "min_tokens": 7, "max_tokens": 499, "long": "drop"},
    ),
    "sst2": Benchmark(
        "SST sentences, 2 classes",
        _splits("sst2", "train", "dev", "test"),
        classes=SENTIMENT,
        recipe=_PRETOKENIZED,
    ),
    "sst5": Benchmark(
        "SST sentences, 5 classes",
        _splits("sst5", "train", "dev", "test"),
        classes=("very negative", "negative", "neutral", "positive", "very positive"),
        recipe=_PRETOKENIZED,
    ),
    "sst_wiki": Benchmark(
        "SST sentence followed by a Wikipedia sentence; rationale: the SST words",
        _splits("sst_wiki", "train", "dev", "test"),
        columns={"text": "text", "label": "label", "rationale": "block_mask"},
        classes=SENTIMENT,
        recipe=_PRETOKENIZED,
    ),
    "imdb": Benchmark(
        "IMDb movie reviews, all 50,000, 2 classes",
        _splits("imdb", "train", "test"),
        columns={"text": "text", "label": "label", "id": "id"},
        classes=SENTIMENT,
        recipe={"min_frequency": 10},
        adapt=adaptations.line_breaks,
    ),
    "cad_imdb": Benchmark(
        "IMDb reviews with minimally revised counterparts of the opposite class",
        _splits("cad_imdb", "train", "dev", "test"),
        classes=SENTIMENT,
        adapt=adaptations.line_breaks,
    ),
    "eraser_movies": Benchmark(
        "movie reviews with human rationales (ERASER), 2 classes",
        _splits("eraser_movies", "train", "test", dev="val"),
        columns=_MARKED | {"id": "id"},
        classes=SENTIMENT,
        recipe=_PRETOKENIZED,
    ),
    "ag_news": Benchmark(
        "AG News, 4 topics (a part of the training set)",
        _splits("ag_news", test="test", train="train_partial"),
        classes=TOPICS,
        recipe={"digits": "qqq", "min_frequency": 5},
        adapt=adaptations.title_first,
    ),
    "yelp_hat": Benchmark(
        "Yelp reviews with human attention maps (majority of the annotators), 2 classes",
        {"": "yelp_hat/all.parquet"},
        columns=_MARKED,
        classes=SENTIMENT,
        adapt=adaptations.one_row_a_review,
    ),
    "yelp_stars_sample": Benchmark(
        "Yelp reviews, 1 to 5 stars (the dev file is used for training)",
        _splits("yelp_stars_sample", "test", train="dev"),
        classes=("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
    ),
    "yahoo_answers_sample": Benchmark(
        "Yahoo answers, science against society, 2 classes",
        _splits("yahoo_answers_sample", "train", "test"),
        columns={"text": "text", "label": "category"},
    ),
    "ade_corpus_v2": Benchmark(
        "medical sentences that do or do not state an adverse drug effect; rationale: the effects",
        {"": "ade_corpus_v2/all.parquet"},
        columns=_MARKED,
        classes=("none", "adverse effect"),
        recipe={"min_frequency": 2},
        adapt=adaptations.adverse_effects,
    ),
    "pronoun_gender": Benchmark(
        "sentences whose label is the gender of their pronouns, 2 classes",
        _splits("pronoun_gender", "train", "dev", "test"),
        classes=("male", "female"),
        recipe=_PRETOKENIZED,
    ),
    "snli": Benchmark(
        "SNLI premise and hypothesis, 3 classes (100,000 training pairs)",
        _splits("snli", test="test", train="train_subset") | {"dev": "esnli/dev.parquet"},
        columns=_PAIR,
        kind="pair",
        classes=NLI,
        recipe=NLI_RECIPE,
    ),
    "esnli": Benchmark(
        "SNLI dev and test as tokenised for e-SNLI, 3 classes (no training rows)",
        _splits("esnli", "dev", "test"),
        columns=_PAIR,
        kind="pair",
        classes=NLI,
        recipe=NLI_RECIPE,
    ),
    "multinli_sample": Benchmark(
        "MultiNLI dev samples, matched and mismatched, 3 classes (no training rows)",
        _splits("multinli_sample", matched="mnli_matched_1k", mismatched="mnli_mismatched_1k"),
        columns=_PAIR,
        kind="pair",
        classes=NLI,
        adapt=adaptations.stacked,
    ),
    "babi1": Benchmark(
        "bAbI task 1: one supporting fact; rationale: the fact",
        _splits("babi1", "train", "test"),
        columns=_QA,
        kind="pair",
        recipe=BABI_RECIPE,
        adapt=adaptations.supporting_facts,
    ),
    "babi2": Benchmark(
        "bAbI task 2: two supporting facts; rationale: the facts",
        _splits("babi2", "train", "test"),
        columns=_QA,
        kind="pair",
        recipe=BABI_RECIPE,
        adapt=adaptations.supporting_facts,
    ),
    "babi3": Benchmark(
        "bAbI task 3: three supporting facts, long stories (1,000 training questions)",
        _splits("babi3", test="test", train="train_1k"),
        columns=_QA,
        kind="pair",
        recipe=BABI_RECIPE,
        adapt=adaptations.supporting_facts,
    ),
    "babi3_v1": Benchmark(
        "bAbI task 3, release 1.0: shorter stories",
        _splits("babi3_v1", "train", "test"),
        columns=_QA,
        kind="pair",
        recipe=BABI_RECIPE,
        adapt=adaptations.supporting_facts,
    ),
    "multi30k_en_de": Benchmark(
        "Multi30k image captions, English to German (test: 2016)",
        _splits("multi30k_en_de", train="train", dev="val", test="test_2016_flickr"),
        columns=_TRANSLATION,
        kind="generation",
    ),
    "multi30k_en_de_aligned": Benchmark(
        "Multi30k tokens, English to German, as word-aligned by Pruthi et al.",
        _splits("multi30k_en_de_aligned", "train", "dev", "test"),
        columns=_TRANSLATION,
        kind="generation",
        recipe=_PRETOKENIZED,
    ),
}
