"""Data in memory: every kind gives the corpus that a file with the same rows gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from written import WRITERS, Row, reviews

from attentest.corpora import Corpus, build_corpus, load
from attentest.errors import InputError


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


class OnlyAStream:
    """Nothing but the Arrow interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


FRAMES: dict[str, Callable[[list[Row]], Any]] = {
    "dict": columns,
    "dict of arrays": lambda rows: {name: np.array(values) for name, values in columns(rows).items()},
    "dict of series": lambda rows: {name: pd.Series(values) for name, values in columns(rows).items()},
    "list": lambda rows: rows,
    "pandas": lambda rows: pd.DataFrame(rows, index=range(100, 100 + len(rows))),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "arrow": pa.Table.from_pylist,
    "record batch": pa.RecordBatch.from_pylist,
    "record batches": lambda rows: pa.Table.from_pylist(rows).to_reader(max_chunksize=7),
    "stream": lambda rows: OnlyAStream(pa.Table.from_pylist(rows)),
}
every_frame = pytest.mark.parametrize("kind", FRAMES)


def full(count: int = 40) -> list[Row]:
    """Reviews with everything a corpus may have, under names of their own."""
    return [
        {
            "body": row["text"],
            "stars": ("one", "five")[row["label"]],
            "question": f"is it good, {i}?",
            "part": ("train", "train", "validation", "test")[i % 4],
            "key": f"r{i}",
            "why": "0 1 1",
        }
        for i, row in enumerate(reviews(count))
    ]


NAMED: dict[str, Any] = {
    "text": "body",
    "label": "stars",
    "second": "question",
    "split": "part",
    "id": "key",
    "rationale": "why",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    folder = tmp_path_factory.mktemp("files")
    return {kind: load(write(folder / f"x.{kind}", full()), **NAMED) for kind, write in WRITERS.items()}


@every_frame
def test_a_frame_gives_the_corpus_of_every_file(files: dict[str, Corpus], kind: str) -> None:
    corpus = load(FRAMES[kind](full()), **NAMED)
    for written in files.values():
        assert corpus.table.equals(written.table)
        assert (corpus.fingerprint(), corpus.notes) == (written.fingerprint(), written.notes)
    assert (corpus.name, corpus.kind, corpus.classes) == ("corpus", "pair", ("five", "one"))


@every_frame
def test_with_the_usual_names_and_numbers_as_labels(kind: str) -> None:
    corpus = load(FRAMES[kind](reviews()))
    twin = build_corpus("twin", columns(reviews()))
    assert corpus.fingerprint() == twin.fingerprint()
    assert corpus.classes == ("0", "1")


@every_frame
def test_the_origin_is_json(kind: str) -> None:
    corpus = load(FRAMES[kind](full()), **NAMED, name="mine", positive="one", rows=20)
    assert json.loads(json.dumps(corpus.origin)) == corpus.origin
    assert {key: corpus.origin[key] for key in ("text", "name", "positive", "rows")} == {
        "text": "body",
        "name": "mine",
        "positive": "one",
        "rows": 20,
    }
    assert (corpus.name, corpus.classes, len(corpus)) == ("mine", ("five", "one"), 20)


@every_frame
def test_a_missing_column(kind: str) -> None:
    with pytest.raises(
        InputError, match=r"no column 'boddy'; its columns are body, stars, .*Did you mean 'body'\? .*with `text`\."
    ):
        load(FRAMES[kind](full()), **NAMED | {"text": "boddy"})


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, "", "  "])
@pytest.mark.parametrize("column", ["text", "label"])
def test_rows_that_cannot_be_used_are_counted(missing: object, column: str) -> None:
    rows = [*reviews(), {"text": "a", "label": 1} | {column: missing}]
    reason = "with an empty text" if column == "text" else "without a label"
    for frame in (pd.DataFrame(rows), rows, columns(rows)):
        corpus = load(frame)
        assert corpus.notes[0] == f"Dropped 1 of 21 rows {reason}."
        assert corpus.classes == ("0", "1")


@pytest.mark.parametrize(
    "type_",
    [
        "int8",
        "int64",
        "float16",
        "float32",
        "float64",
        "Int64",
        "Float64",
        "category",
        "string",
        "object",
        "Sparse[int]",
    ],
)
def test_labels_of_every_type_of_pandas(type_: str) -> None:
    corpus = load(pd.DataFrame(reviews()).astype({"label": type_}))
    assert corpus.fingerprint() == load(reviews()).fingerprint()


@pytest.mark.parametrize("type_", ["bool", "boolean"])
def test_bools_of_pandas(tmp_path: Path, type_: str) -> None:
    frame = pd.DataFrame(reviews()).astype({"label": type_})
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert load(frame).classes == ("false", "true")
    assert load(frame).fingerprint() == load(tmp_path / "x.csv").fingerprint()


@pytest.mark.parametrize(
    "type_", [pl.Int8, pl.Float32, pl.String, pl.Categorical, pl.Enum(["1", "0"]), pl.Decimal(10, 2)]
)
def test_labels_of_every_type_of_polars(type_: Any) -> None:
    first = pl.col("label") if type_ in (pl.Int8, pl.Float32) else pl.col("label").cast(pl.String)
    corpus = load(pl.DataFrame(reviews()).with_columns(first.cast(type_)))
    assert corpus.fingerprint() == load(reviews()).fingerprint()


def test_labels_with_gaps_in_nullable_and_plain_numbers() -> None:
    for frame in (
        pd.DataFrame(reviews()).astype({"label": "Int64"}),
        pd.DataFrame(reviews()).astype({"label": "float64"}),
    ):
        frame.loc[3, "label"] = None
        corpus = load(frame)
        assert corpus.notes[0] == "Dropped 1 of 20 rows without a label."
        assert corpus.classes == ("0", "1")


def test_values_of_several_types_are_text() -> None:
    rows = reviews()
    rows[2]["text"] = 5
    rows[3]["text"] = "cut \ud83d"
    rows[4]["label"] = "0"
    rows[5]["label"] = Decimal(1)
    rows[6]["label"] = 0.0
    corpus = load(pd.DataFrame(rows))
    assert corpus.table["text"].to_pylist()[2:4] == ["5", "cut ?"]
    assert corpus.classes == ("0", "1")
    assert corpus.labels.tolist() == [0, 1] * 10


@pytest.mark.parametrize("marks", [[0, 1, 1], np.array([0, 1, 1]), "0 1 1", "[0, 1, 1]", [False, True, True]])
def test_rationales_in_every_form(marks: Any) -> None:
    rows = [row | {"why": marks if i else None} for i, row in enumerate(reviews())]
    for frame in (pd.DataFrame(rows), columns(rows)):
        assert load(frame, rationale="why").table["rationale"].to_pylist() == [None, *[[0, 1, 1]] * 19]


def test_columns_that_are_called_by_numbers() -> None:
    frame = pd.DataFrame([[row["label"], row["text"]] for row in reviews()])
    assert load(frame, text=1, label=0).fingerprint() == load(reviews()).fingerprint()  # type: ignore[arg-type]


def test_two_columns_of_the_same_name() -> None:
    frame = pd.DataFrame([["a film", 0, 1]] * 20, columns=["text", "label", "label"])
    with pytest.raises(InputError, match="The pandas DataFrame has 2 columns called 'label'; rename all but one"):
        load(frame)


# One for each split


def three(kind: str) -> dict[str, Any]:
    rows = [row | {"text": f"{row['text']} {i}"} for i, row in enumerate(reviews(60))]
    return {split: FRAMES[kind](rows[i::3]) for i, split in enumerate(("train", "dev", "test"))}


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "polars, lazy", "arrow"])
def test_a_dict_with_a_frame_for_each_split_is_a_folder(tmp_path: Path, kind: str) -> None:
    for split, frame in three("pandas").items():
        frame.to_csv(tmp_path / f"{split}.csv", index=False)
    corpus = load(three(kind))
    assert {split: sum(n.values()) for split, n in corpus.counts().items()} == {"train": 20, "dev": 20, "test": 20}
    assert sorted(corpus.table["id"].to_pylist()) == sorted(load(tmp_path).table["id"].to_pylist())


def test_a_split_column_with_splits_as_keys() -> None:
    with pytest.raises(InputError, match="has its splits as keys; a split column only applies to a single table"):
        load(three("pandas"), split="part")


def test_an_unknown_split() -> None:
    with pytest.raises(InputError, match="unknown split 'holdout'"):
        load(
            {"train": reviews(), "holdout": reviews()}
            | {name: pd.DataFrame(reviews()) for name in ("train", "holdout")}
        )


# Hugging Face


def test_datasets_with_splits_and_class_names() -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])})
    made = [datasets.Dataset.from_dict(columns(reviews(n)), features=features) for n in (20, 12)]
    corpus = load(datasets.DatasetDict(train=made[0], test=made[1]), name="films")
    assert (corpus.name, corpus.classes) == ("films", ("neg", "pos"))
    assert sum(corpus.counts()["test"].values()) == 12
    assert load(made[0]).table.equals(load(reviews()).table)
    assert corpus.origin["source"] == "datasets DatasetDict"


def test_a_shuffled_dataset_is_read_in_its_order() -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict(columns(reviews())).select(range(19, -1, -1))
    assert load(dataset).table["text"].to_pylist() == [row["text"] for row in reviews()[::-1]]


def test_a_dataset_that_streams() -> None:
    datasets = pytest.importorskip("datasets")
    stream = datasets.Dataset.from_dict(columns(reviews())).to_iterable_dataset()
    for source in (stream, datasets.IterableDatasetDict(train=stream)):
        with pytest.raises(InputError, match=r"IterableDataset; .*list\(dataset\.take\(1000\)\)"):
            load(source)
    assert load(list(stream.take(20))).fingerprint() == load(reviews()).fingerprint()


# What cannot be used


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "cannot read an object of type NoneType; give a corpus's name, a file, .*a pandas or polars DataFrame"),
        (5, "object of type int"),
        (b"x.csv", "object of type bytes"),
        ({"a", "b"}, "object of type set"),
        (pd.Series(["a"]), "The pandas Series is not a table with columns"),
        (pl.Series(["a"]), "The polars Series is not a table with columns"),
        ({}, "The dict is empty"),
        ([], r"The list has no rows\."),
        (["a"], "The list has a str at position 0; each row must be a dict"),
        (pd.DataFrame({"text": [], "label": []}), r"The pandas DataFrame has no rows\."),
        (pd.DataFrame(), "no column 'text'; its columns are none"),
        ({"text": ["a"] * 20, "label": [0] * 19}, "The dict has 20 values in 'text' and 19 in 'label'"),
        ({"text": "abc", "label": [0] * 3}, "the text column is 'abc'; expected a list, an array or a Series"),
        ({"text": ["abc"], "label": 3}, "the label column is 3; expected a list"),
        ({"text": ["a", ["b"]] * 10, "label": [0, 1] * 10}, r"the text column holds a list, \['b'\], among other"),
        ({"text": [["b"]] * 20, "label": [0, 1] * 10}, "the text column is of type list"),
    ],
)
def test_what_is_no_table(source: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(source)


@pytest.mark.parametrize(
    "option",
    [{"separator": ";"}, {"encoding": "latin-1"}, {"format": "sst"}, {"data_dir": "data"}, {"difficulty": 0.5}],
)
def test_options_that_frames_and_corpora_do_not_have(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(InputError, match=f"A pandas DataFrame takes no '{name}'; leave it out"):
        load(pd.DataFrame(reviews()), **option)
    with pytest.raises(InputError, match=f"A corpus that is loaded already takes no '{name}'"):
        load(load(reviews()), **option)


@pytest.mark.parametrize("name", ["", "  ", 3])
def test_a_name_that_is_none(name: Any) -> None:
    with pytest.raises(InputError, match="expected a name for the corpus"):
        load(reviews(), name=name)


# A corpus


def test_a_corpus_is_returned_as_it_is() -> None:
    corpus = load(reviews())
    assert load(corpus) is corpus


def test_a_corpus_with_options() -> None:
    corpus = load(reviews(40), name="films")
    changed = load(corpus, positive="0", rows=20, name="fewer")
    assert (changed.name, changed.classes, len(changed)) == ("fewer", ("1", "0"), 20)
    assert changed.origin == {"source": "list", "name": "fewer", "positive": "0", "rows": 20}
    assert changed.fingerprint() == corpus.with_positive("0").sample(20).fingerprint()
    assert load(corpus, name="other").fingerprint() == corpus.fingerprint()


def test_a_corpus_has_its_columns() -> None:
    with pytest.raises(InputError, match="A corpus that is loaded already takes no 'text'"):
        load(load(reviews()), text="body")


WITHOUT_LIBRARIES = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "datasets", "torch"):
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
from attentest import load
print(load([{"text": f"film {i}", "label": i % 2} for i in range(20)]))
"""


def test_a_dict_is_loaded_where_no_library_of_frames_is_installed() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_LIBRARIES], capture_output=True, text=True, check=True)
    assert done.stdout == "Corpus('corpus', single, 2 classes, train 14, dev 2, test 4)\n"
