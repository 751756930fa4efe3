"""Small files of reviews, in every kind that can be loaded."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attentest.corpora import Corpus
from attentest.corpora.remarks import remarks

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
    found: list[str] = corpus.table["text"].to_pylist()
    return found


def labels(corpus: Corpus) -> list[str]:
    return [corpus.classes[i] for i in corpus.labels]


def parquet_of(file: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), file)
    return file


def notes_of_source(corpus: Corpus) -> tuple[str, ...]:
    """Notes but those about repeated texts, which small made-up corpora are full of."""
    repeated = remarks(corpus.table)
    return tuple(note for note in corpus.notes if note not in repeated)
