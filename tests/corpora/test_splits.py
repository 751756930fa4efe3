"""Splits that files have, that folders have, and that are set aside; samples of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from written import WRITERS, every_kind, reviews, texts, write_csv, write_jsonl, write_parquet

from attentest.corpora import load
from attentest.errors import InputError

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
    others = [r | {"text": r["text"].replace("film", "play"), "why": [0, 1, 1]} for r in reviews(26)]
    write_jsonl(folder / "val.jsonl", [r | {"label": float(r["label"])} for r in others[:12]])
    write_parquet(folder / "test.parquet", others[12:])
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
    with pytest.raises(InputError, match="is a folder whose files are the splits"):
        load(tmp_path, split="part")


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
    with pytest.raises(InputError, match=f"A sample of {rows} rows is too small; take at least 10"):
        load(write_csv(tmp_path / "x.csv", reviews()), rows=rows)
