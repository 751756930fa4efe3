"""What run.json, result.json and vocabulary.json say, checked when they are read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from attentest.corpora.corpus import Answers, Kind
from attentest.errors import InputError
from attentest.files import checked, read_as, read_json
from attentest.models.settings import ModelSettings
from attentest.text.settings import TextSettings
from attentest.training.settings import GROUPS, TrainingSettings
from attentest.version import __version__

FORMAT = 1
RUN, RESULT, VOCABULARY = "run.json", "result.json", "vocabulary.json"


@dataclass(frozen=True)
class CorpusRecord:
    """The corpus that a run was trained on."""

    name: str
    fingerprint: str
    classes: list[str]
    kind: Kind
    answers: Answers | None
    rows: dict[str, dict[str, int]]  # of each class in each split


@dataclass(frozen=True)
class RunRecord:
    """What made a run."""

    format: int
    corpus: CorpusRecord
    text: TextSettings
    model: ModelSettings
    training: TrainingSettings
    notes: list[str]
    versions: dict[str, str]  # of what it was trained with
    pretrained: str | None = None  # the hash of the encoder that it started from
    pretrained_from: str | None = None  # where that was


@dataclass(frozen=True)
class ResultRecord:
    """What a finished run reached; null where a metric is not defined."""

    best_epoch: int
    test: dict[str, float | None]
    files: dict[str, str] = field(default_factory=dict)  # the others in its folder, with their hashes


def read_run(folder: Path) -> tuple[RunRecord, dict[str, Any]]:
    """The record of a run, and its settings as they were written: the part of a signature."""
    content = read_json(folder / RUN)
    record = checked(content, RunRecord, folder / RUN)
    if record.versions.get("attentest") == __version__:  # another version may have had fewer settings
        for group, kind in GROUPS.items():
            for setting in fields(kind):
                if setting.name not in content[group]:
                    raise InputError(f"{folder / RUN} is damaged: the field `{setting.name}` is missing at `{group}`.")
    return record, content


def read_result(folder: Path) -> ResultRecord:
    return read_as(folder / RESULT, ResultRecord)


def read_vocabulary(folder: Path) -> list[str]:
    return read_as(folder / VOCABULARY, list[str])
