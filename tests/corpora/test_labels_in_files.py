"""Labels of any type in files of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from written import WRITERS, every_kind, labels, parquet_of, reviews, write_csv, write_jsonl

from attentest.corpora import load
from attentest.errors import InputError


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("written", "classes"),
    [
        (("1.0", "0.0"), ("0", "1")),
        (("1", "0.0"), ("0", "1")),
        (("True", "False"), ("false", "true")),
        (("b", "a"), ("a", "b")),
        (("10", "9"), ("9", "10")),
        (("10", "nine"), ("10", "nine")),
        (("-1", "1"), ("-1", "1")),
    ],
)
def test_labels_as_text(tmp_path: Path, kind: str, written: tuple[str, str], classes: tuple[str, str]) -> None:
    rows = [{"text": f"film {i}", "label": written[i % 2]} for i in range(20)]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows))
    assert corpus.classes == classes
    order = [0, 1] if written in (("10", "nine"), ("-1", "1")) else [1, 0]
    assert corpus.labels.tolist() == order * 10


@every_kind
def test_bools_are_the_same_classes_in_every_kind(tmp_path: Path, kind: str) -> None:
    rows = [r | {"label": bool(r["label"])} for r in reviews()]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows))
    assert corpus.classes == ("false", "true")
    assert corpus.labels.tolist() == [0, 1] * 10


@every_kind
def test_labels_1_to_10_sort_as_numbers(tmp_path: Path, kind: str) -> None:
    rows = [{"text": f"film {i}", "label": i % 10 + 1} for i in range(100)]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows))
    assert corpus.classes == tuple(str(n) for n in range(1, 11))
    assert corpus.labels.tolist() == [i % 10 for i in range(100)]


@pytest.mark.parametrize(("positive", "classes"), [("0", ("1", "0")), ("1", ("0", "1")), ("0.0", ("1", "0"))])
def test_positive_is_the_second_class(tmp_path: Path, positive: str, classes: tuple[str, str]) -> None:
    corpus = load(write_csv(tmp_path / "x.csv", reviews()), positive=positive)
    assert corpus.classes == classes
    assert labels(corpus) == ["0", "1"] * 10


def test_positive_of_bools_may_be_written_as_in_the_file(tmp_path: Path) -> None:
    rows = [r | {"label": str(not r["label"])} for r in reviews()]
    corpus = load(write_csv(tmp_path / "x.csv", rows), positive="False")
    assert corpus.classes == ("true", "false")
    assert labels(corpus) == ["true", "false"] * 10


def test_a_positive_class_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'yes' cannot be the positive class; the classes are 0, 1"):
        load(write_csv(tmp_path / "x.csv", reviews()), positive="yes")


@pytest.mark.parametrize(
    "value", [lambda i: f"a remark, number {i}", lambda i: f"{i * 0.37:.2f}", lambda i: f"{i % 30 + 0.5}"]
)
def test_a_label_column_that_is_no_classes(tmp_path: Path, value: Callable[[int], str]) -> None:
    rows = [{"text": f"film {i}", "label": value(i)} for i in range(400)]
    with pytest.raises(InputError, match=r"different values in 400 rows, .*not look like classes; .*`label`"):
        load(write_csv(tmp_path / "x.csv", rows))


def test_few_rows_with_a_label_each(tmp_path: Path) -> None:
    rows = [{"text": f"film {i}", "label": f"remark {i}"} for i in range(15)]
    with pytest.raises(InputError, match="x: every class has fewer than three training rows"):
        load(write_csv(tmp_path / "x.csv", rows))


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        (pa.array([[0], [1]] * 10), "list"),
        (pa.array([{"a": 0}, {"a": 1}] * 10), "struct"),
        (pa.array([b"\xff", b"\xfe"] * 10), "binary"),
    ],
)
@pytest.mark.parametrize("role", ["text", "label"])
def test_a_column_that_is_no_text(tmp_path: Path, column: pa.Array, type_: str, role: str) -> None:
    good = {"text": [r["text"] for r in reviews()], "label": [0, 1] * 10}
    with pytest.raises(InputError, match=f"the {role} column is of type {type_}.* cannot be read as text"):
        load(parquet_of(tmp_path / "x.parquet", **good | {role: column}))


@pytest.mark.parametrize(("value", "what"), [(["a", "b"], "a list"), ({"a": 1}, "an object")])
@pytest.mark.parametrize("role", ["text", "label"])
def test_a_json_value_that_is_no_text(tmp_path: Path, value: Any, what: str, role: str) -> None:
    file = write_jsonl(tmp_path / "x.jsonl", [*reviews(), {"text": "a", "label": 1} | {role: value}])
    with pytest.raises(InputError, match=f"line 21: the {role} is {what}"):
        load(file)


def test_one_class_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x has one class only \('yes'\); a classifier needs at least two"):
        load(write_csv(tmp_path / "x.csv", [r | {"label": "yes"} for r in reviews()]))
