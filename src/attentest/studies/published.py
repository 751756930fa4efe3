"""Published figures, and ours beside them, cell by cell."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from attentest.errors import unknown_name
from attentest.trials.cells import Cell

WORDS = ("paper", "table", "corpus", "model", "variant", "measure", "trial", "note")
TOLERANCE = 0.05  # of tables that state no other
SAMPLES = {"yelp_stars_sample": "yelp", "yahoo_answers_sample": "yahoo_answers"}  # as the papers name the whole of it


@dataclass(frozen=True)
class Published:
    paper: str
    table: str
    corpus: str
    model: str
    variant: str
    measure: str
    value: float
    deviation: float | None
    trial: str
    public: bool
    note: str


@cache
def published(paper: str) -> tuple[Published, ...]:
    folder = files("attentest.studies") / "published"
    known = [entry.name.removesuffix(".csv") for entry in folder.iterdir() if entry.name.endswith(".csv")]
    if paper not in known:
        raise unknown_name("paper", paper, known)
    with (folder / f"{paper}.csv").open(encoding="utf-8") as file:
        return tuple(
            Published(
                **{
                    key: row[key]
                    for key in ("paper", "table", "corpus", "model", "variant", "measure", "trial", "note")
                },
                value=float(row["value"]),
                deviation=float(row["deviation"]) if row["deviation"] else None,
                public=row["public"] == "yes",
            )
            for row in csv.DictReader(file)
        )


def fingerprint_of(paper: str) -> str:
    """A hash of a paper's published figures."""
    return hashlib.sha256(repr(published(paper)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PublishedRow:
    """A published figure beside ours, as a study's table has it."""

    paper: str
    table: str
    corpus: str
    model: str
    variant: str
    measure: str
    published: float
    deviation: float | None
    ours: float | None
    low: float | None
    high: float | None
    difference: float | None
    tolerance: float
    within: bool | None
    public: bool


@dataclass(frozen=True)
class CellComparison:
    """A published cell with ours; `within` is None where there is none of ours."""

    theirs: Published
    ours: Cell | None
    tolerance: float

    @property
    def difference(self) -> float:
        return math.nan if self.ours is None else self.ours.value - self.theirs.value

    @property
    def within(self) -> bool | None:
        return None if self.ours is None or math.isnan(self.difference) else abs(self.difference) <= self.tolerance

    def as_row(self) -> dict[str, Any]:
        theirs, ours = self.theirs, self.ours
        row = PublishedRow(
            paper=theirs.paper,
            table=theirs.table,
            corpus=theirs.corpus,
            model=theirs.model,
            variant=theirs.variant,
            measure=theirs.measure,
            published=theirs.value,
            deviation=theirs.deviation,
            ours=None if ours is None else ours.value,
            low=None if ours is None else ours.low,
            high=None if ours is None else ours.high,
            difference=None if ours is None else self.difference,
            tolerance=self.tolerance,
            within=self.within,
            public=theirs.public,
        )
        return asdict(row)


def compare(
    paper: str, ours: Mapping[tuple[str, str], Iterable[Cell]], tolerances: Mapping[str, float]
) -> list[CellComparison]:
    """Every published cell of a paper; `ours` are cells by (corpus, model)."""
    found = {
        (_corpus(corpus), model, _variant(c.variant), c.measure): c
        for (corpus, model), cells in ours.items()
        for c in cells
    }
    return [
        CellComparison(
            theirs,
            found.get((_corpus(theirs.corpus), theirs.model, _variant(theirs.variant), theirs.measure)),
            _tolerance(theirs, tolerances),
        )
        for theirs in published(paper)
        if theirs.trial != "data"
    ]


def of_corpus(paper: str, corpus: str) -> dict[tuple[str, str, str], Published]:
    """A paper's cells for one corpus, by model, variant and measure."""
    return {
        (c.model, _variant(c.variant), c.measure): c for c in published(paper) if _corpus(c.corpus) == _corpus(corpus)
    }


def _tolerance(theirs: Published, tolerances: Mapping[str, float]) -> float:
    given = tolerances.get(theirs.table, TOLERANCE)
    return given * 100 if "%" in theirs.measure else given


def _corpus(name: str) -> str:
    """Papers that prepared the same texts otherwise are set beside Jain & Wallace's preparation, too; and the languages
    of translations are not part of a name."""
    return SAMPLES.get(name, name.removesuffix("_jw").removesuffix("_en_de"))


def _variant(name: str) -> str:
    """λ as a number: 5e-4 and 0.0005 are the same setting."""
    head, equals, number = name.partition("lambda=")
    try:
        return f"{head}{equals}{float(number):g}" if equals else name
    except ValueError:
        return name
