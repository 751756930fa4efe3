"""Your own files: every kind gives the same corpus, with ids, rationales and fingerprints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from written import WRITERS, Row, every_kind, parquet_of, reviews, texts, write_csv, write_jsonl

from attentest.corpora import build_corpus, delimited, load
from attentest.errors import InputError

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
    monkeypatch.setattr(delimited, "_BLOCK", 1 << 14)
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
    assert corpus.notes[0] == "13 rows repeat the id of another; #2, #3… is added to their ids."


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


# Fingerprints


def test_the_fingerprint_sees_every_change(tmp_path: Path) -> None:
    def fingerprint(**change: Any) -> str:
        rows = [r | {"why": "0 1 1", "part": "train", "key": f"k{i}"} for i, r in enumerate(reviews())]
        rows[3] |= change
        file = write_csv(tmp_path / "x.csv", rows)
        return load(file, rationale="why", split="part", id="key").fingerprint()

    changes: list[Row] = [{}, {"text": "good film 4"}, {"label": 0}, {"why": "1 1 1"}, {"part": "dev"}, {"key": "j"}]
    prints = [fingerprint(**change) for change in changes]
    assert len(set(prints)) == len(changes)
    assert fingerprint() == prints[0]


def test_the_fingerprint_sees_where_one_text_ends(tmp_path: Path) -> None:
    one = [*reviews(), {"text": "ab", "label": 0}, {"text": "c", "label": 0}]
    two = [*reviews(), {"text": "a", "label": 0}, {"text": "bc", "label": 0}]
    first, second = (load(write_jsonl(tmp_path / "x.jsonl", rows)).fingerprint() for rows in (one, two))
    assert first != second
