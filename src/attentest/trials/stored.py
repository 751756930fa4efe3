"""A finding as it lies in its folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import pyarrow as pa

from attentest.errors import InputError
from attentest.files import hash_of, inside, read_as, read_foreign_table
from attentest.measures.intervals import Estimate

FILE, TABLE, CSV = "finding.json", "table.parquet", "table.csv"
Made = TypeVar("Made")


@dataclass(frozen=True)
class StoredEstimate:
    """JSON has null where a figure is not defined."""

    value: float | None
    low: float | None
    high: float | None
    n: Annotated[int, msgspec.Meta(ge=0, le=2**53)]

    def estimate(self) -> Estimate:
        value, low, high = (math.nan if x is None else x for x in (self.value, self.low, self.high))
        return Estimate(value, low, high, self.n)


@dataclass(frozen=True)
class ChartFiles:
    """A figure: what it is called and says, and the names of its files."""

    title: str
    description: str
    spec: str
    svg: str | None  # a chart that could not be drawn has no pictures …
    png: str | None
    csv: str | None  # … and leaves its data as a table


@dataclass(frozen=True)
class FindingRecord:
    """What finding.json says."""

    kind: str  # trial, experiment or comparison
    trial: str  # its name
    question: str
    answer: str
    summary: dict[str, StoredEstimate]
    notes: list[str]
    signature: dict[str, Any]
    table: str = ""  # the hash of its table; findings of earlier versions have none


@dataclass(frozen=True)
class StoredFinding:
    folder: Path
    record: FindingRecord

    @cached_property
    def summary(self) -> Mapping[str, Estimate]:
        return _Figures({name: stored.estimate() for name, stored in self.record.summary.items()})

    @cached_property
    def table(self) -> pa.Table:
        file = inside(self.folder, TABLE)
        table = read_foreign_table(file)
        if self.record.table not in ("", hash_of(file)):  # killed while it was saved over another, say
            raise InputError(f"{file} does not belong to the {FILE} next to it; run the trial again.")
        return table

    def made(self, make: Callable[[pa.Table, Mapping[str, Estimate]], Made]) -> Made:
        """Something made of its table and its summary; what is wrong with them is told with the table's name."""
        table = self.table
        try:
            return make(table, self.summary)
        except InputError as error:
            file = self.folder / TABLE
            raise type(error)(f"{file} is damaged, or of another version of attentest: {error}") from error


class _Figures(dict[str, Estimate]):
    """A summary that tells which of its figures was looked for in vain."""

    def __missing__(self, name: str) -> Estimate:
        raise InputError(f"the summary in {FILE} has no figure '{name}'.")


def read_finding(folder: Path) -> StoredFinding:
    return StoredFinding(folder, read_as(inside(folder, FILE), FindingRecord))


def finding_in(folder: Path) -> StoredFinding:
    """The one finding that a step left in its folder."""
    return read_finding(next(folder.glob(f"*/{FILE}")).parent)
