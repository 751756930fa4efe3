"""What every trial is: a question that is put to each text as it is read, and an answer over all of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from attentest.measures.intervals import Estimate, bootstrap
from attentest.trials.cells import Cell
from attentest.trials.reading import Reading
from attentest.trials.subject import Subject

Columns = Mapping[str, Any]  # column -> one entry a text
Chart = Mapping[str, Any]  # a Vega-Lite specification
CLASSES = "classes"  # in a table's metadata: the names of all classes in their order, as JSON
BIN_EDGES = (0.25, 0.5, 0.75)
BIN_NAMES = ("[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]")  # of the largest weight, as Jain & Wallace have them
_PLACE = {name: place for place, name in enumerate(BIN_NAMES)}


@dataclass(frozen=True)
class Conclusion:
    answer: str
    summary: Mapping[str, Estimate]
    charts: Mapping[str, Chart] = field(default_factory=dict)  # by title
    notes: Sequence[str] = field(default=())


class Examiner(Protocol):
    """What is asked of each batch of texts and, at the end, of the table of them all."""

    def examine(self, reading: Reading) -> Columns: ...

    def conclude(self, table: pa.Table) -> Conclusion: ...


class Trial(ABC):
    """Subclasses are dataclasses: their fields are the trial's settings.

    Most examine texts themselves; a trial that must know all texts beforehand gives an examiner for the subject.
    """

    kind: ClassVar[str] = "trial"
    name: ClassVar[str]
    number: ClassVar[str]  # as in docs/trials
    question: ClassVar[str]
    source: ClassVar[str]  # paper and section
    how_to_read: ClassVar[str]  # what a high and a low figure mean, and what they do not
    needs: ClassVar[str] = "attention weights"
    headline: ClassVar[str] = ""  # the figure of its summary that stands for a finding; the first unless named
    moves_weight: ClassVar[bool] = False  # it says nothing about texts with a single item
    cost: ClassVar[float] = 1  # of a token, relative to a cheap trial
    keys: ClassVar[Mapping[str, str]] = {}  # entries of its summary that others rely on

    def fits(self, subject: Subject) -> bool:
        """Whether there is what it needs: `all` leaves out those that do not fit."""
        return True

    @abstractmethod
    def examiner(self, subject: Subject) -> Examiner: ...

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        """Its figures in the words of the papers' tables; not called for an empty summary."""
        yield from ()


class SimpleTrial(Trial):
    """A trial that is its own examiner."""

    def examiner(self, subject: Subject) -> Examiner:
        return self

    @abstractmethod
    def examine(self, reading: Reading) -> Columns:
        """The trial on one batch: columns with an entry a text."""

    @abstractmethod
    def conclude(self, table: pa.Table) -> Conclusion:
        """What the table of all texts says."""


def common_columns(reading: Reading, classes: Sequence[str], items: str = "tokens") -> Columns:
    """What every trial's table begins with."""
    largest = reading.attention.max(1).values.cpu().numpy()
    names = np.array(classes, dtype=object)
    return {
        "predicted": names[reading.predicted.cpu().numpy()],
        items: reading.lengths.cpu().numpy(),
        "max_attention": largest,
        "bin": np.array(BIN_NAMES, dtype=object)[np.digitize(largest, BIN_EDGES)],
    }


def with_classes(table: pa.Table, classes: Sequence[str]) -> pa.Table:
    """The table with the order of the classes, which a figure of two of them needs."""
    return table.replace_schema_metadata({CLASSES: json.dumps(list(classes))})


NOTHING_TO_MOVE = "No text has more than one item, so there is no weight to move."


def with_several_items(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """The texts in which weight can be moved from one item to another, and a sentence about the others."""
    (items,) = [name for name in ("tokens", "sentences") if name in table.column_names]
    several = column(table, items) > 1
    alone = int((~several).sum())
    notes = [f"{alone:,} texts have a single item, which no weight can be taken from; they are left out."]
    return table.filter(pa.array(several)), notes if alone else []


def column(table: pa.Table, name: str) -> np.ndarray:
    values: np.ndarray = table[name].to_numpy(zero_copy_only=False)
    return values


def by_group(table: pa.Table, value: str, *keys: str, statistic: Any = np.mean) -> dict[str, Estimate]:
    """The statistic of a column over each combination of the key columns that occurs, bins from low to high."""
    values = column(table, value)
    groups = list(zip(*(table[key].to_pylist() for key in keys), strict=True))
    return {
        " ".join(map(str, group)): bootstrap(values[[g == group for g in groups]], statistic)
        for group in sorted(set(groups), key=lambda group: [(_PLACE.get(name, 0), name) for name in group])
    }
