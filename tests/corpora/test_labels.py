"""Labels of any type become classes: in order, named, and only where they are classes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from attentest.corpora import build_corpus
from attentest.corpora.labels import encode_labels
from attentest.errors import InputError


def encode(values: Any, **options: Any) -> tuple[list[int], tuple[str, ...]]:
    column = values if isinstance(values, pa.Array) else pa.array(values)
    codes, names = encode_labels(pa.chunked_array([column]), "x", **options)
    return codes.to_pylist(), names


TWO = {
    "int": (pa.array([1, 0] * 10), ("0", "1")),
    "unsigned": (pa.array([200, 7] * 10, pa.uint8()), ("7", "200")),
    "float": (pa.array([1.0, 0.0] * 10), ("0", "1")),
    "half float": (pa.array([1.0, 0.0] * 10).cast(pa.float16()), ("0", "1")),
    "fraction": (pa.array([1.0, 0.5] * 10), ("0.5", "1.0")),
    "bool": (pa.array([True, False] * 10), ("false", "true")),
    "string": (pa.array(["pos", "neg"] * 10), ("neg", "pos")),
    "string with blanks": (pa.array([" pos", "neg\n", "pos", "neg"] * 5), ("neg", "pos")),
    "large string": (pa.array(["pos", "neg"] * 10, pa.large_string()), ("neg", "pos")),
    "binary": (pa.array([b"pos", b"neg"] * 10), ("neg", "pos")),
    "date": (pa.array([19000, 18000] * 10, pa.int32()).cast(pa.date32()), ("2019-04-14", "2022-01-08")),
    "dictionary": (pa.array(["pos", "neg"] * 10).dictionary_encode(), ("neg", "pos")),
    "dictionary of numbers": (pa.array([10, 9] * 10).dictionary_encode(), ("9", "10")),
    "decimal": (pa.array([1, 0] * 10).cast(pa.decimal128(21, 2)), ("0", "1")),
    "beyond a float": (pa.array([2**62 + 1, 2**62] * 10), (str(2**62), str(2**62 + 1))),
}


@pytest.mark.parametrize("name", TWO)
def test_labels_of_every_type(name: str) -> None:
    column, classes = TWO[name]
    assert encode(column) == ([1, 0] * 10, classes)
    corpus = build_corpus("x", {"text": ["a film"] * 20, "label": column})
    assert (corpus.labels.tolist(), corpus.classes) == ([1, 0] * 10, classes)


MISSING = {
    "int": pa.array([0, 1, None, 1] * 5),
    "float": pa.array([0.0, 1.0, float("nan"), 1.0] * 5),
    "bool": pa.array([False, True, None, True] * 5),
    "string": pa.array(["a", "b", " ", "b"] * 5),
    "dictionary": pa.array(["a", "b", None, "b"] * 5).dictionary_encode(),
    "dictionary with blanks": pa.array(["a", "b", "", "b"] * 5).dictionary_encode(),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_labels_of_every_type(name: str) -> None:
    corpus = build_corpus("x", {"text": ["a film"] * 20, "label": MISSING[name]})
    assert corpus.notes[0] == "Dropped 5 of 20 rows without a label."
    assert len(corpus.classes) == 2
    assert corpus.labels.tolist() == [0, 1, 1] * 5


def test_labels_in_several_chunks() -> None:
    chunks = [pa.array(["b", "a"]), pa.array(["c", "a"]), pa.array([], pa.string())]
    codes, names = encode_labels(pa.chunked_array(chunks), "x")
    assert (codes.to_pylist(), names) == ([1, 0, 2, 0], ("a", "b", "c"))


@pytest.mark.parametrize("values", [range(1, 11), [str(n) for n in range(1, 11)], [float(n) for n in range(1, 11)]])
def test_1_to_10_sort_as_numbers(values: Any) -> None:
    codes, names = encode(list(values))
    assert names == ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
    assert codes == list(range(10))


def test_one_word_among_numbers_makes_them_words() -> None:
    assert encode(["10", "9", "none"]) == ([0, 1, 2], ("10", "9", "none"))


def test_the_same_number_written_twice_is_one_class() -> None:
    assert encode(["1", "1.0", "0", "01"]) == ([1, 1, 0, 1], ("0", "1"))


def test_infinity_is_a_word() -> None:
    assert encode(["inf", "1"]) == ([1, 0], ("1", "inf"))


def test_names_for_numbers() -> None:
    assert encode([2, 0, 2], classes=("a", "b", "c")) == ([2, 0, 2], ("a", "b", "c"))
    assert encode(["1.0", "0.0"], classes=("a", "b", "c")) == ([1, 0], ("a", "b", "c"))


def test_names_are_for_numbers_only() -> None:
    assert encode(["x", "y"], classes=("a", "b")) == ([0, 1], ("x", "y"))
    assert encode([1, 2], classes=("a", "b")) == ([0, 1], ("1", "2"))


def test_many_declared_classes_may_have_few_rows() -> None:
    codes, names = encode([0, 99], classes=[f"c{i}" for i in range(100)])
    assert (codes, len(names)) == ([0, 99], 100)


def test_positive_comes_second() -> None:
    assert encode(["yes", "no"], positive="no") == ([0, 1], ("yes", "no"))
    assert encode(["yes", "no"], positive="yes") == ([1, 0], ("no", "yes"))
    assert encode([0, 1], classes=("good", "bad"), positive="good") == ([1, 0], ("bad", "good"))
    assert encode([True, False], positive="False") == ([0, 1], ("true", "false"))
    assert encode([1.0, 2.0], positive="1.0") == ([1, 0], ("2", "1"))


@pytest.mark.parametrize(("values", "positive"), [(["a", "b"], "c"), (["a", "b", "c"], "a")])
def test_a_positive_class_that_cannot_be(values: list[str], positive: str) -> None:
    with pytest.raises(InputError, match=f"x: '{positive}' cannot be the positive class; the classes are a, b"):
        encode(values, positive=positive)


@pytest.mark.parametrize("values", [["a"] * 5, [1, 1.0], [True]])
def test_one_class_only(values: list[Any]) -> None:
    with pytest.raises(InputError, match="x has one class only"):
        encode(values)


def test_one_of_the_named_classes_only() -> None:
    with pytest.raises(InputError, match=r"one class only \('bad'\)"):
        encode([1, 1], classes=("good", "bad"))


def test_many_classes_need_rows() -> None:
    assert len(encode([i % 30 for i in range(90)])[1]) == 30
    with pytest.raises(InputError, match=r"30 different values in 80 rows, .*not look like classes; .*`label`"):
        encode([i % 30 for i in range(80)])


def test_many_fractions_are_a_measurement_however_many_rows() -> None:
    assert len(encode([i % 9 / 2 for i in range(90)])[1]) == 9
    with pytest.raises(InputError, match="41 different values in 4,100 rows"):
        encode([i % 41 / 10 for i in range(4100)])


@pytest.mark.parametrize("column", [pa.array([[0], [1]]), pa.array([{"a": 0}, {"a": 1}]), pa.array([b"\xff", b"\xfe"])])
def test_types_that_name_no_class(column: pa.Array) -> None:
    with pytest.raises(InputError, match=r"x: the label column is of type .* cannot be read as text"):
        encode(column)
