"""Cells of runs and of findings, and scores of runs with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from attentest.files import read_as, write_json
from attentest.measures.f1 import F1Parts, as_f1, f1_parts
from attentest.measures.intervals import Estimate, mean, share, share_difference
from attentest.training.run import Run
from attentest.trials import trial_class
from attentest.trials.cells import Cell, cell
from attentest.trials.stored import StoredFinding

CELLS = "cells.json"
GAIN = " gain over "  # "f1 gain over base": a measure whose two sides were set against each other text by text


def write_cells(folder: Path, cells: Iterable[Cell]) -> None:
    write_json(folder / CELLS, [asdict(c) for c in cells])


def read_cells(folder: Path) -> list[Cell]:
    return [row.cell() for row in read_as(folder / CELLS, list[_StoredCell])]


@dataclass(frozen=True)
class _StoredCell:
    """JSON has null where a figure is not defined."""

    variant: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    model: str = ""
    jsd: float | None = None
    deviation: float | None = None
    n: int = 0

    def cell(self) -> Cell:
        value, low, high = (math.nan if x is None else x for x in (self.value, self.low, self.high))
        return Cell(self.variant, self.measure, value, low, high, self.model, self.jsd, self.deviation, self.n)


def cells_of_run(run: Run, variant: str) -> Iterator[Cell]:
    """Accuracy and F1 on the test split."""
    for measure, estimate in scores(run).items():
        yield cell(variant, measure, estimate, 1, _model(run))
        yield cell(variant, f"{measure} %", estimate, 100, _model(run))


def _model(run: Run) -> str:
    return run.record.model.name


def accuracy_gain(base: Run, other: Run) -> Estimate:
    """The other's accuracy less the base's, with its interval over the texts that both were tested on."""
    return share_difference(hits(other), hits(base))


def hits(run: Run) -> np.ndarray:
    """1 for each test text that is decided rightly, else 0."""
    table = run.predictions
    found: np.ndarray = np.array(table["label"].to_pylist()) == np.array(table["predicted"].to_pylist())
    return found.astype(float)


def f1_gain(run: Run, other: Run, variant: str, other_variant: str) -> Cell:
    return cell(variant, f"f1{GAIN}{other_variant}", f1_difference(run, other), model=_model(run))


def f1_difference(run: Run, other: Run) -> Estimate:
    """The run's F1 less the other's, with its interval over the texts that both were tested on."""
    return f1_over_texts(parts_of_f1(run) - parts_of_f1(other), (-1, 1))


def f1_over_texts(parts: F1Parts, bounds: tuple[float, float] = (0, 1)) -> Estimate:
    return as_f1(mean(parts.values, parts.bounds), parts, bounds)


@lru_cache(maxsize=16)
def scores(run: Run) -> dict[str, Estimate]:
    """Accuracy and F1 with intervals over test texts."""
    labels, probabilities = _tested(run)
    return {"accuracy": share(labels == probabilities.argmax(1)), "f1": f1_over_texts(parts_of_f1(run))}


@lru_cache(maxsize=16)
def parts_of_f1(run: Run) -> F1Parts:
    """What each test text adds to F1."""
    labels, probabilities = _tested(run)
    return f1_parts(labels, probabilities.argmax(1), len(run.classes))


def _tested(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of the test texts."""
    table = run.predictions
    labels = np.array([run.classes.index(name) for name in table["label"].to_pylist()])
    return labels, np.array(table["probability"].to_pylist())


def cells_of_finding(finding: StoredFinding, projection: str, classes: Sequence[str]) -> list[Cell]:
    """What a trial's finding says in the words of the papers' tables; nothing where its summary is empty."""
    found = trial_class(finding.record.trial).cells(finding.summary, projection, classes) if finding.summary else ()
    return list(found)
