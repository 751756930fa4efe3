"""What a study leaves for its page: one record, written by the summary and checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attentest.files import read_as, write_json
from attentest.studies.directions import Replication
from attentest.training.run import Run
from attentest.trials.stored import ChartFiles

SUMMARY = "summary.json"
RUN, TRIAL, EXPERIMENT, INSTANCES = "run", "trial", "experiment", "instances"


@dataclass(frozen=True)
class ResultRef:
    """A result that a study plans: which model's, what it is, and the step that gives it."""

    role: str  # of the step among the inputs of the summary
    kind: str  # run, trial, experiment or instances
    name: str
    block: str  # the model, as it is called in this study
    corpus: str
    model: str
    projection: str
    seed: int
    first: bool  # whether its seed is the study's first


@dataclass(frozen=True)
class FindingRef:
    """A finding in a study's folder."""

    corpus: str
    block: str
    kind: str  # trial or experiment
    name: str
    folder: str
    question: str
    answer: str


@dataclass(frozen=True)
class Failure:
    block: str
    kind: str
    name: str


@dataclass(frozen=True)
class CorpusRecord:
    """What run.json says about the corpus."""

    name: str
    fingerprint: str
    classes: list[str]
    rows: dict[str, dict[str, int]]  # of each class in each split


@dataclass(frozen=True)
class ModelRecord:
    """How a model was made."""

    corpus: CorpusRecord
    model: dict[str, Any]
    training: dict[str, Any]
    text: dict[str, Any]


@dataclass(frozen=True)
class ModelResult:
    """One model on one corpus."""

    corpus: str
    classes: list[str]
    texts: int
    notes: list[str]
    metrics: dict[str, float | None]
    test_rows: dict[str, int]
    settings: ModelRecord | None  # None: a custom model
    instances: str | None  # path of the table of heat maps


@dataclass(frozen=True)
class Summary:
    study: str
    title: str
    kind: str  # study, audit or comparison
    budget: str
    rows: int | None
    notes: list[str]
    blocks: dict[str, ModelResult]
    findings: list[FindingRef]
    missing: list[str]  # names of steps that failed
    failed: list[Failure]
    figures: list[ChartFiles]
    directions: list[Replication]
    cells: dict[str, int]  # how many published ones there are, and how many of ours
    not_covered: dict[str, str]  # published table or figure -> why

    def write(self, folder: Path) -> None:
        write_json(folder / SUMMARY, asdict(self))


def read_summary(folder: Path) -> Summary:
    return read_as(folder / SUMMARY, Summary)


def result_of_run(run: Run, instances: str | None = None) -> ModelResult:
    corpus: Mapping[str, Any] = run.settings["corpus"]
    rows = corpus.get("rows", {})
    record = CorpusRecord(corpus["name"], corpus["fingerprint"], list(corpus["classes"]), rows)
    return ModelResult(
        corpus=record.name,
        classes=run.classes,
        texts=run.predictions.num_rows,
        notes=run.notes,
        metrics=dict(run.metrics),
        test_rows=rows.get("test", {}),
        settings=ModelRecord(record, run.settings["model"], run.settings["training"], run.settings["text"]),
        instances=instances,
    )
