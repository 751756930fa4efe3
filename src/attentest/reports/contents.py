"""What a page shows: one structure for an audit, a study, a run, a trial and a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from attentest.measures.intervals import Estimate
from attentest.studies.directions import Replication
from attentest.studies.results import ModelResult
from attentest.studies.verdict import Verdict
from attentest.trials.of_translation.sentences import Sentence


@dataclass(frozen=True)
class Figure:
    """A chart: what the page draws, and the files of it beside the page (paths from the page)."""

    title: str
    description: str
    spec: Mapping[str, Any]  # Vega-Lite
    svg: str  # the picture itself, as text; empty if it could not be drawn
    files: Mapping[str, str] = field(default_factory=dict)  # svg, png, or csv -> path


@dataclass(frozen=True)
class Section:
    """A trial's or an experiment's finding."""

    anchor: str
    kind: str  # trial or experiment
    name: str
    question: str
    answer: str
    source: str
    how_to_read: str
    summary: Mapping[str, Estimate]
    figures: Sequence[Figure]
    notes: Sequence[str]
    signature: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)  # CSV, Parquet -> path of the whole table


Role = Literal["original", "permuted", "adversarial", "trained adversary", "model"]


@dataclass(frozen=True)
class Variant:
    """Weights over the shown tokens of a text, and what the model says under them."""

    name: str
    role: Role  # a model is one of two that are compared
    weights: Sequence[float]
    predicted: str
    probability: float
    tvd: float  # of the prediction, to the first variant's
    jsd: float  # of the weights, to the first variant's


@dataclass(frozen=True)
class Instance:
    """A text with its heat maps; long texts are shown by the stretches that have the most weight."""

    id: str
    label: str | None
    tokens: Sequence[str]
    gaps: Sequence[str]  # what stands before each token
    cuts: Mapping[int, int]  # place of a shown token, or the end -> tokens before it that are not shown
    marks: Sequence[bool] | None  # the known reason
    variants: Sequence[Variant]
    second: str | None = None


@dataclass(frozen=True)
class Score:
    """How good the model is, or something simpler to compare it with."""

    name: str
    figure: Estimate
    about: str  # which measure, on which texts


@dataclass(frozen=True)
class FirstScreen:
    """What a reader should know first."""

    scores: Sequence[Score]
    answer: str  # may the attention be shown as an explanation: yes, no, unclear or not tested
    says: str  # the same in words, with the sense in which it may
    because: Sequence[str]
    advice: Sequence[str]


@dataclass(frozen=True)
class Block:
    """One model on one corpus."""

    anchor: str
    name: str
    facts: Sequence[tuple[str, str]]
    verdicts: Sequence[Verdict]
    sections: Sequence[Section]
    instances: Sequence[Instance] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # CSV, Parquet -> path of the instances' table
    about: ModelResult | None = None  # None: what is no single model
    first: FirstScreen | None = None  # where it has verdicts
    sentences: Sequence[Sentence] = ()  # of a model that translates, in place of instances


@dataclass(frozen=True)
class Difference:
    """A figure of two models, and how much larger the second is."""

    trial: str
    figure: str
    first: Estimate
    second: Estimate
    more: Estimate


@dataclass(frozen=True)
class Report:
    title: str
    kind: str  # audit, study, run, trial or comparison
    lead: str
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    blocks: Sequence[Block]
    figures: Sequence[Figure] = ()  # over several blocks
    directions: Sequence[Replication] = ()  # what the paper found, and ours
    published: Sequence[Mapping[str, Any]] = ()  # the paper's cells beside ours
    differences: Sequence[Difference] = ()  # of two models' figures
    not_covered: Mapping[str, str] = field(default_factory=dict)
    deviations: Mapping[str, str] = field(default_factory=dict)  # from the paper's settings
    files: Mapping[str, str] = field(default_factory=dict)  # title -> path of a table of the whole study
