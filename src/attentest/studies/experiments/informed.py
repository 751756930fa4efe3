"""T15: do weights still sit on informative states under an adversary, and with Gumbel-softmax?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa

from attentest.measures.intervals import Estimate, independent_difference
from attentest.settings import setting
from attentest.studies.experiments.adversary import DEV_EPOCHS, adversary_training, cells_of_adversary
from attentest.studies.experiments.base import BASE, Experiment, Result, Training, TrialOf, difference
from attentest.studies.experiments.repeated import (
    REPEATS,
    distance_over,
    estimate_over,
    labels_of,
    notes_on,
    other_seeds,
    repeated,
)
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion, numbers_for_charts, words
from attentest.trials.cells import Cell, cell
from attentest.trials.information import TAU_CHART, Information, clusterings, tau_boxes
from attentest.trials.stored import StoredFinding

KEY = Information.keys["agreement"]


class OfInformation(Experiment):
    """One that compares the weighted τ of models with the base's."""

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        taus = numbers_for_charts(table, *words(table, "model"))
        return {TAU_CHART: tau_boxes(taus)}


@dataclass(frozen=True)
class InformedAdversary(OfInformation):
    """T13 on an adversary (Wiegreffe & Pinter 2019), against T13 on the base: Δτ = τ of the base − the adversary's."""

    name: ClassVar[str] = "informed-adversary"
    number: ClassVar[str] = "T15"
    keys: ClassVar[Mapping[str, str]] = {"apart": "JSD, adversary", "lost": "Δ weighted τ, adversary"}
    question: ClassVar[str] = "Is an adversary's attention still on the informative states?"
    source: ClassVar[str] = "Wen et al. 2022 §5.2, Tables 3 and 4"
    how_to_read: ClassVar[str] = (
        "If the adversary's weighted τ is close to the base's, attention is on informative states even after it was "
        "pushed elsewhere: the information moved with it. A large drop means that the two can be separated. First "
        "check that the adversary is far from the base: a weak adversary keeps its τ because it hardly moved."
    )

    strength: float = setting(5.25e-4, "Strength λ of the adversary; the paper's for SST.", least=0)
    epochs: int = setting(80, "Maximum number of epochs of the adversary's training.", least=1, most=1_000_000)
    patience: int = setting(10, "Epochs without a lower loss before training stops.", least=1, most=1_000_000)
    runs: int = setting(10, "Clusterings of each model's hidden states.", least=1, most=10_000)
    dev_epochs: bool = setting(False, DEV_EPOCHS)
    repeats: int = setting(1, REPEATS, least=1, most=10_000)

    def trainings(self) -> list[Training]:
        adversary = adversary_training(self.strength, self.epochs, self.patience, dev_epochs=self.dev_epochs)
        return repeated(adversary, self.repeats)

    def trials(self) -> list[TrialOf]:
        return on_information([BASE, *self._labels], self.runs)

    @property
    def _labels(self) -> list[str]:
        return [training.label for training in self.trainings()]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        # all imitate the one model whose weights are asked about
        result = compare_information({"adversary": self._labels}, [BASE] * self.repeats, findings)
        variant, trained = f"adversary, lambda={self.strength:g}", [runs[label] for label in self._labels]
        apart = [difference(runs[BASE], run) for run in trained]
        own = cells_of_adversary(variant, trained[0], apart[0])
        summary = {**result.conclusion.summary, "JSD, adversary": distance_over(apart)["JSD"]}
        return replace(result, conclusion=replace(result.conclusion, summary=summary), cells=[*result.cells, *own])


@dataclass(frozen=True)
class Gumbel(OfInformation):
    """T13 on a model with Gumbel-softmax, against T13 on the base."""

    name: ClassVar[str] = "gumbel"
    number: ClassVar[str] = "T15"
    question: ClassVar[str] = "Does Gumbel-softmax bring attention closer to the informative states?"
    source: ClassVar[str] = "Wen et al. 2022 §5.3, Table 5"
    how_to_read: ClassVar[str] = (
        "A weighted τ above the base's means that sharper weights follow the information more closely; below, less "
        "closely. If the base is already near 1, there is no room for a gain. With fewer than three trainings of "
        "each kind, the effect of the temperature cannot be separated from that of the seed."
    )

    temperature: float = setting(0.8, "Temperature; below 1 the weights are sharper than those of a softmax.", above=0)
    runs: int = setting(10, "Clusterings of each model's hidden states.", least=1, most=10_000)
    repeats: int = setting(1, REPEATS, least=1, most=10_000)

    def trainings(self) -> list[Training]:
        gumbel = Training("gumbel", {"projection": f"gumbel-softmax:{self.temperature:g}"})
        return [*other_seeds(self.repeats), *repeated(gumbel, self.repeats)]

    def trials(self) -> list[TrialOf]:
        return on_information([BASE, *(training.label for training in self.trainings())], self.runs)

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        return compare_information(
            {"gumbel": labels_of("gumbel", self.repeats)}, labels_of(BASE, self.repeats), findings
        )


def on_information(labels: list[str], runs: int) -> list[TrialOf]:
    return [TrialOf(label, "information", {"runs": runs}) for label in labels]


def compare_information(
    variants: Mapping[str, Sequence[str]], bases: Sequence[str], findings: Mapping[str, StoredFinding]
) -> Result:
    """Variants, and the labels of their trainings: how far their weighted τ lies below that of the base, training by
    training."""
    labels = {BASE: bases, **variants}
    found = {name: [_estimate(findings, label) for label in trained] for name, trained in labels.items()}
    estimates = {name: estimate_over(each) for name, each in found.items()}
    cells, rows = [], []
    summary = {f"{KEY}, {variant}": estimate for variant, estimate in estimates.items()}
    for variant, estimate in estimates.items():
        rows.append({"model": variant, **estimate.as_dict()})
        cells.append(cell(variant, "weighted tau", estimate))
        if variant != BASE:
            # clusterings of different models have nothing to do with one another
            lost = [independent_difference(*pair) for pair in zip(found[BASE], found[variant], strict=True)]
            summary[f"Δ {KEY}, {variant}"] = estimate_over(lost)
            cells.append(cell(variant, "delta weighted tau", summary[f"Δ {KEY}, {variant}"]))
    cells += _between_seeds([one.value for one in found[BASE]] if len(set(bases)) > 1 else [])
    named = ", ".join(f"{variant} {estimate}" for variant, estimate in estimates.items())
    answer = f"Weighted τ between information and weight: {named}."
    taus = {
        name: [tau for label in dict.fromkeys(trained) for tau in clusterings(findings[f"{label} information"].summary)]
        for name, trained in labels.items()
    }
    conclusion = Conclusion(answer, summary, notes_on(len(bases)), for_charts=taus)
    return Result(pa.Table.from_pylist(rows), conclusion, cells)


def _between_seeds(taus: Sequence[float]) -> list[Cell]:
    """How far trainings of the base that differ in their seed are apart, two by two (Wen et al. 2022 §5)."""
    apart = [abs(one - other) for one, other in combinations(taus, 2)]
    figures = {"mean": float(np.mean(apart)), "largest": max(apart)} if apart else {}
    return [
        Cell(f"{len(taus)} seeds", f"{name} absolute difference of weighted tau", value, math.nan, math.nan)
        for name, value in figures.items()
    ]


def _estimate(findings: Mapping[str, StoredFinding], label: str) -> Estimate:
    return findings[f"{label} information"].summary[KEY]
