"""What is kept of a reproduction: a figure of ours for each seed with its signature, and which units were run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from attentest.studies.reproduction.csv_tables import read_records, write_records
from attentest.trials.cells import Cell

UNITS = "units.csv"


@dataclass(frozen=True)
class OurRow:
    """A cell of one training; the rest of its signature is the unit's."""

    corpus: str
    unit: str  # the model that was trained, as its study calls it
    seed: int
    model: str  # that the cell is of
    variant: str
    measure: str
    value: float
    low: float | None
    high: float | None
    deviation: float | None  # over texts
    n: int  # texts
    budget: str
    version: str  # of attentest
    corpus_hash: str
    settings: str  # hash of the study's settings for this unit
    key: str  # hash of all its steps: settings, corpus, seed and code
    stale: str = ""  # what has changed since

    def cell(self) -> Cell:
        low, high = (math.nan if end is None else end for end in (self.low, self.high))
        return Cell(self.variant, self.measure, self.value, low, high, self.model, deviation=self.deviation, n=self.n)


@dataclass(frozen=True)
class UnitRow:
    """A unit that was run: one model on one corpus with one seed."""

    paper: str
    corpus: str
    unit: str
    seed: int
    budget: str
    settings: str
    key: str
    cells: int  # rows that it left
    seconds: float  # of its steps on one core; what it shares with an earlier unit of the paper's corpus counts there

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.paper, self.corpus, self.unit, self.seed


def read_rows(folder: Path, paper: str) -> list[OurRow]:
    return read_records(folder / f"{paper}.csv", OurRow)


def write_rows(folder: Path, paper: str, rows: Iterable[OurRow]) -> None:
    write_records(folder / f"{paper}.csv", OurRow, rows)


def read_units(folder: Path) -> dict[tuple[str, str, str, int], UnitRow]:
    return {unit.place: unit for unit in read_records(folder / UNITS, UnitRow)}


def write_units(folder: Path, units: Mapping[tuple[str, str, str, int], UnitRow]) -> None:
    write_records(folder / UNITS, UnitRow, units.values())
