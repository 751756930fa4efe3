"""A corpus in a folder of its own, as it was loaded: what a plan's trainings read, on whichever machine."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import read_parquet, write_table


def save_corpus(corpus: Corpus, folder: Path) -> None:
    write_table(folder / "table.parquet", corpus.table)
    about = {
        "name": corpus.name,
        "kind": corpus.kind,
        "classes": corpus.classes,
        "notes": corpus.notes,
        "recipe": dict(corpus.recipe),
        "origin": dict(corpus.origin),
    }
    text = json.dumps(about, ensure_ascii=False, default=str)
    (folder / "corpus.json").write_text(text, encoding="utf-8", errors="backslashreplace")  # a path may be no text


def open_corpus(folder: Path) -> Corpus:
    try:
        about = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
        table = read_parquet(folder / "table.parquet")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{folder} is not a stored corpus ({error}).") from error
    return Corpus(
        about["name"],
        about["kind"],
        table,
        tuple(about["classes"]),
        tuple(about["notes"]),
        about["recipe"],
        about["origin"],
    )
