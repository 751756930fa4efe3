"""Hugging Face datasets, from folders made here; the hub itself is never asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attentest.corpora import load
from attentest.errors import InputError

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def _no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the variables are read when the libraries are first imported, which may have been long ago
    from huggingface_hub import constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def made(count: int, labels: list[int] | None = None, **columns: Any) -> Any:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
        | {name: datasets.Value("string") for name in columns}
    )
    given = labels or [i % 2 for i in range(count)]
    rows = {"text": [f"film {i}" for i in range(count)], "label": given} | {k: [v] * count for k, v in columns.items()}
    return datasets.Dataset.from_dict(rows, features=features)


def test_a_saved_dataset_with_splits(tmp_path: Path) -> None:
    datasets.DatasetDict({"train": made(40), "test": made(10)}).save_to_disk(str(tmp_path / "reviews"))
    corpus = load(f"hf:{tmp_path / 'reviews'}")
    assert (corpus.name, corpus.kind, corpus.classes) == ("reviews", "single", ("neg", "pos"))
    assert corpus.counts() == {
        "train": {"neg": 17, "pos": 17},
        "dev": {"neg": 3, "pos": 3},
        "test": {"neg": 5, "pos": 5},
    }
    ids = corpus.table["id"].to_pylist()
    assert (ids[0], ids[40], len(set(ids))) == ("train/0", "test/0", 50)


def test_a_saved_dataset_without_splits(tmp_path: Path) -> None:
    made(40).save_to_disk(str(tmp_path / "reviews"))
    corpus = load(f"hf:{tmp_path / 'reviews'}", positive="neg", rows=20)
    assert corpus.classes == ("pos", "neg")
    assert len(corpus) == 20


def test_validation_is_dev_and_unsupervised_is_left_out(tmp_path: Path) -> None:
    parts = {"train": made(30), "validation": made(10), "test": made(10), "unsupervised": made(10, [-1] * 10)}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "reviews"))
    corpus = load(f"hf:{tmp_path / 'reviews'}")
    assert {split: sum(n.values()) for split, n in corpus.counts().items()} == {"train": 30, "dev": 10, "test": 10}


def test_minus_one_is_no_class(tmp_path: Path) -> None:
    hidden = made(10, [-1] * 10)
    datasets.DatasetDict({"train": made(40), "test": hidden}).save_to_disk(str(tmp_path / "reviews"))
    corpus = load(f"hf:{tmp_path / 'reviews'}")
    assert corpus.classes == ("neg", "pos")
    assert corpus.notes[0] == "Dropped 10 of 50 rows without a label."
    assert len(corpus) == 40


def test_pairs_and_named_columns(tmp_path: Path) -> None:
    made(20, question="why?").rename_columns({"text": "body", "label": "stars"}).save_to_disk(str(tmp_path / "x"))
    corpus = load(f"hf:{tmp_path / 'x'}", text="body", label="stars", second="question")
    assert corpus.kind == "pair"
    assert corpus.table["second"].to_pylist() == ["why?"] * 20


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_folder_of_files(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    for split, count in (("train", 40), ("test", 12)):
        rows = [{"text": f"film {i}", "label": i % 2} for i in range(count)]
        file = folder / f"{split}.{kind}"
        if kind == "csv":
            file.write_text("text,label\n" + "".join(f"{r['text']},{r['label']}\n" for r in rows))
        elif kind == "jsonl":
            file.write_text("".join(json.dumps(r) + "\n" for r in rows))
        else:
            pq.write_table(pa.Table.from_pylist(rows), file)
    corpus = load(f"hf:{folder}")
    assert (corpus.name, corpus.classes) == ("reviews", ("0", "1"))
    assert corpus.counts()["test"] == {"0": 6, "1": 6}
    assert sum(corpus.counts()["dev"].values()) == 6


def test_a_missing_column(tmp_path: Path) -> None:
    made(20).save_to_disk(str(tmp_path / "x"))
    with pytest.raises(InputError, match=r"no column 'body'; its columns are text, label\. .*`text`"):
        load(f"hf:{tmp_path / 'x'}", text="body")


def test_an_unknown_name_offline() -> None:
    with pytest.raises(InputError, match=r"The dataset 'nobody/nothing' could not be loaded: .*nobody/nothing"):
        load("hf:nobody/nothing")


def test_no_name() -> None:
    with pytest.raises(InputError, match="hf: needs the name of a dataset or its folder"):
        load("hf:")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could not be loaded: "):
        load(f"hf:{tmp_path}")


def test_only_unsupervised_rows(tmp_path: Path) -> None:
    datasets.DatasetDict({"unsupervised": made(20)}).save_to_disk(str(tmp_path / "x"))
    with pytest.raises(InputError, match="has no splits"):
        load(f"hf:{tmp_path / 'x'}")


def test_an_option_that_datasets_do_not_have(tmp_path: Path) -> None:
    made(20).save_to_disk(str(tmp_path / "x"))
    with pytest.raises(InputError, match="no corpus option 'difficulty'"):
        load(f"hf:{tmp_path / 'x'}", difficulty=1)


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"Hugging Face datasets are not installed: pip install 'attentest\[hf\]'"):
        load("hf:imdb")
