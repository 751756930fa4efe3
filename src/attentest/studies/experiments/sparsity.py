"""T12, the sweep: what does sparser attention do to the spread of influence and to its agreement with attention?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.errors import InputError
from attentest.measures.intervals import Estimate
from attentest.measures.kendall import kendall_tau
from attentest.settings import setting
from attentest.studies.experiments.base import Experiment, Result, Training, TrialOf, rows_of
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion
from attentest.trials.cells import Cell
from attentest.trials.charts import lines
from attentest.trials.stored import StoredFinding


@dataclass(frozen=True)
class Sparsity(Experiment):
    """Models with sparsegen of several λ (larger is sparser): entropy of gradients, and τ of attention with them."""

    name: ClassVar[str] = "sparsity"
    number: ClassVar[str] = "T12"
    question: ClassVar[str] = "Does sparser attention make influence more concentrated, or attention more faithful?"
    source: ClassVar[str] = "Meister et al. 2021 §4, Table 2, Fig. 2 and 3"
    how_to_read: ClassVar[str] = (
        "A τ near −1 between λ and the entropy of gradients means that sparser attention comes with more concentrated "
        "influence; near 1, with more dispersed influence. A τ below 0 between λ and the agreement means that sparser "
        "weights agree less with importance. There is one model for each λ and no interval, so a trend over few λ is "
        "weak evidence."
    )

    lambdas: tuple[float, ...] = setting(
        (-5.0, -2.0, -1.0, 0.0, 0.25, 0.5, 0.75, 0.9), "Sparsities λ of sparsegen; at least two, all below 1.", most=1
    )
    influence_texts: int = setting(
        0, "Texts for the influence on hidden states in the trial dispersion; 0 skips it.", least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.lambdas) < 2 or max(self.lambdas) >= 1:
            raise InputError(f"lambdas is {list(self.lambdas)}; give at least two, all below 1.")

    def trainings(self) -> list[Training]:
        return [Training(f"sparsegen {value:g}", {"projection": f"sparsegen:{value:g}"}) for value in self.lambdas]

    def trials(self) -> list[TrialOf]:
        dispersion = {"influence_texts": self.influence_texts}
        return [
            on
            for training in self.trainings()
            for on in (
                TrialOf(training.label, "dispersion", dispersion),
                TrialOf(training.label, "correlation", {"measures": ["gradient", "leave-one-out"]}),
            )
        ]

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        return _charts(table)

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        series = {
            "entropy of attention": ("dispersion", "entropy of attention"),
            "entropy of gradient": ("dispersion", "entropy of gradient"),
            "τ attention – gradient": ("correlation", "τ attention – gradient"),
            "τ attention – leave-one-out": ("correlation", "τ attention – leave-one-out"),
        }
        rows = [
            {
                "lambda": value,
                "series": name,
                **asdict(findings[f"sparsegen {value:g} {trial}"].record.summary[key]),
            }
            for value in self.lambdas
            for name, (trial, key) in series.items()
        ]
        summary, cells = {}, []
        for name in series:
            values = np.array([row["value"] for row in rows if row["series"] == name], float)
            tau = _tau(np.array(self.lambdas), values)
            summary[f"τ of λ with {name}"] = Estimate(tau, float("nan"), float("nan"), len(values))
            measure = f"correlation of lambda with {name}"
            cells.append(Cell("sparsegen, lambda varied", measure, tau, float("nan"), float("nan")))
        answer = (
            "Rank correlation (τ) of the sparsity λ: "
            f"{summary['τ of λ with entropy of gradient'].value:.2f} with the entropy of gradients, "
            f"{summary['τ of λ with τ attention – gradient'].value:.2f} with the agreement of attention and gradients."
        )
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary), cells)


def _charts(table: pa.Table) -> dict[str, Chart]:
    rows = rows_of(table, named=["series"], numbers=["lambda", "value", "low", "high"])
    said = {
        "τ ": (
            "Kendall τ against λ",
            "Kendall τ-b (−1 to 1)",
            "The rank correlation of attention with gradients and with leave-one-out, against the λ of sparsegen, with "
            "95 % intervals, as in Meister et al. 2021, Fig. 3.",
        ),
        "entropy of ": (
            "entropy against λ",
            "normalised entropy (0: one token, 1: all equal)",
            "The normalised entropy of attention and of gradients, against the λ of sparsegen, with 95 % intervals, as "
            "summarised in Meister et al. 2021, Table 2.",
        ),
    }
    charts = {}
    for beginning, (title, y_title, description) in said.items():
        drawn = [
            {
                "series": row["series"].removeprefix(beginning),
                "x": row["lambda"],
                **{key: row[key] for key in ("value", "low", "high")},
            }
            for row in rows
            if row["series"].startswith(beginning)
        ]
        charts[title] = lines(drawn, "sparsegen λ (larger is sparser)", y_title, description, symmetric_log=True)
    return charts


def _tau(x: np.ndarray, y: np.ndarray) -> float:
    pair = torch.from_numpy(np.stack((x, y)))
    found, _ = kendall_tau(pair[:1], pair[1:], torch.ones(1, len(x), dtype=torch.bool))
    return float(found[0])
