"""T1, trained: is attention needed when a model can learn to do without it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from attentest.errors import InputError, unknown_name
from attentest.measures.intervals import Estimate
from attentest.settings import setting
from attentest.studies.cells import cells_of_run
from attentest.studies.experiments.base import BASE, Experiment, Result, Training
from attentest.studies.experiments.repeated import (
    FEWEST,
    REPEATS,
    accuracy_change,
    exactly,
    f1_change,
    notes_on,
    other_seeds,
    repeated,
    runs_of,
    scores_over,
)
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion
from attentest.trials.cells import cell
from attentest.trials.charts import bars, interval, intervals
from attentest.trials.stored import StoredFinding

WEIGHTS = ("uniform", "random")
ACCURACY = "accuracy by weights in training"


@dataclass(frozen=True)
class Untrained(Experiment):
    """Weights that are uniform, or drawn at random once for each text, in training and at inference."""

    name: ClassVar[str] = "uniform"
    number: ClassVar[str] = "T1"
    keys: ClassVar[Mapping[str, str]] = {
        "accuracy change": "accuracy, uniform − base",
        "change": "F1, uniform − base",
        "trainings": "trainings",
    }
    question: ClassVar[str] = "Does a model trained without learned attention predict as well?"
    source: ClassVar[str] = "Wiegreffe & Pinter 2019 §3.2, Table 2; Vashishth et al. 2019 §4.1, Table 1"
    how_to_read: ClassVar[str] = (
        "Scores far below the base's mean that the task is not learned as well without attention, so the weights are "
        "worth examining. Equal scores mean that this model does not need attention on this corpus, and then no "
        "finding about its weights says much. The difference says nothing about which tokens the base's weights are on."
    )

    weights: tuple[str, ...] = setting(WEIGHTS, "Fixed weights to train with.")
    repeats: int = setting(1, REPEATS, least=1, most=10_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.weights:
            if name not in WEIGHTS:
                raise unknown_name("kind of weights", name, WEIGHTS)
        if not self.weights:
            raise InputError(f"weights is empty; name at least one of {', '.join(WEIGHTS)}.")

    def trainings(self) -> list[Training]:
        fixed = [Training(name, {"projection": name}, optional=True) for name in self.weights]
        return [*other_seeds(self.repeats), *(one for training in fixed for one in repeated(training, self.repeats))]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        there = [name for name in self.weights if name in runs]  # a hierarchical model has no random weights
        trained = {label: runs_of(runs, label, self.repeats) for label in (BASE, *there)}
        found = {label: scores_over(same) for label, same in trained.items()}
        cells = list(cells_of_run(runs[BASE], BASE))
        summary = {}
        for label in there:
            variant = f"{label}, trained and inferred"
            cells += cells_of_run(runs[label], variant)
            change = accuracy_change(trained[label], trained[BASE])
            cells.append(cell(variant, "delta accuracy %", change, 100))
            summary[f"accuracy, {label} − base"] = change
            summary[f"F1, {label} − base"] = f1_change(trained[label], trained[BASE])
        for label, measures in found.items():
            summary |= {f"{name}, {label}": estimate for name, estimate in measures.items()}
        rows = [
            {"weights": label, "measure": name, **estimate.as_dict()}
            for label, measures in found.items()
            for name, estimate in measures.items()
        ]
        answer = (
            f"Trained with {there[0]} weights, the model reaches an F1 of {found[there[0]]['f1']}; with learned "
            f"attention, {found[BASE]['f1']}."
        )
        if self.repeats >= FEWEST:
            summary[self.keys["trainings"]] = exactly(self.repeats)
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary, notes_on(self.repeats)), cells)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        return {
            ACCURACY: bars(
                score_rows(summary, "accuracy"),
                "accuracy (0–1)",
                "Accuracy with learned attention and with weights fixed in training and at inference, with "
                "95 % intervals, as in Vashishth et al. 2019, Fig. 1.",
                "weights in training",
            ),
            "F1 by weights in training": intervals(
                score_rows(summary, "f1"),
                "F1 on the test texts (0–1)",
                "F1 with learned attention and with weights fixed in training and at inference, with 95 % intervals, "
                "as in Wiegreffe & Pinter 2019, Table 2.",
                "weights in training",
            ),
        }


def score_rows(summary: Mapping[str, Estimate], measure: str) -> list[dict[str, Any]]:
    """Of the figure of a score: with learned attention, then with each of the weights that were trained."""
    named = {"learned": f"{measure}, {BASE}"} | {name: f"{measure}, {name}" for name in WEIGHTS}
    return [row for group, key in named.items() if key in summary for row in interval(group, summary[key])]
