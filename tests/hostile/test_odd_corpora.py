"""Corpora, layouts, benchmarks, vectors and studies that are no regular files, too large or made to explode."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from odd_files import odd_files

import attentest
from attentest import memory
from attentest.corpora import FORMATS
from attentest.errors import InputError
from attentest.studies import read_study
from attentest.text.vectors import check_vectors

LAYOUTS = {  # a file of each layout
    "sst": "train.txt",
    "aclimdb": "train/pos/1.txt",
    "20news": "20news-bydate-train/alt.atheism/1",
    "ag-news": "train.csv",
    "adr": "train.tsv",
    "mimic-diabetes": "NOTEEVENTS.csv",
    "mimic-anemia": "DIAGNOSES_ICD.csv",
    "snli": "snli_1.0_train.jsonl",
    "multinli": "multinli_1.0_train.jsonl",
    "babi": "qa1_single-supporting-fact_train.txt",
    "cnn": "questions/training/1.question",
    "parallel": "train.en",
    "news-commentary": "news-commentary-v11.de-en.tsv",
}


@pytest.mark.parametrize("layout", FORMATS)
def test_a_pipe_in_a_layout_is_not_waited_for(layout: str, tmp_path: Path) -> None:
    file = tmp_path / LAYOUTS[layout]
    file.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(file)
    for other in ("dev.txt", "test.txt", "test.csv", "classes.txt", "dev.tsv", "test.tsv"):
        (tmp_path / other).touch()
    for other in ("train/neg", "test/pos", "test/neg", "20news-bydate-test", "questions/validation", "questions/test"):
        (tmp_path / other).mkdir(parents=True, exist_ok=True)
    for part in ("dev", "test", "dev_matched", "dev_mismatched"):
        (tmp_path / f"snli_1.0_{part}.jsonl").touch()
        (tmp_path / f"multinli_1.0_{part}.jsonl").touch()
    (tmp_path / "qa1_single-supporting-fact_test.txt").touch()
    with pytest.raises(InputError):
        attentest.load(tmp_path, format=layout)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet"])
def test_a_file_that_has_no_room_in_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    (tmp_path / name).write_bytes(b" " * 2000)
    with pytest.raises(InputError, match=f"{name} would take about 2 KB of memory, and 1 KB are free here"):
        attentest.load(tmp_path / name)


def test_a_small_parquet_file_that_stands_for_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "x.parquet"
    rows = 200_000
    pq.write_table(
        pa.table({"text": pa.repeat("word " * 20, rows), "label": pa.array([n % 2 for n in range(rows)])}),
        file,
        compression="zstd",
        use_dictionary=False,
    )
    size = file.stat().st_size
    monkeypatch.setattr(memory, "free_memory", lambda: 10 * size)
    assert 10 * size < 100 * rows
    with pytest.raises(InputError, match=r"x.parquet would take about 2\d(\.\d)? MB of memory"):
        attentest.load(file)


@pytest.mark.parametrize("place", ["fifo", "file", "loop", "long", "dangling", "bytes"])
def test_a_data_folder_that_is_none(place: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        attentest.load("sst", data_dir=odd_files(tmp_path)[place])


def test_vectors_in_one_endless_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentest.text.vectors.LONGEST_LINE", 1000)
    (tmp_path / "vectors.txt").write_text("word" + " 0.5" * 1000, encoding="utf-8")
    with pytest.raises(InputError, match="line 1: expected a word and"):
        check_vectors(str(tmp_path / "vectors.txt"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deep", "nested too deep"),
        ("laughs", "aliases stand for more than 100,000 values"),
        ("recursive", "line 1: an alias names what it is part of"),
        ("tagged", "could not determine a constructor"),
        ("long", "too long for a study"),
        ("infinite", "line 2: lr is inf; it must be a finite number"),
        ("huge", "line 2: hidden is 2000000000; it must be at most 100,000"),
        ("seeds", "line 2: seed is -1; it must be at least 0"),
        ("empty", "is not a study"),
    ],
)
def test_studies_that_cannot_be(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read_study(Path(odd_files(tmp_path)[f"{name}.yaml"]))
    assert not Path("tagged").exists()
