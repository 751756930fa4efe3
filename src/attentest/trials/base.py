"""What every trial is: a question that is put to each text as it is read, and an answer over all of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import msgspec
import numpy as np
import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.intervals import Estimate, mean
from attentest.trials.cells import Cell
from attentest.trials.reading import Reading
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

Kind = TypeVar("Kind")
Columns = Mapping[str, Any]  # column -> one entry a text
Chart = Mapping[str, Any]  # a Vega-Lite specification
CLASSES, FOR_CHARTS = "classes", "for_charts"  # in a table's metadata, as JSON
BIN_EDGES = (0.25, 0.5, 0.75)
BIN_NAMES = ("[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]")  # of the largest weight, as Jain & Wallace have them
LARGEST = 1e12  # no column of ours comes near: a larger number is damage
_PLACE = {name: place for place, name in enumerate(BIN_NAMES)}


@dataclass(frozen=True)
class Conclusion:
    answer: str
    summary: Mapping[str, Estimate]
    notes: Sequence[str] = field(default=())
    for_charts: Mapping[str, Sequence[float]] = field(default_factory=dict)  # numbers of no single text that they show


class Examiner(Protocol):
    """What is asked of each batch of texts and, at the end, of the table of them all."""

    def examine(self, reading: Reading) -> Columns: ...

    def conclude(self, table: pa.Table) -> Conclusion: ...


@runtime_checkable
class ExaminesAgain(Protocol):
    """An examiner whose question to a text needs other texts: it is put when all of them have been read."""

    def examine_again(self, rows: np.ndarray) -> Columns: ...


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
    needs_rationale: ClassVar[bool] = False  # audits leave it out where the corpus has none
    needs_layers: ClassVar[bool] = False  # audits leave it out where the model has no self-attention of several layers
    headline: ClassVar[str] = ""  # the figure of its summary that stands for a finding; the first unless named
    moves_weight: ClassVar[bool] = False  # it says nothing about texts with a single item
    cost: ClassVar[float] = 1  # of a token, relative to a cheap trial
    keys: ClassVar[Mapping[str, str]] = {}  # entries of its summary that others rely on

    def fits(self, subject: Subject) -> bool:
        """Whether there is what it needs: `all` leaves out those that do not fit."""
        return True

    def works(self, load: Load) -> Works:
        """What it runs on these texts, once they are read; a part that other trials ask for, too, by the same name."""
        return {}

    @abstractmethod
    def examiner(self, subject: Subject) -> Examiner: ...

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        """Its figures by title, from the table and the summary of a finding alone: so they can be made again from a
        folder, of whose pictures and specifications nobody knows who wrote them. Not called for an empty table."""
        return {}

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


def works_of(trials: Sequence[Trial], subject: Subject) -> Works:
    """Everything that is run when these trials are held together."""
    load = Load(subject)
    found = {"read": Work(forward=load.reading)}
    for trial in trials:
        found |= trial.works(load)
    return found


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
    return _with(table, CLASSES, list(classes))


def with_numbers(table: pa.Table, numbers: Mapping[str, Sequence[float]]) -> pa.Table:
    """The table with the numbers for charts that belong to no single text."""
    kept = {name: [float(value) for value in values] for name, values in numbers.items()}
    return _with(table, FOR_CHARTS, kept) if kept else table


def _with(table: pa.Table, key: str, content: Any) -> pa.Table:
    return table.replace_schema_metadata({**(table.schema.metadata or {}), key.encode(): json.dumps(content)})


def classes_of(table: pa.Table) -> list[str] | None:
    """All classes in their order, if the table has them."""
    return _kept(table, CLASSES, list[str])


class NoChartNumbersError(InputError):
    """A table has none at all: earlier versions wrote none."""


def numbers_for_charts(table: pa.Table, *names: str) -> dict[str, list[float]]:
    """Those of each name."""
    kept = _kept(table, FOR_CHARTS, dict[str, list[float]])
    if kept is None:
        raise NoChartNumbersError("its metadata lacks the numbers that charts show.")
    for name in names:
        if not kept.get(name):
            raise InputError(f"its metadata lacks the numbers of `{name}`.")
        if any(abs(value) > LARGEST for value in kept[name]):
            raise InputError(f"its metadata has numbers of `{name}` that no measure gives.")
    return {name: kept[name] for name in names}


def _kept(table: pa.Table, key: str, kind: type[Kind]) -> Kind | None:
    stored = (table.schema.metadata or {}).get(key.encode())
    if stored is None:
        return None
    try:
        return msgspec.convert(json.loads(stored), kind)
    except (ValueError, RecursionError) as error:
        raise InputError(f"what its metadata says of `{key}` is damaged.") from error


NOTHING_TO_MOVE = "No text has more than one item, so there is no weight to move."


def with_several_items(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """The texts in which weight can be moved from one item to another, and a sentence about the others."""
    items = "sentences" if "sentences" in table.column_names else "tokens"
    several = column(table, items) > 1
    alone = int((~several).sum())
    notes = [f"{alone:,} texts have a single item, which no weight can be taken from; they are left out."]
    return table.filter(pa.array(several)), notes if alone else []


def charts_of(trial: type[Trial], table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
    """The figures of a finding, whether it was just made or is read again."""
    shown = with_several_items(table)[0] if trial.moves_weight else table
    return trial.charts(shown, summary) if len(shown) else {}


def column(table: pa.Table, name: str) -> np.ndarray:
    """Numbers; NaN where one is not defined."""
    found = _column(table, name)
    if not (pa.types.is_integer(found.type) or pa.types.is_floating(found.type) or pa.types.is_null(found.type)):
        raise InputError(f"the column '{name}' holds no numbers.")
    values: np.ndarray = found.to_numpy(zero_copy_only=False)
    if values.dtype == object:  # a column without any number
        values = values.astype(float)
    if values.size and np.abs(values).max(initial=0, where=~np.isnan(values)) > LARGEST:
        raise InputError(f"the column '{name}' holds numbers that no measure gives.")
    return values


def truths(table: pa.Table, name: str) -> np.ndarray:
    found = _column(table, name)
    if not pa.types.is_boolean(found.type) or found.null_count:
        raise InputError(f"the column '{name}' does not say yes or no for each text.")
    values: np.ndarray = found.to_numpy(zero_copy_only=False)
    return values


def words(table: pa.Table, name: str) -> np.ndarray:
    found = _column(table, name)
    if not (pa.types.is_string(found.type) or pa.types.is_large_string(found.type)) or found.null_count:
        raise InputError(f"the column '{name}' does not have a name for each text.")
    values: np.ndarray = found.to_numpy(zero_copy_only=False)
    return values


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if table.column_names.count(name) != 1:
        raise InputError(f"the column '{name}' is missing, or there twice.")
    return table[name]


def by_group(
    table: pa.Table, value: str, *keys: str, statistic: Callable[[np.ndarray], Estimate] = mean
) -> dict[str, Estimate]:
    """The statistic of a column over each combination of the key columns that occurs, bins from low to high."""
    values = column(table, value)
    groups = list(zip(*(table[key].to_pylist() for key in keys), strict=True))
    return {
        " ".join(map(str, group)): statistic(values[[g == group for g in groups]])
        for group in sorted(set(groups), key=lambda group: [(_PLACE.get(name, 0), name) for name in group])
    }
