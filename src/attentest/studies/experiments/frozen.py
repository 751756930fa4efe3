"""T5: does an adversary need to move the information, or the attention alone?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from attentest.measures.intervals import bootstrap
from attentest.studies.cells import Cell, accuracy_gain, cell, cells_of_run, scores
from attentest.studies.experiments.adversary import adversary_settings
from attentest.studies.experiments.base import BASE, Experiment, Result, Training, difference
from attentest.training.run import Run
from attentest.trials.base import Conclusion
from attentest.trials.charts import points


@dataclass(frozen=True)
class Frozen(Experiment):
    """Adversaries of one λ with WP's loss: `frozen` has the base's encoder and decoder and learns its attention anew,
    `unfrozen` is a new model.

    The base's own weights would be no start: the divergence from them is least there, so that nothing moves.
    """

    name: ClassVar[str] = "frozen"
    question: ClassVar[str] = "Can attention alone be moved without losing accuracy, or only with the states behind it?"
    source: ClassVar[str] = "Meister et al. 2021 App. C.1, Table 5"

    strength: float = 0.01
    epochs: int = 40
    patience: int = 10

    def trainings(self) -> list[Training]:
        settings = adversary_settings(self.strength, self.epochs, self.patience)
        kept = ["embedding", "encoder", "decoder"]
        frozen = settings | {"freeze": kept, "take": kept}
        return [
            Training("frozen", frozen, start=BASE, base=BASE),
            Training("unfrozen", settings, base=BASE),
        ]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, Any]) -> Result:
        base = scores(runs[BASE])["accuracy"]
        cells: list[Cell] = []
        rows, summary = [], {"accuracy, base": base}
        for label in ("frozen", "unfrozen"):
            apart, found = difference(runs[BASE], runs[label]), scores(runs[label])
            cells += [*cells_of_run(runs[label], label), cell(label, "jsd", bootstrap(apart.jsd))]
            change = accuracy_gain(runs[BASE], runs[label])
            cells.append(cell(label, "delta accuracy", change))
            summary[f"accuracy, {label} − base"] = change
            summary |= {f"accuracy, {label}": found["accuracy"], f"JSD, {label}": bootstrap(apart.jsd)}
            rows.append({"model": label, **found["accuracy"].as_dict(), "jsd": float(apart.jsd.mean())})
        rows.append({"model": BASE, **base.as_dict(), "jsd": 0.0})
        answer = (
            f"Moved by a JSD of {summary['JSD, frozen'].value:.2f} with all else frozen, accuracy is "
            f"{summary['accuracy, frozen']}; by {summary['JSD, unfrozen'].value:.2f} in a new model, "
            f"{summary['accuracy, unfrozen']}; the base has {base}."
        )
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary, points(rows, "model", "accuracy")), cells)
