"""A study with people as it lies in its folder: what they are asked, about which texts, and whose answers count."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa

from attentest.errors import InputError
from attentest.files import (
    checked,
    hash_of,
    inside,
    is_folder,
    make_folder,
    read_as,
    read_foreign_table,
    write_json,
    write_table,
)

STUDY, ITEMS, ANSWERS = "study.json", "items.parquet", "answers.sqlite"
FORMAT = 1
ORIGINAL, PERMUTED, KNOWN = "original", "permuted", "known"  # conditions, which no annotator ever sees
MARKED = 3  # words of a text that are marked, as in Vashishth et al. 2019 §4.4

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


@dataclass(frozen=True)
class Asked:
    """What an annotator is asked besides whether the marked words are relevant."""

    highlight: bool = False  # mark words freely; they are kept as rationales
    confidence: bool = False  # from 1 (guessing) to 5 (certain)
    comment: bool = False


@dataclass(frozen=True)
class Exclusion:
    """Whose answers do not count: fixed when the study is made, before there is an answer."""

    least_known: Share = 0.75  # share of the known-answer items that must be right
    least_milliseconds: Count = 500  # median time for an item


@dataclass(frozen=True)
class StudyRecord:
    """What study.json says."""

    format: int
    seed: Count
    samples: Count  # texts in each of the two conditions
    known: Count  # items whose answer is known
    asked: Asked
    exclusion: Exclusion
    classes: list[str]
    signature: dict[str, Any]  # of the run
    detect: float | None  # the difference between the conditions that it was sized for
    items: str  # the hash of the table of items
    id: str  # secret and random: the ids of the items are made from it


@dataclass(frozen=True)
class Item:
    """A text with three marked words, and the model's prediction. Places of words are in characters; the last
    `in_second` words stand in the second text of a pair."""

    id: str  # from the study's secret, so that it tells nothing
    condition: Literal["original", "permuted", "known"]
    expected: bool | None  # the right answer of a known-answer item
    source: str  # id of the text in the corpus
    text: str
    second: str | None
    start: list[int]
    end: list[int]
    in_second: Count
    weights: list[float]  # of the words, under the condition
    marked: list[int]  # numbers of the words
    predicted: str
    label: str | None

    @property
    def is_right(self) -> bool | None:
        """Whether the model's prediction is correct, where the label is known."""
        return None if self.label is None else self.label == self.predicted


SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "condition": pa.string(),
        "expected": pa.bool_(),
        "source": pa.string(),
        "text": pa.string(),
        "second": pa.string(),
        "start": pa.list_(pa.int32()),
        "end": pa.list_(pa.int32()),
        "in_second": pa.int32(),
        "weights": pa.list_(pa.float64()),
        "marked": pa.list_(pa.int32()),
        "predicted": pa.string(),
        "label": pa.string(),
    }
)


@dataclass(frozen=True)
class PeopleStudy:
    folder: Path
    record: StudyRecord

    @cached_property
    def items(self) -> Sequence[Item]:
        path = inside(self.folder, ITEMS)
        table = read_foreign_table(path)
        if hash_of(path) != self.record.items:
            raise InputError(f"{path} does not belong to the {STUDY} next to it; restore it, or make the study again.")
        return checked(table.to_pylist(), list[Item], path)

    @cached_property
    def by_id(self) -> dict[str, Item]:
        return {item.id: item for item in self.items}

    @property
    def fingerprint(self) -> str:
        """Another one after any change of study.json, so that no rule is changed once there are answers."""
        return hashlib.sha256(json.dumps(asdict(self.record), sort_keys=True).encode()).hexdigest()

    @property
    def answers_url(self) -> str:
        """Where answers are kept unless another database is named."""
        return f"sqlite:///{inside(self.folder, ANSWERS)}"


def open_study(folder: Path) -> PeopleStudy:
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder of a study with people.")
    if not (folder / STUDY).is_file():
        raise InputError(
            f"{folder} is not a study with people: it has no {STUDY}. Make one with attentest annotate create."
        )
    record = read_as(inside(folder, STUDY), StudyRecord)
    if record.format != FORMAT:
        raise InputError(f"{folder / STUDY} is of another version of attentest: `format` is not {FORMAT}.")
    return PeopleStudy(folder, record)


def write_study(folder: Path, record: StudyRecord, items: Sequence[Item]) -> PeopleStudy:
    """study.json is written last: without it there is no study. The hash of the items in `record` is filled in."""
    make_folder(folder)
    write_table(folder / ITEMS, pa.Table.from_pylist([asdict(item) for item in items], SCHEMA))
    found = asdict(record) | {"items": hash_of(folder / ITEMS)}
    write_json(folder / STUDY, found)
    return open_study(folder)
