"""What every experiment is: trainings next to a base run, and a conclusion from all of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.errors import InputError
from attentest.measures.divergences import jsd
from attentest.measures.intervals import Estimate
from attentest.settings import check_values
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion, column, words
from attentest.trials.cells import Cell
from attentest.trials.stored import StoredFinding

BASE = "base"


@dataclass(frozen=True)
class Training:
    """A model to train: the base's settings with these changed; others are labels of trainings it stands on."""

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    start: str | None = None
    taken: tuple[str, ...] = ()  # parts of `start`, of a model that has such parts; none: all
    base: str | None = None
    optional: bool = False  # left out where no such model can be made of the base's
    planted: bool = False  # on the corpus with planted words: what decides those texts is known


@dataclass(frozen=True)
class TrialOf:
    """A trial to run on one of the runs, for the conclusion."""

    label: str  # of the training, or base; of one with planted words, only texts that have them are examined
    trial: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    texts: int | None = None  # to examine, where these are fewer than the study's
    only_marked: bool = False  # only texts that have a rationale


@dataclass(frozen=True)
class Result:
    table: pa.Table
    conclusion: Conclusion
    cells: Sequence[Cell]


class Experiment(ABC):
    """Subclasses are dataclasses: their fields are the experiment's settings."""

    kind: ClassVar[str] = "experiment"
    name: ClassVar[str]
    number: ClassVar[str]  # as in docs/trials
    question: ClassVar[str]
    source: ClassVar[str]
    how_to_read: ClassVar[str]  # what a high and a low figure mean, and what they do not

    keys: ClassVar[Mapping[str, str]] = {}  # entries of its summary that others rely on

    def __post_init__(self) -> None:
        check_values(self)

    @abstractmethod
    def trainings(self) -> list[Training]:
        """Each after those it stands on."""

    def trials(self) -> list[TrialOf]:
        return []

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        """Its figures by title, from the table and the summary of a finding alone, as those of a trial."""
        return {}

    @abstractmethod
    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        """Runs by label, the base among them; findings by "label trial", as stored."""


@dataclass(frozen=True)
class Difference:
    """Two runs on the same test texts: how far their predictions and their weights are apart, text by text."""

    tvd: np.ndarray
    jsd: np.ndarray
    classes: int


def change_of_predictions(base: Run, other: Run) -> np.ndarray:
    """TVD of two runs' probabilities for the same test texts."""
    mine, theirs = base.predictions, other.predictions
    if _texts(mine) != _texts(theirs):
        raise InputError(f"{base.path} and {other.path} were tested on different texts; they cannot be compared.")
    change: np.ndarray = np.abs(_matrix(mine, "probability") - _matrix(theirs, "probability")).sum(1) / 2
    return change


def difference(base: Run, other: Run) -> Difference:
    change = change_of_predictions(base, other)
    first, second = base.shares, other.shares
    if [len(w) for w in first] != [len(w) for w in second]:
        raise InputError(
            f"{base.path} and {other.path} split the texts into different tokens; they cannot be compared."
        )
    return Difference(change, _jsd(first, second), len(base.classes))


def _texts(predictions: pa.Table) -> dict[str, list[Any]]:
    """Ids alone would not do: in two files they may be the same numbers."""
    names = [name for name in ("id", "text", "second") if name in predictions.column_names]
    return {name: predictions[name].to_pylist() for name in names}


def _jsd(first: list[list[float]], second: list[list[float]]) -> np.ndarray:
    found: np.ndarray = jsd(*(torch.from_numpy(padded(rows)[0]) for rows in (first, second))).numpy()
    return found


def padded(rows: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists as a matrix, and where it has values."""
    lengths = np.array(list(map(len, rows)))
    mask = np.arange(lengths.max()) < lengths[:, None]
    found = np.zeros(mask.shape)
    found[mask] = np.concatenate(rows)
    return found, mask


def _matrix(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist())


def rows_of(table: pa.Table, named: Sequence[str], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """These columns of a table in its own order, row by row; None where a number is not defined."""
    read = {name: words(table, name).tolist() for name in named}
    for name in numbers:
        read[name] = [None if math.isnan(value) else value for value in column(table, name).tolist()]
    names = [name for name in table.column_names if name in read]
    return [dict(zip(names, row, strict=True)) for row in zip(*(read[name] for name in names), strict=True)]


def tidy_head(base: Run) -> dict[str, Any]:
    """The columns that every table of texts begins with."""
    table = base.predictions
    largest = [max(weights) for weights in base.shares]
    return {
        "id": table["id"],
        "label": table["label"],
        "predicted": table["predicted"],
        "max_attention": pa.array(largest),
    }
