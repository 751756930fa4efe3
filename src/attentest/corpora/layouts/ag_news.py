"""AG News, as unpacked: train.csv and test.csv without a header; class 1 to 4, title, description."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.corpora.layouts.reading import need, read_text, shorten
from attentest.errors import InputError, unknown_name

TOPICS = ("World", "Sports", "Business", "Science/Technology")
CHOICES = {"all": TOPICS, "world-business": ("World", "Business")}


def load(path: Path, classes: str = "all") -> Corpus:
    """News by topic: `all` four, title and description; or `world-business` as in Jain & Wallace, description only."""
    if classes not in CHOICES:
        raise unknown_name("choice of AG News classes", classes, CHOICES)
    need(path, "AG News", ["train.csv", "test.csv"])
    kept = CHOICES[classes]
    columns: dict[str, list[Any]] = {"id": [], "split": [], "text": [], "label": []}
    for split in ("train", "test"):
        for number, (topic, title, description) in enumerate(_records(path / f"{split}.csv"), start=1):
            if topic in kept:
                columns["id"].append(f"{split}/{number}")
                columns["split"].append(split)
                columns["text"].append(f"{title}\n{description}" if classes == "all" else description)
                columns["label"].append(kept.index(topic))
    return build_corpus(
        "ag_news" if classes == "all" else f"ag_news_{classes}",
        columns,
        classes=kept,
        recipe={"lower": True, "digits": "qqq", "min_frequency": 5},
    )


def _records(file: Path) -> Iterator[tuple[str, str, str]]:
    """Topic, title and description of each record."""
    reader = csv.reader(io.StringIO(read_text(file, "AG News"), newline=""), strict=True)
    expected = 'expected "class 1 to 4","title","description" and no header'
    try:
        for record in reader:
            if len(record) != 3:
                raise InputError(f"AG News: {file}, line {reader.line_num} has {len(record)} columns; {expected}.")
            number, title, description = record
            if number not in {"1", "2", "3", "4"}:
                raise InputError(f"AG News: {file}, line {reader.line_num} has class '{shorten(number)}'; {expected}.")
            # the files write a line break inside a text as a backslash
            yield TOPICS[int(number) - 1], title.replace("\\", " "), description.replace("\\", " ")
    except csv.Error as error:
        raise InputError(f"AG News: {file}, line {reader.line_num} is not CSV ({error}); {expected}.") from error
