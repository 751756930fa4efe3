"""Rows and files that cannot be used: rows are counted, and every bad file gets a message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from written import WRITERS, every_kind, parquet_of, reviews, texts, write_csv, write_jsonl, write_parquet

from attentest.corpora import delimited, load
from attentest.errors import InputError

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
    with pytest.raises(InputError, match=r"its columns are text, label\. Name the second column with `second`\."):
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
    columns: dict[str, Any] = {"text": "body", "label": "stars"} | {role: "boddy"}
    with pytest.raises(
        InputError, match=rf"no column 'boddy'; its columns are body, stars\. Did you mean 'body'\? .*`{role}`\."
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
        with pytest.raises(InputError, match=r"line 22: not valid utf-8\. Save it as UTF-8, .*`encoding`"):
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
    with pytest.raises(InputError, match=rf"looks like UTF-16 and not like {wrong}: try `encoding='{right}'`\."):
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
    with pytest.raises(InputError, match=r"Row #22: .*must be in double quotes"):
        load(file)


def test_a_row_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 1 << 20)
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
