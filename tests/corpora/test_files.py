"""The user's own files: every kind gives the same corpus, and every bad one a sentence."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attentest.corpora import Corpus, build_corpus, files, load
from attentest.errors import InputError

Row = dict[str, Any]


def reviews(count: int = 20, **more: Any) -> list[Row]:
    return [{"text": f"{'good' if i % 2 else 'bad'} film {i}", "label": i % 2, **more} for i in range(count)]


def write_csv(file: Path, rows: Sequence[Row], delimiter: str = ",", encoding: str = "utf-8", end: str = "\n") -> Path:
    with file.open("w", encoding=encoding, newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator=end)
        writer.writerow(rows[0])
        writer.writerows(row.values() for row in rows)
    return file


def write_tsv(file: Path, rows: Sequence[Row]) -> Path:
    return write_csv(file, rows, delimiter="\t")


def write_jsonl(file: Path, rows: Sequence[Row | str], encoding: str = "utf-8") -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding=encoding)
    return file


def write_parquet(file: Path, rows: Sequence[Row]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), file)
    return file


WRITERS: dict[str, Callable[[Path, Sequence[Row]], Path]] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
every_kind = pytest.mark.parametrize("kind", WRITERS)


def texts(corpus: Corpus) -> list[str]:
    return corpus.table["text"].to_pylist()


def labels(corpus: Corpus) -> list[str]:
    return [corpus.classes[i] for i in corpus.labels]


def parquet_of(file: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), file)
    return file


# What is read


@every_kind
def test_every_kind_gives_the_same_corpus(tmp_path: Path, kind: str) -> None:
    rows = reviews()
    corpus = load(WRITERS[kind](tmp_path / f"reviews.{kind}", rows))
    twin = build_corpus("reviews", {"text": [r["text"] for r in rows], "label": [r["label"] for r in rows]})
    assert corpus.table.equals(twin.table)
    assert (corpus.name, corpus.kind, corpus.classes) == ("reviews", "single", ("0", "1"))
    assert corpus.fingerprint() == twin.fingerprint()


@every_kind
def test_commas_tabs_quotes_and_newlines_stay_in_the_text(tmp_path: Path, kind: str) -> None:
    hard = 'a, b\tc "quoted"\nand ; a second\n\nline'
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", [*reviews(), {"text": hard, "label": 1}]))
    assert texts(corpus)[-1] == hard
    assert len(corpus) == 21


def test_newlines_where_one_block_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK", 1 << 14)
    rows = [{"text": f"{i}\n" * (i % 50 + 1), "label": i % 2} for i in range(2000)]
    assert texts(load(write_csv(tmp_path / "x.csv", rows))) == [r["text"] for r in rows]


def test_the_extension_may_be_in_capitals(tmp_path: Path) -> None:
    assert len(load(write_csv(tmp_path / "REVIEWS.CSV", reviews()))) == 20


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path, kind: str) -> None:
    file = WRITERS[kind](tmp_path / f"x.{kind}", reviews())
    plain = load(file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load(file).table.equals(plain.table)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_windows_line_ends(tmp_path: Path, kind: str) -> None:
    file = WRITERS[kind](tmp_path / f"x.{kind}", reviews())
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    corpus = load(file)
    assert texts(corpus) == [r["text"] for r in reviews()]
    assert corpus.classes == ("0", "1")


def test_other_columns_are_named(tmp_path: Path) -> None:
    rows = [{"stars": r["label"], "junk": None, "body": r["text"]} for r in reviews()]
    corpus = load(write_csv(tmp_path / "x.csv", rows), text="body", label="stars")
    assert texts(corpus)[1] == "good film 1"
    assert corpus.table.column_names == ["id", "split", "text", "label"]


@every_kind
def test_second_column_makes_pairs(tmp_path: Path, kind: str) -> None:
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", reviews(question="is it good?")), second="question")
    assert corpus.kind == "pair"
    assert set(corpus.table["second"].to_pylist()) == {"is it good?"}


def test_numbers_in_the_text_column_are_text(tmp_path: Path) -> None:
    file = parquet_of(tmp_path / "x.parquet", text=list(range(20)), label=[0, 1] * 10)
    assert texts(load(file))[:3] == ["0", "1", "2"]


def test_a_dictionary_encoded_text_column_is_text(tmp_path: Path) -> None:
    written = pa.array([r["text"] for r in reviews()]).dictionary_encode()
    assert texts(load(parquet_of(tmp_path / "x.parquet", text=written, label=[0, 1] * 10)))[3] == "good film 3"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_hostile_content_is_kept(tmp_path: Path, kind: str) -> None:
    odd = ["🤖🏳️‍🌈 " * 3, "שלום עולם \u202eabc", "a\0b", "=cmd()|' /C calc'!A0", "<script>alert(1)</script>", "\u2028x"]
    rows = [*reviews(), *({"text": text, "label": 1} for text in odd)]
    assert texts(load(WRITERS[kind](tmp_path / f"x.{kind}", rows)))[20:] == odd


@every_kind
@pytest.mark.parametrize("first", [True, False])
def test_a_field_of_five_megabytes(tmp_path: Path, kind: str, first: bool) -> None:
    long = {"text": "word " * 1_000_000 + "end", "label": 1}
    rows = [long, *reviews()] if first else [*reviews(), long]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows))
    assert texts(corpus)[0 if first else -1] == long["text"]
    assert len(corpus) == 21


def test_a_text_of_100_000_tokens(tmp_path: Path) -> None:
    long = " ".join(f"w{i}" for i in range(100_000))
    corpus = load(write_csv(tmp_path / "x.csv", [*reviews(), {"text": long, "label": 0}]))
    assert len(texts(corpus)[-1].split()) == 100_000


def test_half_a_surrogate_pair_in_json(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "x.jsonl", [*reviews(), r'{"text": "cut \ud83d", "label": 1}'])
    assert texts(load(file))[-1] == "cut ?"


# Labels


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
    with pytest.raises(InputError, match=r"different values in 400 rows, .*not look like classes; .*--label"):
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


# Rows that cannot be used


EMPTY = ["", "   ", "\t \n", "\0\0", " \0 ", "\u00a0\u3000", "\u200b\ufeff"]


@every_kind
def test_empty_texts_are_counted_and_dropped(tmp_path: Path, kind: str) -> None:
    rows = [*reviews(), *({"text": text, "label": 1} for text in EMPTY)]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows))
    assert corpus.notes[0] == "Dropped 7 of 27 rows with an empty text."
    assert texts(corpus) == [r["text"] for r in reviews()]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_null_texts_are_dropped(tmp_path: Path, kind: str) -> None:
    rows = [*reviews(), {"text": None, "label": 1}]
    assert load(WRITERS[kind](tmp_path / f"x.{kind}", rows)).notes[0] == "Dropped 1 of 21 rows with an empty text."


@every_kind
def test_empty_second_texts_are_dropped(tmp_path: Path, kind: str) -> None:
    rows = [r | {"question": "why?"} for r in reviews()] + [r | {"question": q} for r in reviews(1) for q in EMPTY]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows), second="question")
    assert corpus.notes[0] == "Dropped 7 of 27 rows with an empty second."
    assert set(corpus.table["second"].to_pylist()) == {"why?"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_null_second_texts_are_dropped(tmp_path: Path, kind: str) -> None:
    rows = [r | {"question": "why?" if i else None} for i, r in enumerate(reviews())]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows), second="question")
    assert corpus.notes[0] == "Dropped 1 of 20 rows with an empty second."


def test_a_column_in_another_case(tmp_path: Path) -> None:
    rows = [r | {"QUESTION": "why?"} for r in reviews()]
    with pytest.raises(InputError, match=r"no column 'question'; .*Did you mean 'QUESTION'\?"):
        load(write_csv(tmp_path / "x.csv", rows), second="question")


def test_a_column_that_resembles_no_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"its columns are text, label\. Name the second column with --second\."):
        load(write_csv(tmp_path / "x.csv", reviews()), second="hypothesis")


def test_all_texts_empty(tmp_path: Path) -> None:
    rows = [r | {"text": "\0"} for r in reviews()]
    with pytest.raises(InputError, match=r"0 usable rows.*Dropped 20 of 20 rows with an empty text"):
        load(write_csv(tmp_path / "x.csv", rows))


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_missing_labels_are_counted_and_dropped(tmp_path: Path, kind: str) -> None:
    rows = [*reviews(), *({"text": "no label", "label": label} for label in ("", "  ", "nan", "NaN"))]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows))
    assert corpus.notes[0] == "Dropped 4 of 24 rows without a label."
    assert corpus.classes == ("0", "1")


def test_json_nan_and_absent_labels_are_missing_even_in_the_first_line(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "x.jsonl", ['{"text": "first"}', '{"text": "b", "label": NaN}', *reviews()])
    corpus = load(file)
    assert corpus.notes[0] == "Dropped 2 of 22 rows without a label."
    assert corpus.classes == ("0", "1")


@pytest.mark.parametrize("column", [pa.nulls(20), pa.nulls(20, pa.string()), pa.array([""] * 20)])
def test_all_labels_missing(tmp_path: Path, column: pa.Array) -> None:
    with pytest.raises(InputError, match=r"0 usable rows; .*Dropped 20 of 20 rows without a label"):
        load(parquet_of(tmp_path / "x.parquet", text=["a film"] * 20, label=column))


def test_three_rows_are_too_few(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="x has 3 usable rows; at least 10 are needed"):
        load(write_csv(tmp_path / "x.csv", reviews(3)))


# Splits


def test_splits_are_set_aside_from_every_class_and_always_the_same(tmp_path: Path) -> None:
    rows = [{"text": f"film {i}", "label": "rare" if i % 10 == 0 else "common"} for i in range(200)]
    corpus = load(write_csv(tmp_path / "x.csv", rows))
    # a fifth of 20 and of 180 for test, then 15 % of the 16 and 144 that are left for dev
    assert corpus.counts() == {
        "train": {"common": 122, "rare": 14},
        "dev": {"common": 22, "rare": 2},
        "test": {"common": 36, "rare": 4},
    }
    assert corpus.notes == (
        "No test split was given: 40 training rows were set aside for it.",
        "No dev split was given: 24 training rows were set aside for it.",
    )
    again = load(write_jsonl(tmp_path / "x.jsonl", rows))
    assert again.split.tolist() == corpus.split.tolist()
    assert corpus.split[:40].tolist() != sorted(corpus.split[:40]), "drawn at random, not from the end"


def test_a_class_of_two_rows_stays_in_train(tmp_path: Path) -> None:
    rows = [{"text": f"film {i}", "label": "rare" if i < 2 else "common"} for i in range(20)]
    counts = load(write_csv(tmp_path / "x.csv", rows)).counts()
    assert (counts["train"]["rare"], counts["dev"]["rare"], counts["test"]["rare"]) == (2, 0, 0)


@every_kind
def test_split_column_under_its_common_names(tmp_path: Path, kind: str) -> None:
    names = ["train", "Training", "validation", "val", " dev ", "TEST", "evaluation", "train"]
    rows = [r | {"part": names[i % 8]} for i, r in enumerate(reviews(40))]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows), split="part")
    assert corpus.split.tolist() == ["train", "train", "dev", "dev", "dev", "test", "test", "train"] * 5
    assert corpus.notes == ()


def test_only_dev_is_set_aside_where_test_is_given(tmp_path: Path) -> None:
    rows = [r | {"part": "test" if i < 20 else "train"} for i, r in enumerate(reviews(60))]
    corpus = load(write_csv(tmp_path / "x.csv", rows), split="part")
    assert corpus.split[:20].tolist() == ["test"] * 20
    assert corpus.counts()["dev"] == {"0": 3, "1": 3}
    assert corpus.notes == ("No dev split was given: 6 training rows were set aside for it.",)


def test_no_training_rows_is_said(tmp_path: Path) -> None:
    corpus = load(write_csv(tmp_path / "x.csv", reviews(part="test")), split="part")
    assert corpus.notes == ("x has no training rows: models can be tested on it, not trained.",)
    assert set(corpus.split) == {"test"}


@pytest.mark.parametrize(("kind", "value"), [("csv", ""), ("jsonl", None), ("csv", "holdout")])
def test_an_unknown_split(tmp_path: Path, kind: str, value: Any) -> None:
    rows = [*reviews(part="train"), {"text": "a", "label": 1, "part": value}]
    with pytest.raises(InputError, match=f"x: unknown split '{value or ''}'; the split column may hold"):
        load(WRITERS[kind](tmp_path / f"x.{kind}", rows), split="part")


def test_a_folder_of_mixed_kinds(tmp_path: Path) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    marked = [r | {"why": "0 1 1"} for r in reviews(20)]
    write_csv(folder / "train.csv", marked)
    write_jsonl(folder / "val.jsonl", [r | {"why": [0, 1, 1], "label": float(r["label"])} for r in reviews(12)])
    write_parquet(folder / "test.parquet", [r | {"why": [0, 1, 1]} for r in reviews(14)])
    (folder / "README.md").write_text("not a split")
    corpus = load(folder, rationale="why")
    assert (corpus.name, corpus.classes, corpus.notes) == ("reviews", ("0", "1"), ())
    assert Counter(corpus.split.tolist()) == {"train": 20, "dev": 12, "test": 14}
    assert corpus.table["rationale"].to_pylist() == [[0, 1, 1]] * 46
    assert corpus.labels.tolist() == [0, 1] * 23
    places = {"train": 20, "dev": 12, "test": 14}
    assert set(corpus.table["id"].to_pylist()) == {f"{part}/{i}" for part, n in places.items() for i in range(n)}


def test_a_folder_of_mixed_kinds_with_bools(tmp_path: Path) -> None:
    as_bool = [r | {"label": bool(r["label"])} for r in reviews()]
    write_csv(tmp_path / "train.csv", as_bool)
    write_parquet(tmp_path / "test.parquet", as_bool)
    corpus = load(tmp_path)
    assert corpus.classes == ("false", "true")
    assert corpus.counts()["test"] == {"false": 10, "true": 10}


def test_the_folder_one_stands_in_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    write_csv(folder / "train.csv", reviews())
    monkeypatch.chdir(folder)
    assert load(".").name == "reviews"


def test_a_folder_without_train(tmp_path: Path) -> None:
    write_csv(tmp_path / "test.csv", reviews())
    with pytest.raises(InputError, match=r"has no train\.csv, .*; a folder needs one file for each split"):
        load(tmp_path)


def test_a_folder_with_two_files_for_a_split(tmp_path: Path) -> None:
    for name in ("train.csv", "val.csv", "dev.csv"):
        write_csv(tmp_path / name, reviews())
    with pytest.raises(InputError, match=r"two files for the dev split: dev\.csv, val\.csv"):
        load(tmp_path)


def test_a_folder_with_a_split_column(tmp_path: Path) -> None:
    write_csv(tmp_path / "train.csv", reviews(part="train"))
    with pytest.raises(InputError, match="is a folder, and its files are the splits"):
        load(tmp_path, split="part")


# Ids and rationales


@every_kind
def test_id_column(tmp_path: Path, kind: str) -> None:
    rows = [r | {"key": f"r{i}"} for i, r in enumerate(reviews())]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows), id="key")
    assert corpus.table["id"].to_pylist() == [f"r{i}" for i in range(20)]


def test_ids_count_the_rows_of_the_file_not_the_rows_kept(tmp_path: Path) -> None:
    corpus = load(write_csv(tmp_path / "x.csv", [{"text": " ", "label": 1}, *reviews()]))
    assert corpus.table["id"].to_pylist() == [str(i) for i in range(1, 21)]


@pytest.mark.parametrize(("kind", "missing"), [("parquet", None), ("jsonl", None), ("csv", "")])
def test_a_missing_id_is_the_row_number(tmp_path: Path, kind: str, missing: str | None) -> None:
    rows = [r | {"key": missing if i in (4, 6) else f"r{i}"} for i, r in enumerate(reviews())]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows), id="key")
    assert corpus.table["id"].to_pylist()[3:7] == ["r3", "4", "r5", "6"]
    assert len(corpus.fingerprint()) == 16


def test_rows_with_the_same_id_are_told_apart(tmp_path: Path) -> None:
    rows = [r | {"user": f"u{i // 3}"} for i, r in enumerate(reviews())]
    corpus = load(write_csv(tmp_path / "x.csv", rows), id="user")
    assert corpus.table["id"].to_pylist()[:5] == ["u0", "u0#2", "u0#3", "u1", "u1#2"]
    assert corpus.notes[0] == "13 rows repeat the id of another; they are told apart as #2, #3…"


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("csv", "0 1 1"),
        ("csv", "011"),
        ("csv", "[0, 1, 1]"),
        ("csv", "0.0 1.0 1.0"),
        ("csv", "False True True"),
        ("tsv", "0,1,1"),
        ("jsonl", [0, 1, 1]),
        ("jsonl", [False, True, True]),
        ("jsonl", "0 1 1"),
        ("parquet", [0, 1, 1]),
        ("parquet", [0.0, 1.0, 1.0]),
        ("parquet", [False, True, True]),
        ("parquet", "0 1 1"),
    ],
)
def test_rationales_in_every_form(tmp_path: Path, kind: str, written: Any) -> None:
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", reviews(why=written)), rationale="why")
    assert corpus.has_rationale
    assert corpus.table["rationale"].to_pylist() == [[0, 1, 1]] * 20


@pytest.mark.parametrize(("kind", "missing"), [("csv", ""), ("csv", "  "), ("jsonl", None), ("parquet", None)])
def test_some_rows_may_have_no_rationale(tmp_path: Path, kind: str, missing: Any) -> None:
    marks = "0 1 1" if kind == "csv" else [0, 1, 1]
    rows = [r | {"why": marks if i % 2 else missing} for i, r in enumerate(reviews())]
    corpus = load(WRITERS[kind](tmp_path / f"x.{kind}", rows), rationale="why")
    assert corpus.table["rationale"].to_pylist() == [None, [0, 1, 1]] * 10


@pytest.mark.parametrize(("kind", "short"), [("csv", "0 1"), ("jsonl", [0, 1]), ("parquet", [0, 1])])
def test_a_rationale_of_the_wrong_length(tmp_path: Path, kind: str, short: Any) -> None:
    marks = "0 1 1" if kind == "csv" else [0, 1, 1]
    rows = [r | {"why": short if i == 7 else marks} for i, r in enumerate(reviews())]
    with pytest.raises(InputError, match="x: the rationale of row '7' has 2 marks for 3 words; it needs one 0/1"):
        load(WRITERS[kind](tmp_path / f"x.{kind}", rows), rationale="why")


@pytest.mark.parametrize(
    ("kind", "written", "said"),
    [
        ("csv", "0 2 1", "'0 2 1'"),
        ("csv", "-1 0 1", "'-1 0 1'"),
        ("csv", "yes no no", "'yes no no'"),
        ("csv", "0 0.5 1", "'0 0.5 1'"),
        ("jsonl", [0, 0.5, 1], "0.5"),
        ("jsonl", {"a": 1}, '"a"'),
        ("parquet", [0, 2, 1], "holds 2"),
        ("parquet", [0.0, 0.5, 1.0], "0.5"),
        ("parquet", [0, None, 1], "None"),
        ("parquet", 3, "int64"),
    ],
)
def test_a_rationale_of_other_than_0_and_1(tmp_path: Path, kind: str, written: Any, said: str) -> None:
    with pytest.raises(InputError, match=rf"a rationale is one 0 or 1 for each word.*{said}"):
        load(WRITERS[kind](tmp_path / f"x.{kind}", reviews(why=written)), rationale="why")


# Samples


def test_a_sample_is_even_over_splits_and_classes(tmp_path: Path) -> None:
    rows = [
        {"text": f"film {i}", "label": "ab"[i % 4 == 0], "part": ("train", "train", "train", "dev", "test")[i % 5]}
        for i in range(1000)
    ]
    whole = load(write_csv(tmp_path / "x.csv", rows), split="part")
    sample = load(tmp_path / "x.csv", split="part", rows=100)
    assert len(sample) == 100
    assert sample.notes[-1] == "Sampled 100 of 1,000 rows (seed 0)."
    for split, counts in whole.counts().items():
        for name, count in counts.items():
            assert sample.counts()[split][name] == pytest.approx(count / 10, abs=1)
    assert set(texts(sample)) < set(texts(whole))
    assert texts(sample) == texts(load(tmp_path / "x.csv", split="part", rows=100))
    assert texts(sample) != texts(whole.sample(100, seed=1))


def test_a_small_sample_has_every_class_in_every_split(tmp_path: Path) -> None:
    rows = [{"text": f"film {i}", "label": "rare" if i % 100 < 3 else "common"} for i in range(1000)]
    sample = load(write_csv(tmp_path / "x.csv", rows), rows=12)
    assert all(count >= 1 for counts in sample.counts().values() for count in counts.values())


def test_a_sample_of_more_rows_than_there_are_is_all_of_them(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", reviews())
    assert load(file, rows=1000).table.equals(load(file).table)


@pytest.mark.parametrize("rows", [9, 0, -5])
def test_a_sample_that_is_too_small(tmp_path: Path, rows: int) -> None:
    with pytest.raises(InputError, match=f"A sample of {rows} rows is too small; ask for at least 10"):
        load(write_csv(tmp_path / "x.csv", reviews()), rows=rows)


# Files that cannot be used


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.csv: there is no such file or folder"):
        load(tmp_path / "nothing.csv")


@pytest.mark.parametrize("name", ["x.xlsx", "x.json", "x.csv.gz", "x"])
def test_an_unknown_extension(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text,label\n")
    with pytest.raises(InputError, match=r"cannot read '.*' files; give one of \.csv, \.tsv, \.jsonl, \.parquet"):
        load(tmp_path / name)


@every_kind
@pytest.mark.parametrize("role", ["text", "label", "second", "split", "id", "rationale"])
def test_a_missing_column(tmp_path: Path, kind: str, role: str) -> None:
    rows = [{"body": "a film", "stars": 1}] * 20
    columns = {"text": "body", "label": "stars"} | {role: "boddy"}
    with pytest.raises(
        InputError, match=rf"no column 'boddy'; its columns are body, stars\. Did you mean 'body'\? .*--{role}\."
    ):
        load(WRITERS[kind](tmp_path / f"x.{kind}", rows), **columns)


def test_two_columns_of_the_same_name(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("text,label,label\n" + "a film,0,1\n" * 20)
    with pytest.raises(InputError, match="2 columns called 'label'; rename all but one"):
        load(file)


def test_bytes_that_do_not_decode(tmp_path: Path) -> None:
    rows = [*reviews(), {"text": "caf\xe9", "label": 1}]
    for file in (
        write_csv(tmp_path / "x.csv", rows, encoding="latin-1"),
        write_jsonl(tmp_path / "x.jsonl", [{"text": "a", "label": 0}, *rows], encoding="latin-1"),
    ):
        with pytest.raises(InputError, match=r"line 22: not valid utf-8\. Save it as UTF-8, .*--encoding"):
            load(file)
        assert texts(load(file, encoding="latin-1"))[-1] == "café"


def test_the_line_of_a_bad_byte_far_into_a_file(tmp_path: Path) -> None:
    rows = [{"text": f"naïve and long film, number {i}", "label": i % 2} for i in range(5000)]
    file = write_csv(tmp_path / "x.csv", rows)
    data = file.read_bytes().split(b"\n")
    data[4321] = b"\xff" + data[4321]
    file.write_bytes(b"\n".join(data))
    with pytest.raises(InputError, match="line 4322: not valid utf-8"):
        load(file)


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "utf\0"])
def test_an_unknown_encoding(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(InputError, match=f"There is no encoding called '{encoding}'"):
        load(write_csv(tmp_path / "x.csv", reviews()), encoding=encoding)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("wrong", ["utf-8", "latin-1"])
@pytest.mark.parametrize("right", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(tmp_path: Path, kind: str, wrong: str, right: str) -> None:
    file = WRITERS[kind](tmp_path / f"x.{kind}", [*reviews(), {"text": "naïve 🤖", "label": 1}])
    file.write_bytes(file.read_text(encoding="utf-8").encode(right))
    with pytest.raises(InputError, match=rf"looks like UTF-16 and not like {wrong}: try --encoding {right}\."):
        load(file, encoding=wrong)
    assert texts(load(file, encoding=right))[-1] == "naïve 🤖"


def test_utf_8_read_as_utf_16(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: not valid utf-16"):
        load(write_csv(tmp_path / "x.csv", reviews()), encoding="utf-16")


@pytest.mark.parametrize(("line", "got"), [("one,two,three", 3), ("one", 1)])
def test_a_ragged_row(tmp_path: Path, line: str, got: int) -> None:
    file = write_csv(tmp_path / "x.csv", reviews())
    file.write_text(file.read_text(encoding="utf-8") + line + "\n")
    with pytest.raises(InputError, match=rf"Row #22: Expected 2 columns, got {got}: {line}\. .*double quotes"):
        load(file)


def test_a_quote_that_is_not_closed(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", reviews())
    file.write_text(file.read_text(encoding="utf-8") + '"open,1\n' + "more,0\n" * 20)
    with pytest.raises(InputError, match=r"Row #22: .*must stand in double quotes"):
        load(file)


def test_a_row_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK", 1 << 20)
    file = write_csv(tmp_path / "x.csv", [*reviews(), {"text": "word " * 500_000, "label": 1}])
    with pytest.raises(InputError, match="a row of more than 1 MB; is there a double quote that is not closed"):
        load(file)


@pytest.mark.parametrize(
    "line", ['{"text": ', "not json", '{"text": "a" "label": 1}', '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"]
)
def test_a_malformed_json_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"x\.jsonl, line 21: not valid JSON \("):
        load(write_jsonl(tmp_path / "x.jsonl", [*reviews(), line]))


def test_a_json_line_that_is_no_object(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 21: expected an object with named fields"):
        load(write_jsonl(tmp_path / "x.jsonl", [*reviews(), "[1, 2]"]))


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=rf"{name} has no rows\."):
        load(tmp_path / name)


@pytest.mark.parametrize("header", ["text,label", "text,label\n", "text,label\r\n"])
def test_a_header_without_rows(tmp_path: Path, header: str) -> None:
    (tmp_path / "x.csv").write_bytes(header.encode())
    with pytest.raises(InputError, match=r"x\.csv has no rows\."):
        load(tmp_path / "x.csv")


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.parquet has no rows\."):
        load(parquet_of(tmp_path / "x.parquet", text=pa.nulls(0, pa.string()), label=pa.nulls(0, pa.int64())))


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -50])
def test_a_truncated_parquet_file(tmp_path: Path, keep: int) -> None:
    file = write_parquet(tmp_path / "x.parquet", reviews(1000))
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"x\.parquet cannot be read: \w.*[^.]\.$"):
        load(file)


def test_a_parquet_file_with_damaged_pages(tmp_path: Path) -> None:
    file = write_parquet(tmp_path / "x.parquet", reviews(1000))
    data = file.read_bytes()
    file.write_bytes(data[:20] + b"\xff" * 400 + data[420:])
    with pytest.raises(InputError, match=r"x\.parquet cannot be read: \w.*[^.]\.$"):
        load(file)


def test_a_folder_called_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(InputError, match=r"x\.csv has no train\.csv"):
        load(tmp_path / "x.csv")


# Names


@pytest.mark.parametrize(
    ("name", "nearest"), [("planetd", "planted"), ("SST", "sst"), ("movie_reviews", "movie-reviews")]
)
def test_an_unknown_name_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"Unknown corpus or file '{name}'; did you mean '{nearest}'"):
        load(name)


@pytest.mark.parametrize("name", ["é", "a\0b", "qqqq"])
def test_a_name_like_no_other_lists_them(name: str) -> None:
    with pytest.raises(InputError, match=r"Unknown corpus or file .* choose from: .*planted"):
        load(name)


def test_a_name_too_long_for_a_file() -> None:
    with pytest.raises(InputError, match="Unknown corpus or file"):
        load("x" * 5000)
    with pytest.raises(InputError, match="there is no such file"):
        load("x" * 5000, format="sst")


@pytest.mark.parametrize("name", ["", "  "])
def test_no_name(name: str) -> None:
    with pytest.raises(InputError, match="No corpus was named"):
        load(name)


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown format 'imdb'; did you mean 'aclimdb'"):
        load(tmp_path, format="imdb")


def test_options_that_files_do_not_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.csv has no corpus option 'difficulty'"):
        load(write_csv(tmp_path / "x.csv", reviews()), difficulty=0.5)


# Fingerprints


def test_the_fingerprint_sees_every_change(tmp_path: Path) -> None:
    def fingerprint(**change: Any) -> str:
        rows = [r | {"why": "0 1 1", "part": "train", "key": f"k{i}"} for i, r in enumerate(reviews())]
        rows[3] |= change
        columns = {"rationale": "why", "split": "part", "id": "key"}
        return load(write_csv(tmp_path / "x.csv", rows), **columns).fingerprint()

    changes: list[Row] = [{}, {"text": "good film 4"}, {"label": 0}, {"why": "1 1 1"}, {"part": "dev"}, {"key": "j"}]
    prints = [fingerprint(**change) for change in changes]
    assert len(set(prints)) == len(changes)
    assert fingerprint() == prints[0]


def test_the_fingerprint_sees_where_one_text_ends(tmp_path: Path) -> None:
    one = [*reviews(), {"text": "ab", "label": 0}, {"text": "c", "label": 0}]
    two = [*reviews(), {"text": "a", "label": 0}, {"text": "bc", "label": 0}]
    first, second = (load(write_jsonl(tmp_path / "x.jsonl", rows)).fingerprint() for rows in (one, two))
    assert first != second
