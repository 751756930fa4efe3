"""Csv files of any separator: it is found, or named, and a wrong one gets a message that names the cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from written import Row, reviews, texts, write_csv

from attentest.corpora import load
from attentest.corpora.delimited import find_separator
from attentest.errors import InputError

NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
HARD = 'a, b; c\td | "quoted"\nand, a; second\n\nline'


def hard_rows() -> list[Row]:
    """Texts with every separator, quotes and line breaks, and numbers with decimal commas."""
    return [{"nr": f"{i},5", "text": f"{HARD} {i}", "label": i % 2, "price": f"1,{i}"} for i in range(20)]


@pytest.mark.parametrize("separator", NAMES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_separator_is_found(tmp_path: Path, separator: str, encoding: str, end: str) -> None:
    file = write_csv(tmp_path / "x.csv", hard_rows(), delimiter=separator, encoding=encoding, end=end)
    plain = load([{"text": row["text"], "label": row["label"]} for row in hard_rows()])
    corpus = load(file, encoding=encoding.removesuffix("-sig"))
    assert corpus.fingerprint() == plain.fingerprint()
    note = f"x.csv: the columns seem to be separated by {NAMES[separator]}, not by commas."
    assert [n for n in corpus.notes if "separated" in n] == ([] if separator == "," else [note])


@pytest.mark.parametrize("separator", NAMES)
def test_a_tsv_file_is_separated_by_tabs_unless_it_is_not(tmp_path: Path, separator: str) -> None:
    corpus = load(write_csv(tmp_path / "x.tsv", hard_rows(), delimiter=separator))
    assert len(corpus) == 20
    assert any("not by tabs" in note for note in corpus.notes) == (separator != "\t")


def test_decimal_commas_as_labels(tmp_path: Path) -> None:
    rows = [{"text": f"film {i}", "label": ("1,5", "2,5")[i % 2]} for i in range(20)]
    assert load(write_csv(tmp_path / "x.csv", rows, delimiter=";")).classes == ("1,5", "2,5")


def test_every_file_of_a_folder_has_its_own(tmp_path: Path) -> None:
    write_csv(tmp_path / "train.csv", reviews(), delimiter=";")
    write_csv(tmp_path / "test.csv", reviews(12))
    corpus = load(tmp_path)
    assert corpus.notes[0] == "train.csv: the columns seem to be separated by semicolons, not by commas."
    assert len(corpus) == 32


@pytest.mark.parametrize("sign", [";", "|", "^"])
def test_the_first_line_may_declare_it(tmp_path: Path, sign: str) -> None:
    file = write_csv(tmp_path / "x.csv", reviews(), delimiter=sign)
    file.write_text(f"sep={sign}\n" + file.read_text(encoding="utf-8"))
    assert load(file).fingerprint() == load(reviews()).fingerprint()


@pytest.mark.parametrize(("given", "sign"), [(";", ";"), ("^", "^"), ("tab", "\t"), ("\\t", "\t"), ("\t", "\t")])
def test_a_separator_that_is_named(tmp_path: Path, given: str, sign: str) -> None:
    corpus = load(write_csv(tmp_path / "x.csv", reviews(), delimiter=sign), separator=given)
    assert corpus.fingerprint() == load(reviews()).fingerprint()
    assert not any("separated" in note for note in corpus.notes)
    assert corpus.origin["separator"] == given


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n", "–"])
def test_a_separator_that_is_none(tmp_path: Path, separator: str) -> None:
    with pytest.raises(InputError, match=r"The separator is .*; expected one character, such as , or ; or \| or tab"):
        load(write_csv(tmp_path / "x.csv", reviews()), separator=separator)


def test_what_has_no_separator(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "a", "label": 1}\n')
    for source in (tmp_path / "x.jsonl", "planted", "hf:imdb"):
        with pytest.raises(InputError, match="has no separator; it only applies to csv and tsv files"):
            load(source, separator=";")


def test_an_unknown_sign_is_named_as_the_cause(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", reviews(), delimiter="^")
    with pytest.raises(
        InputError, match=r"its columns are text\^label\. .*a single column when cut at commas; .*with `separator`"
    ):
        load(file)


def test_a_file_of_one_column(tmp_path: Path) -> None:
    rows = [{"text": f"a, b and c, film {i}; yes"} for i in range(20)]
    with pytest.raises(InputError, match=r"no column 'label'; its columns are text\. .*single column .*commas"):
        load(write_csv(tmp_path / "x.csv", rows))


def test_a_wrong_column_of_a_semicolon_file_lists_its_columns(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", hard_rows(), delimiter=";")
    with pytest.raises(InputError, match=r"'txt'; its columns are nr, text, label, price\. Did you mean 'text"):
        load(file, text="txt")
    with pytest.raises(InputError, match=r"no column 'body'; its columns are nr, text, label, price\."):
        load(file, text="body", label="stars")


def test_a_ragged_row_names_the_separator(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", reviews(), delimiter=";")
    file.write_text(file.read_text(encoding="utf-8") + "one;two;three\n")
    with pytest.raises(
        InputError,
        match=r"Row #22: Expected 2 columns, got 3: .*double quotes\. .*by semicolons; .*`separator`",
    ):
        load(file)


def test_a_text_longer_than_the_sample(tmp_path: Path) -> None:
    long = {"text": "words; and, more\n" * 50_000, "label": 1}
    corpus = load(write_csv(tmp_path / "x.csv", [long, *reviews()], delimiter=";"))
    assert texts(corpus)[0] == long["text"]


@pytest.mark.parametrize("sample", ["", "\n", "text", "text\n", '"text', "a;b", "a;b\n1;2\n"])
def test_small_samples(sample: str) -> None:
    assert find_separator(sample, {"text": "text", "label": "label"}, ",") == (";" if "a;b" in sample else ",")


def test_commas_win_where_nothing_speaks_for_another_sign() -> None:
    sample = "body,stars\na;b;c,1\nd|e|f,2\ng,3\n"
    assert find_separator(sample, {"text": "text", "label": "label"}, ",") == ","
