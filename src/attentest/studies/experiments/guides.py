"""T3: are the weights useful to a model that sees no context?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from attentest.measures.intervals import Estimate
from attentest.settings import setting
from attentest.studies.cells import cells_of_run
from attentest.studies.experiments.adversary import DEV_EPOCHS, adversary_training
from attentest.studies.experiments.base import BASE, Experiment, Result, Training
from attentest.studies.experiments.repeated import (
    REPEATS,
    f1_change,
    f1_change_cell,
    notes_on,
    repeated,
    runs_of,
    scores_over,
)
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion
from attentest.trials.cells import Cell
from attentest.trials.charts import interval, intervals
from attentest.trials.stored import StoredFinding

GUIDES = {"uniform": "uniform", "own": "trained MLP", "base": "base LSTM", "adversary": "adversary"}  # ours -> theirs


@dataclass(frozen=True)
class Guides(Experiment):
    """A token-level model (affine and tanh on each embedding) whose weights are uniform, its own, the base's, or those
    of an adversary trained with `strength`."""

    name: ClassVar[str] = "guides"
    number: ClassVar[str] = "T3"
    keys: ClassVar[Mapping[str, str]] = {"gain": "F1, base LSTM − uniform"}
    question: ClassVar[str] = "Do the base model's weights help a model that sees no context?"
    source: ClassVar[str] = "Wiegreffe & Pinter 2019 §3.4 and §4, Table 3"
    how_to_read: ClassVar[str] = (
        "If a model without context predicts better with the base's weights than with its own or uniform ones, these "
        "weights contain useful information about the tokens. If an adversary's weights help as much, they are an "
        "equally good guide. A good guide is not necessarily the reason for the base's own predictions."
    )

    strength: float = setting(0.001, "Strength λ of the adversary.", least=0)
    epochs: int = setting(80, "Maximum number of epochs of the adversary's training.", least=1, most=1_000_000)
    patience: int = setting(
        10, "Epochs without a lower loss before the adversary's training stops.", least=1, most=1_000_000
    )
    dev_epochs: bool = setting(False, DEV_EPOCHS)
    repeats: int = setting(1, REPEATS, least=1, most=10_000)

    def trainings(self) -> list[Training]:
        mlp = {"encoder": "average"}
        guided = [
            Training("guide uniform", mlp | {"projection": "uniform"}),
            Training("guide own", mlp),
            Training("guide base", mlp | {"projection": "preset"}, preset=BASE),
            Training("guide adversary", mlp | {"projection": "preset"}, preset=f"lambda {self.strength:g}"),
        ]
        adversary = adversary_training(self.strength, self.epochs, self.patience, dev_epochs=self.dev_epochs)
        return [adversary, *(one for training in guided for one in repeated(training, self.repeats))]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        cells: list[Cell] = []
        rows, summary = [], {}
        trained = {guide: runs_of(runs, f"guide {guide}", self.repeats) for guide in GUIDES}
        for guide, theirs in GUIDES.items():
            cells += cells_of_run(trained[guide][0], f"guide: {theirs}")
            for name, estimate in scores_over(trained[guide]).items():
                rows.append({"guide": theirs, "measure": name, **estimate.as_dict()})
                summary[f"{name}, {theirs}"] = estimate
        for guide, other in (("base", "own"), ("own", "uniform"), ("base", "adversary")):
            sides = [f"guide: {GUIDES[name]}" for name in (guide, other)]
            cells.append(f1_change_cell(trained[guide], trained[other], *sides))
        for guide, theirs in GUIDES.items():
            if guide != "base":
                summary[f"F1, {GUIDES['base']} − {theirs}"] = f1_change(trained["base"], trained[guide])
        order = sorted(GUIDES.values(), key=lambda guide: -summary[f"f1, {guide}"].value)
        named = ", ".join(f"{guide} {summary[f'f1, {guide}'].value:.3f}" for guide in order)
        answer = f"F1 of the model without context, by the weights that guide it: {named}."
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary, notes_on(self.repeats)), cells)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = intervals(
            [row for guide in GUIDES.values() for row in interval(guide, summary[f"f1, {guide}"])],
            "F1 on the test texts (0–1)",
            "F1 of a model without context by the weights that guide it, with 95 % intervals, as in Wiegreffe & Pinter "
            "2019, Table 3.",
            "guide",
        )
        return {"F1 by guide": chart}
