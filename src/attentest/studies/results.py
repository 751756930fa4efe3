"""What a study leaves for its page: one record, written by the summary and checked when it is read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from attentest.files import read_as, write_json
from attentest.models.settings import ModelSettings
from attentest.studies.directions import Replication
from attentest.text.settings import TextSettings
from attentest.training.record import CorpusRecord
from attentest.training.run import Run
from attentest.training.settings import TrainingSettings
from attentest.translation.folder import CorpusRecord as ParallelRecord
from attentest.translation.run import TranslationRun
from attentest.translation.settings import TranslationModel, TranslationText, TranslationTraining
from attentest.trials.sinks import SinkSearch
from attentest.trials.stored import ChartFiles

SUMMARY = "summary.json"
RUN, TRIAL, EXPERIMENT, INSTANCES, BASELINE = "run", "trial", "experiment", "instances", "baseline"
SINKS = "sinks"
# what a model is called where special tokens are tokens like any other, and where sinks are none
WITH_SPECIAL, WITHOUT_SINKS = ", special tokens counted", ", without sinks"


@dataclass(frozen=True)
class ResultRef:
    """A result that a study plans: which model's, what it is, and the step that gives it."""

    role: str  # of the step among the inputs of the summary
    kind: str  # run, trial, experiment, instances, baseline or sinks
    name: str
    block: str  # the model, as it is called in this study
    corpus: str
    model: str
    projection: str
    seed: int
    compared: bool  # whether it is set beside published figures: texts are read as usual


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
class ModelRecord:
    """How a model was made."""

    corpus: CorpusRecord
    model: ModelSettings
    training: TrainingSettings
    text: TextSettings


@dataclass(frozen=True)
class TranslationRecord:
    """How a translation model was made, and how its scores were computed."""

    corpus: ParallelRecord
    model: TranslationModel
    training: TranslationTraining
    text: TranslationText
    signatures: dict[str, str]


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
    baseline: dict[str, float | None] | None = None  # metrics of a classifier without attention, where there is one
    sinks: SinkSearch | None = None  # of a pretrained encoder, as its tokens are usually counted
    translation: TranslationRecord | None = None  # of a model that translates, which has no classes


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
    deviations: dict[str, str] = field(default_factory=dict)  # setting that is not the paper's -> what was run, and why

    def write(self, folder: Path) -> None:
        write_json(folder / SUMMARY, asdict(self))


def counting_of(block: str) -> str:
    """What of a model's name says that its tokens are counted in another way than usual."""
    return next((end for end in (WITH_SPECIAL, WITHOUT_SINKS) if block.endswith(end)), "")


def read_summary(folder: Path) -> Summary:
    return read_as(folder / SUMMARY, Summary)


def result_of_run(run: Run, instances: str | None = None) -> ModelResult:
    made = run.record
    return ModelResult(
        corpus=made.corpus.name,
        classes=run.classes,
        texts=run.predictions.num_rows,
        notes=run.notes,
        metrics=dict(run.metrics),
        test_rows=made.corpus.rows.get("test", {}),
        settings=ModelRecord(made.corpus, made.model, made.training, made.text),
        instances=instances,
    )


def result_of_translation(run: TranslationRun, instances: str | None = None) -> ModelResult:
    made = run.record
    return ModelResult(
        corpus=made.corpus.name,
        classes=[],
        texts=run.translations.num_rows,
        notes=run.notes,
        metrics=dict(run.metrics),
        test_rows={},
        settings=None,
        instances=instances,
        translation=TranslationRecord(made.corpus, made.model, made.training, made.text, run.signatures),
    )
