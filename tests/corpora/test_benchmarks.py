"""The papers' benchmarks: on a tiny data folder made here, and on the real one where it is at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from written import notes_of_source

from attentest.corpora import Corpus, load, rationales
from attentest.corpora.benchmarks import BENCHMARKS
from attentest.errors import InputError


def put(file: Path, **columns: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file)


def texts(corpus: Corpus, split: str) -> list[str]:
    return [row["text"] for row in corpus.table.to_pylist() if row["split"] == split]


# A folder made here


def test_sst_keeps_what_jain_and_wallace_kept(tmp_path: Path) -> None:
    for split, rows in (("train", 12), ("dev", 4), ("test", 6)):
        put(
            tmp_path / "sst_jw" / f"{split}.parquet",
            text=[f"{split} {i}" for i in range(rows)],
            label=[i // 2 % 2 for i in range(rows)],
            jw_kept=[i % 2 == 0 for i in range(rows)],
        )
    corpus = load("sst", data_dir=tmp_path)
    assert (corpus.name, corpus.classes) == ("sst_jw", ("negative", "positive"))
    assert texts(corpus, "test") == ["test 0", "test 2", "test 4"]
    assert corpus.counts()["train"] == {"negative": 3, "positive": 3}
    assert corpus.recipe["tokenizer"] == "whitespace"
    assert corpus.fingerprint() == load("sst_jw", data_dir=tmp_path).fingerprint()


def test_babi_marks_the_supporting_sentences(tmp_path: Path) -> None:
    story = "Mary went to the hall.\nJohn sat.\nMary left."
    for split, rows in (("train", 40), ("test", 10)):
        put(
            tmp_path / "babi1" / f"{split}.parquet",
            context=[story] * rows,
            question=["Where is Mary?"] * rows,
            answer=["hall", "office"] * (rows // 2),
            supporting=[[0, 2], [1]] * (rows // 2),
        )
    corpus = load("babi1", data_dir=tmp_path)
    first, second = [row for row in corpus.table.to_pylist() if row["split"] == "test"][:2]
    assert (corpus.kind, corpus.classes) == ("pair", ("hall", "office"))
    assert first["second"] == "Where is Mary?"
    assert first["rationale"] == [1, 1, 1, 1, 1, 0, 0, 1, 1]
    assert second["rationale"] == [0, 0, 0, 0, 0, 1, 1, 0, 0]
    assert notes_of_source(corpus) == ("No dev split was given: 6 training rows were set aside for it.",)
    assert corpus.answers == "closed"


def test_ade_marks_the_effects(tmp_path: Path) -> None:
    put(
        tmp_path / "ade_corpus_v2" / "all.parquet",
        text=["Severe headache after aspirin.", "No change was seen."] * 20,
        label=[1, 0] * 20,
        effects=[["headache"], None] * 20,
    )
    corpus = load("ade_corpus_v2", data_dir=tmp_path)
    assert corpus.classes == ("none", "adverse effect")
    assert corpus.table["rationale"].to_pylist()[:2] == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert sum(corpus.counts()["test"].values()) == 8


def test_yelp_merges_the_annotators_of_a_review(tmp_path: Path) -> None:
    reviews = [f"review number {i}" for i in range(20)]
    marks = [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    put(
        tmp_path / "yelp_hat" / "all.parquet",
        text=[review for review in reviews for _ in marks],
        label=[i % 2 for i in range(20) for _ in marks],
        rationale=marks * 20,
    )
    corpus = load("yelp_hat", data_dir=tmp_path)
    assert corpus.table["text"].to_pylist() == reviews
    assert corpus.table["rationale"].to_pylist() == [[1, 0, 0]] * 20


def test_ag_news_takes_two_topics_and_puts_the_title_first(tmp_path: Path) -> None:
    topics = [0, 1, 2, 3] * 10
    put(tmp_path / "ag_news" / "train_partial.parquet", text=[f"Title {i} body" for i in range(40)], label=topics)
    put(
        tmp_path / "ag_news" / "test.parquet", title=["Title"] * 40, text=[f"body {i}" for i in range(40)], label=topics
    )
    corpus = load("ag_news_jw", data_dir=tmp_path)
    assert corpus.counts()["test"] == {"world": 10, "business": 10}
    assert texts(corpus, "test")[:3] == ["Title body 0", "Title body 2", "Title body 4"]
    assert load("ag_news", data_dir=tmp_path).counts()["test"] == dict.fromkeys(
        ("world", "sports", "business", "science"), 10
    )


def test_imdb_of_jain_and_wallace_is_drawn_once_for_all(tmp_path: Path) -> None:
    for split in ("train", "test"):
        put(
            tmp_path / "imdb" / f"{split}.parquet",
            text=[f"{split}{i}<br /><br/>end" for i in range(100)],
            label=[i % 2 for i in range(100)],
            id=[f"review{i}" for i in range(100)],
        )
    corpus = load("imdb_jw", data_dir=tmp_path)
    train, dev, test = (texts(corpus, split) for split in ("train", "dev", "test"))
    assert (len(train), len(dev), len(test)) == (80, 20, 20)
    assert {t[:5] for t in train + dev} == {"train"}
    assert {t[:4] for t in test} == {"test"}
    assert not set(train) & set(dev)
    for row in corpus.table.to_pylist():
        assert row["id"].replace("/review", "") == row["text"].split("\n")[0], "ids name the file a row came from"
    assert all("<br" not in t and t.endswith("\nend") for t in train + dev + test)
    assert corpus.table.equals(load("imdb_jw", data_dir=tmp_path).table)
    assert texts(load("imdb", data_dir=tmp_path), "test")[0] == "test0\nend"


def test_multinli_has_test_rows_only(tmp_path: Path) -> None:
    for part in ("matched", "mismatched"):
        put(
            tmp_path / "multinli_sample" / f"mnli_{part}_1k.parquet",
            premise=[part] * 6,
            hypothesis=["so"] * 6,
            label=[0, 1, 2] * 2,
        )
    corpus = load("multinli_sample", data_dir=tmp_path)
    assert texts(corpus, "test") == ["matched"] * 6 + ["mismatched"] * 6
    assert "no training rows" in corpus.notes[0]


def test_translation_has_no_labels(tmp_path: Path) -> None:
    for split in ("train", "val", "test_2016_flickr"):
        put(tmp_path / "multi30k_en_de" / f"{split}.parquet", source=["a dog"] * 10, target=["ein Hund"] * 10)
    corpus = load("multi30k_en_de", data_dir=tmp_path)
    assert (corpus.kind, corpus.classes) == ("generation", ())
    assert "label" not in corpus.table.column_names
    assert corpus.counts() == {split: {"all": 10} for split in ("train", "dev", "test")}


# Folders that cannot be used


def test_without_a_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTENTEST_DATA", raising=False)
    with pytest.raises(InputError, match=r"'sst_jw' is read from a data folder: .*`data_dir` or the variable"):
        load("sst")


def test_the_folder_may_be_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    with pytest.raises(InputError, match="needs") as raised:
        load("sst2")
    assert str(tmp_path / "sst2" / "train.parquet") in str(raised.value)
    with pytest.raises(InputError, match=r"needs /elsewhere/sst2/train\.parquet"):
        load("sst2", data_dir="/elsewhere")


def test_a_wrong_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train\.parquet, which does not exist; check the data folder"):
        load("sst5", data_dir=tmp_path)


@pytest.mark.parametrize("name", ["sst_jw", "sst2"])
def test_a_file_with_other_columns(tmp_path: Path, name: str) -> None:
    for split in ("train", "dev", "test"):
        put(tmp_path / name / f"{split}.parquet", sentence=["a"] * 10)
    with pytest.raises(InputError, match=rf"'{name}' in .* lacks a column .*; check the data folder"):
        load(name, data_dir=tmp_path)


def test_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "sst2").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "sst2" / f"{split}.parquet").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(InputError, match=r"train\.parquet is not a readable Parquet file"):
        load("sst2", data_dir=tmp_path)


def test_a_benchmark_has_no_options(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sst2 has no corpus option 'difficulty'"):
        load("sst2", data_dir=tmp_path, difficulty=1)


# Rationales


def test_rationale_of_sentences() -> None:
    assert rationales.of_sentences("a b\nc\n\nd  e f", {0, 3}) == [1, 1, 0, 1, 1, 1]
    assert rationales.of_sentences("a b", set()) == [0, 0]


@pytest.mark.parametrize(
    ("text", "phrases", "marks"),
    [
        ("liver failure, then death", ["failure"], [0, 1, 0, 0]),
        ("liver failure, then death", ["liver failure", "death"], [1, 1, 0, 1]),
        ("a bad, bad day", ["bad"], [0, 1, 1, 0]),
        ("headaches", ["ache"], [1]),
        ("a (rash) b", ["(rash)"], [0, 1, 0]),
        ("line\nbreak here", ["line\nbreak"], [1, 1, 0]),
        ("nothing here", ["absent", ""], [0, 0]),
        ("nothing here", [], [0, 0]),
    ],
)
def test_rationale_of_phrases(text: str, phrases: list[str], marks: list[int]) -> None:
    assert rationales.of_phrases(text, phrases) == marks


def test_rationale_of_the_majority() -> None:
    assert rationales.of_majority([[1, 1, 0], [1, 0, 0], [1, 0, 1]]) == [1, 0, 0]
    assert rationales.of_majority([[1, 1], [0, 1]]) == [1, 1], "half is enough"
    assert rationales.of_majority([[0, 1]]) == [0, 1]
    with pytest.raises(ValueError, match="shorter"):
        rationales.of_majority([[0, 1], [1]])


@pytest.mark.parametrize(
    ("written", "marks"),
    [
        ("0 1 1", [0, 1, 1]),
        ("011", [0, 1, 1]),
        ("[0, 1]", [0, 1]),
        ("[0\n 1]", [0, 1]),
        ("[False, true]", [0, 1]),
        ("1.0,0.0", [1, 0]),
        ("", []),
    ],
)
def test_rationale_as_written(written: str, marks: list[int]) -> None:
    assert rationales.of_written(written) == marks


@pytest.mark.parametrize("written", ["0 2", "0.5", "-1", "yes", "1e0", "0;1"])
def test_rationale_as_it_is_not_written(written: str) -> None:
    with pytest.raises(ValueError, match="it holds"):
        rationales.of_written(written)


# The real folder


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_loads(data_dir: Path, name: str) -> None:
    corpus = load(name, data_dir=data_dir)
    counts = corpus.counts()
    assert corpus.name == name
    assert sum(counts["test"].values()) > 0
    assert not any("Dropped" in note for note in corpus.notes)
    if corpus.kind == "generation":
        assert corpus.table["second"].null_count == 0
    else:
        assert len(corpus.classes) >= 2
        assert all(counts["test"].values()), "every class is tested"
    if "no training rows" not in " ".join(corpus.notes):
        assert all(n > 0 for split in ("train", "dev") for n in counts[split].values())
    ids = corpus.table["id"].to_pylist()
    assert len(set(ids)) == len(ids)
    if corpus.has_rationale:
        marked = [row for row in corpus.table.select(["text", "rationale"]).to_pylist() if row["rationale"] is not None]
        assert all(len(row["rationale"]) == len(row["text"].split()) for row in marked)
        assert any(any(row["rationale"]) for row in marked)


@pytest.mark.parametrize("name", ["sst", "sst_jw"])
def test_sst_has_the_published_counts(data_dir: Path, name: str) -> None:
    # Jain & Wallace, table 1: 3034 / 3321 for training, 863 / 862 for testing
    counts = load(name, data_dir=data_dir).counts()
    assert counts["train"] == {"negative": 3034, "positive": 3321}
    assert counts["test"] == {"negative": 863, "positive": 862}


def test_imdb_jw_sizes(data_dir: Path) -> None:
    corpus = load("imdb_jw", data_dir=data_dir)
    assert {split: sum(n.values()) for split, n in corpus.counts().items()} == {
        "train": 20_000,
        "dev": 5_000,
        "test": 5_000,
    }
    ids = {split: {r["id"] for r in corpus.table.to_pylist() if r["split"] == split} for split in ("train", "dev")}
    assert not ids["train"] & ids["dev"]


def test_ag_news_jw_has_two_classes(data_dir: Path) -> None:
    corpus = load("ag_news_jw", data_dir=data_dir)
    assert corpus.classes == ("world", "business")
    assert corpus.counts()["test"] == {"world": 1900, "business": 1900}


def test_no_yelp_review_is_in_two_splits(data_dir: Path) -> None:
    corpus = load("yelp_hat", data_dir=data_dir)
    parts = [set(texts(corpus, split)) for split in ("train", "dev", "test")]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(corpus)
