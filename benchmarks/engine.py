"""The engine: a grid of equal trainings with two local workers against one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from attentest.engine.local import LocalPool
from attentest.engine.store import Store
from attentest.studies.run_study import run_study
from attentest.studies.schema import Study
from benchmarks.row import Row, seconds

GRID = Study(
    "grid",
    corpora=("planted",),
    columns={"rows": 3000},
    seeds=tuple(range(8)),
    training={"epochs": 4, "hidden": 64, "dimension": 100},
)
ROUNDS = 3


def two_workers() -> list[Row]:
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for workers, found in times.items():
            found.append(seconds(lambda: _run(workers)))  # noqa: B023
    one, two = (median(found) for found in times.values())
    said = f"8 equal trainings of {GRID.columns['rows']:,} texts, 4 epochs; two workers against one"
    return [Row("two-workers", said, two, one, one / two, 1.7)]


def _run(workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        outcome = run_study(
            GRID, place / "study", lambda store: LocalPool(store, workers), store=Store(place / "store")
        )
        assert outcome.done == 10, outcome  # the corpus, eight trainings and the summary
