"""A corpus as a file that is read back as it was, as a pandas frame, and on the screen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from written import reviews

from attentest.corpora import Corpus, build_corpus, load
from attentest.corpora.stored import open_corpus
from attentest.errors import InputError

KEY = b"attentest.corpus"


def pairs() -> Corpus:
    rows = [
        row | {"second": f"why {i}?", "key": f"r{i}", "why": [0, 1, 1] if i % 3 else None}
        for i, row in enumerate(reviews(40))
    ]
    return load(rows, second="second", id="key", rationale="why", positive="0", name="films")


def generation() -> Corpus:
    columns = {"text": [f"eins {i}" for i in range(20)], "second": [f"one {i}" for i in range(20)]}
    return build_corpus("captions", columns, kind="generation", recipe={"tokenizer": "whitespace"})


@pytest.mark.parametrize("make", [pairs, generation, lambda: load("planted", rows=40), lambda: load(reviews())])
def test_a_saved_corpus_is_read_back_as_it_was(tmp_path: Path, make: Any) -> None:
    corpus = make()
    path = corpus.save(tmp_path / "folder" / "saved.parquet")
    again = load(path)
    assert again.table.equals(corpus.table)
    assert again.fingerprint() == corpus.fingerprint()
    for part in ("name", "kind", "classes", "notes", "recipe"):
        assert getattr(again, part) == getattr(corpus, part)
    assert again.origin == {"source": str(path)}
    assert open_corpus(path).origin == corpus.origin


def test_options_of_a_saved_corpus(tmp_path: Path) -> None:
    path = pairs().save(tmp_path / "x.parquet")
    corpus = load(path, positive="1", rows=20, name="fewer")
    assert (corpus.name, corpus.classes, len(corpus)) == ("fewer", ("0", "1"), 20)
    with pytest.raises(InputError, match=r"x\.parquet has fixed columns"):
        load(path, text="text")
    with pytest.raises(InputError, match=r"x\.parquet has no separator"):
        load(path, separator=";")
    with pytest.raises(InputError, match=r"x\.parquet has no corpus option 'difficulty'"):
        load(path, difficulty=1)


def test_other_programs_see_the_names_of_classes(tmp_path: Path) -> None:
    table = pq.read_table(load("planted", rows=40).save(tmp_path / "x.parquet"))
    assert table["label"].to_pylist()[:2] == ["class 0", "class 1"]


def test_only_parquet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"A corpus is saved as \.parquet, not as 'x\.csv'"):
        load(reviews()).save(tmp_path / "x.csv")


def changed(path: Path, **fields: Any) -> Path:
    """The file with other metadata; a field that is … is taken out."""
    table = pq.read_table(path)
    about = {k: v for k, v in (msgspec.json.decode(table.schema.metadata[KEY]) | fields).items() if v is not ...}
    pq.write_table(table.replace_schema_metadata({KEY: msgspec.json.encode(about)}), path)
    return path


@pytest.mark.parametrize("field", ["name", "kind", "classes", "notes", "recipe", "origin"])
@pytest.mark.parametrize("value", [..., None, 3])
def test_damaged_metadata(tmp_path: Path, field: str, value: Any) -> None:
    path = changed(load(reviews()).save(tmp_path / "x.parquet"), **{field: value})
    with pytest.raises(InputError, match=rf"x\.parquet is damaged, or of another version of attentest: .*`{field}`"):
        load(path)


def test_metadata_that_is_no_json(tmp_path: Path) -> None:
    path = load(reviews()).save(tmp_path / "x.parquet")
    pq.write_table(pq.read_table(path).replace_schema_metadata({KEY: b"{"}), path)
    with pytest.raises(InputError, match=r"x\.parquet is damaged: its metadata"):
        load(path)


def test_labels_and_splits_that_are_not_those_of_the_corpus(tmp_path: Path) -> None:
    path = changed(load(reviews()).save(tmp_path / "x.parquet"), classes=["0", "2"])
    with pytest.raises(InputError, match=r"damaged: its column 'label' holds '1'; expected one of 0, 2\."):
        load(path)
    table = pq.read_table(load(reviews()).save(path))
    odd = table.set_column(table.column_names.index("split"), "split", pa.array(["holdout"] * 20))
    pq.write_table(odd, path)
    with pytest.raises(InputError, match="damaged: its column 'split' holds 'holdout'; expected one of train, dev"):
        load(path)


@pytest.mark.parametrize("column", ["id", "split", "text", "second", "label"])
def test_a_column_that_is_missing_or_has_gaps(tmp_path: Path, column: str) -> None:
    path = pairs().save(tmp_path / "x.parquet")
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(column), path)
    with pytest.raises(InputError, match=f"damaged: its column '{column}' is missing"):
        load(path)
    gaps = pa.nulls(len(table), table[column].type)
    pq.write_table(table.set_column(table.column_names.index(column), column, gaps), path)
    with pytest.raises(InputError, match=f"damaged: its column '{column}' has empty cells"):
        load(path)


def test_files_that_are_no_saved_corpora(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        open_corpus(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="damaged or not a Parquet file"):
        open_corpus(tmp_path / "x.parquet")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="not a corpus that attentest saved"):
        open_corpus(tmp_path / "x.parquet")


# Frames and screens


def test_to_pandas_has_a_row_for_each_text() -> None:
    corpus = pairs()
    frame = corpus.to_pandas()
    assert list(frame.columns) == ["id", "split", "text", "second", "label", "rationale"]
    assert list(frame["label"].cat.categories) == ["1", "0"]
    assert frame["label"].tolist() == [corpus.classes[label] for label in corpus.labels]
    again = load(frame.drop(columns="rationale"), second="second", id="id", split="split", positive="0")
    assert again.table.equals(corpus.table.drop_columns("rationale"))


def test_to_pandas_of_texts_without_labels() -> None:
    assert list(generation().to_pandas().columns) == ["id", "split", "text", "second"]


def test_to_pandas_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = load(reviews())
    assert isinstance(corpus.to_pandas(), pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="needs pandas, which is not installed: pip install pandas"):
        corpus.to_pandas()


def test_show_prints_counts_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    load(reviews(), name="films").show()
    printed = capsys.readouterr().out
    assert printed.split()[:12] == ["class", "train", "dev", "test", "0", "7", "1", "2", "1", "7", "1", "2"]
    assert "films" in printed
    assert "No test split was given" in " ".join(printed.split())


def test_show_of_many_classes_is_short() -> None:
    rows = [{"text": f"film {i}", "label": f"c{i % 30}"} for i in range(300)]
    html = load(rows)._repr_html_()
    assert html.count("<tr>") == 1 + 20 + 1
    assert "10 more classes" in html
    assert "<p>No test split was given" in html


def test_markup_in_names_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    corpus = load([row | {"label": ("[red]", "<b>")[row["label"]]} for row in reviews()])
    corpus.show()
    assert "[red]" in capsys.readouterr().out
    assert "&lt;b&gt;" in corpus._repr_html_()
