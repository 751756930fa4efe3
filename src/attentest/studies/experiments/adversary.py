"""T4: can a whole model make the same predictions with other attention?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.divergences import LARGEST_JSD
from attentest.measures.intervals import Estimate, mean
from attentest.settings import setting
from attentest.studies.cells import cells_of_run, scores
from attentest.studies.experiments.base import (
    BASE,
    Difference,
    Experiment,
    Result,
    Training,
    TrialOf,
    difference,
    rows_of,
)
from attentest.studies.experiments.repeated import (
    REPEATS,
    distance_over,
    f1_change,
    f1_change_cell,
    notes_on,
    repeated,
    runs_of,
    scores_over,
)
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion, classes_of, with_classes
from attentest.trials.cells import Cell, cell, with_jsd
from attentest.trials.charts import PALETTE, distinct, tradeoff
from attentest.trials.stored import StoredFinding

ALL = "all texts"
# Wiegreffe & Pinter 2019, Table 5, SST and IMDb
LAMBDAS = (
    *(0.0, 1e-5, 5e-5, 1e-4, 2e-4, 4e-4, 5e-4, 5.2e-4, 5.25e-4, 5.35e-4, 5.5e-4, 6e-4, 7e-4, 7.5e-4, 8e-4),
    *(0.001, 0.005, 0.01, 0.1, 0.5, 1.0),
)

FAR = 0.4  # Wiegreffe & Pinter 2019, Table 4: a JSD that makes a model an adversary
# at the base's own weights, from which nothing is to be moved away, the divergence has no gradient
ALL_BUT_ATTENTION = ("embedding", "encoder", "decoder")
FAR_AWAY = "adversary, far"  # the one that dev names
ADVERSARY = "lambda "  # what the label of an adversary's training begins with
DEV_EPOCHS = "Keep the epoch of an adversary with the lowest loss on dev; otherwise on the training texts."
Name = TypeVar("Name")


@dataclass(frozen=True)
class TrainedAdversary(Experiment):
    """Models trained on Σ TVD(ŷ_a, ŷ_b) − λ KL(α_a‖α_b), one a λ: JSD and TVD to the base, with seeds, uniform weights
    and instance adversaries on the same axes.

    The epoch with the lowest training loss is kept, or with `dev_epochs` that with the lowest loss on dev, whatever the
    base was selected by: an adversary imitates the base and never sees a label. Which λ counts is chosen on dev.
    """

    name: ClassVar[str] = "adversary"
    number: ClassVar[str] = "T4"
    keys: ClassVar[Mapping[str, str]] = {
        "far": "JSD, far",
        "far moved": "TVD, far",
        "change": "F1, far − base",
        "reached": "JSD, furthest",  # there whether or not one is far
        "moved": "TVD, furthest",
        "strongest": "λ, strongest",
    }
    question: ClassVar[str] = "Can a model be trained to make the same predictions with different attention?"
    source: ClassVar[str] = "Wiegreffe & Pinter 2019 §4, Tables 4 and 5, Fig. 5 and 6"
    how_to_read: ClassVar[str] = (
        "If JSD grows along the curve while TVD stays near 0, attention can be changed freely, so it is not exclusive. "
        "If TVD rises as soon as JSD does, the predictions depend on these weights. Compare with the seeds: an "
        "adversary no further away than they are shows nothing. An adversary does not make the base's weights wrong."
    )

    lambdas: tuple[float, ...] = setting(
        LAMBDAS, "Strengths λ of the adversaries, as in the paper's Table 5 for SST and IMDb.", least=0
    )
    epochs: int = setting(80, "Maximum number of epochs of an adversary's training.", least=1, most=1_000_000)
    patience: int = setting(10, "Epochs without a lower loss before training stops.", least=1, most=1_000_000)
    seeds: int = setting(8, "Models with other seeds, to compare with.", least=0, most=10_000)
    far: float = setting(FAR, "Mean JSD on dev above which an adversary counts as far away.")
    from_base: bool = setting(
        False, "Start adversaries from the base, but for its attention: it is a better search. The paper does not."
    )
    dev_epochs: bool = setting(False, DEV_EPOCHS)
    repeats: int = setting(1, REPEATS, least=1, most=10_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lambdas:
            raise InputError("lambdas is empty; give at least one strength λ.")

    def trainings(self) -> list[Training]:
        return [
            *(
                one
                for strength in self.lambdas
                for one in repeated(
                    adversary_training(strength, self.epochs, self.patience, self.from_base, self.dev_epochs),
                    self.repeats,
                )
            ),
            *(Training(f"seed {seed}", {"seed": seed}) for seed in range(1, self.seeds + 1)),
            Training("uniform", {"projection": "uniform"}),
        ]

    def trials(self) -> list[TrialOf]:
        return [TrialOf(BASE, "adversary")]

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        return _charts(table)

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        base = runs[BASE]
        cells: list[Cell] = []
        rows: list[dict[str, Any]] = []
        summary: dict[str, Estimate] = {}
        predicted = np.array(base.predictions["predicted"].to_pylist())
        for strength in self.lambdas:
            trained = self._trained(runs, strength)
            apart, variant = [difference(base, run) for run in trained], f"adversary, lambda={strength:g}"
            cells += cells_of_adversary(variant, trained[0], apart[0])
            for run, far in zip(trained, apart, strict=True):
                rows += _points("trained adversary", strength, far, predicted, scores(run)["f1"].value)
            summary |= {f"{name}, λ = {strength:g}": estimate for name, estimate in distance_over(apart).items()}
            summary[f"F1, λ = {strength:g}"] = scores_over(trained)["f1"]
        for label in (*(f"seed {seed}" for seed in range(1, self.seeds + 1)), "uniform"):
            kind = "uniform weights" if label == "uniform" else "random seed"
            rows += _points(kind, None, difference(base, runs[label]), predicted, scores(runs[label])["f1"].value)
        rows += _instance_adversaries(findings[f"{BASE} adversary"].summary, [str(n) for n in np.unique(predicted)])
        by_strength = {strength: on_dev(self._trained(runs, strength)) for strength in self.lambdas}
        furthest = furthest_on_dev(by_strength)
        summary |= {f"{name}, furthest": summary[f"{name}, λ = {furthest:g}"] for name in ("JSD", "TVD")}
        strongest = max(self.lambdas)
        summary["λ, strongest"] = Estimate(strongest, strongest, strongest, len(predicted))
        best = best_far_on_dev(by_strength, self.far)
        if best is None:
            answer = (
                f"No λ moves attention by a mean JSD above {self.far} on dev; the furthest, λ = {furthest:g}, moves it "
                f"by {summary['JSD, furthest']} on the test texts."
            )
        else:
            trained = self._trained(runs, best)
            bases = [base] * self.repeats  # all imitate the one model whose weights are asked about
            summary["F1, far − base"] = f1_change(trained, bases)
            summary["JSD, far"], summary["TVD, far"] = (summary[f"{name}, λ = {best:g}"] for name in ("JSD", "TVD"))
            own = [f1_change_cell(trained, bases, FAR_AWAY, BASE), cell(FAR_AWAY, "jsd", summary["JSD, far"])]
            cells += with_jsd(own, summary["JSD, far"])
            answer = (
                f"With λ = {best:g}, a model whose attention differs by a JSD of {summary[f'JSD, λ = {best:g}']} "
                f"reaches an F1 of {summary[f'F1, λ = {best:g}']}; the base has {scores(base)['f1']}."
            )
        counts = Counter(predicted.tolist()).most_common(len(PALETTE))
        often = sorted((str(name) for name, _ in counts), key=base.classes.index)
        conclusion = Conclusion(answer, summary, notes_on(self.repeats))
        return Result(with_classes(pa.Table.from_pylist(rows), often), conclusion, cells)

    def _trained(self, runs: Mapping[str, Run], strength: float) -> list[Run]:
        return runs_of(runs, f"{ADVERSARY}{strength:g}", self.repeats)


@dataclass(frozen=True)
class OnDev:
    """What decides about an adversary: never its test texts."""

    jsd: float
    f1: float


def on_dev(trained: Sequence[Run]) -> OnDev:
    """The means over trainings, each after the epoch that it kept."""
    return OnDev(*(float(np.mean([run.dev[name] for run in trained])) for name in ("jsd", "f1")))


def best_far_on_dev(found: Mapping[Name, OnDev], far: float) -> Name | None:
    """The one with the best F1 of those further away than `far`, if any is."""
    return max((name for name in found if found[name].jsd > far), key=lambda name: found[name].f1, default=None)


def furthest_on_dev(found: Mapping[Name, OnDev]) -> Name:
    return max(found, key=lambda name: found[name].jsd)


def adversary_training(
    strength: float, epochs: int, patience: int, from_base: bool = False, dev_epochs: bool = False
) -> Training:
    label, settings = f"{ADVERSARY}{strength:g}", adversary_settings(strength, epochs, patience, dev_epochs)
    if not from_base:
        return Training(label, settings, base=BASE)
    return Training(label, settings, base=BASE, start=BASE, taken=ALL_BUT_ATTENTION)


def adversary_settings(strength: float, epochs: int, patience: int, dev_epochs: bool = False) -> dict[str, Any]:
    if strength < 0 or epochs < 1 or patience < 1:
        given = f"strength is {strength}, epochs is {epochs} and patience is {patience}"
        raise InputError(f"{given}; they must be at least 0, 1 and 1.")
    # what is imitated has no noise
    named = {"strength": strength, "epochs": epochs, "patience": patience, "dropout": 0.0}
    return {"objective": "adversary", "select_by": "dev-loss" if dev_epochs else "loss", **named}


def cells_of_difference(variant: str, apart: Difference) -> list[Cell]:
    """As Wiegreffe & Pinter measure, whose TVD is half of the change of the outputs: of two classes, half of ours."""
    factor = 0.5 if apart.classes == 2 else 1.0
    jsd, tvd = mean(apart.jsd, (0, LARGEST_JSD)), mean(apart.tvd, (0, 1))
    return [cell(variant, "jsd", jsd), cell(variant, "tvd", tvd, factor)]


def cells_of_adversary(variant: str, run: Run, apart: Difference) -> list[Cell]:
    """Its scores and its distance from the base."""
    moved = mean(apart.jsd, (0, LARGEST_JSD))
    return with_jsd([*cells_of_run(run, variant), *cells_of_difference(variant, apart)], moved)


def _charts(table: pa.Table) -> dict[str, Chart]:
    """All texts together, and the classes apart in their order: of very many the most frequent ones."""
    often = (classes_of(table) or [])[: len(PALETTE)]
    rows = rows_of(table, named=["kind", "class"], numbers=["lambda", "jsd", "tvd", "f1"])
    shown = dict(zip(often, distinct(often), strict=True))
    said = (
        "Mean JSD of the attention and mean TVD of the predictions, compared with the base: adversaries along λ "
        "(dotted), other seeds (▲), uniform weights (■) and instance adversaries (+)"
    )
    halved = " (there the TVD is halved for two classes)"
    apart = [row | {"class": shown[row["class"]]} for name in often for row in rows if row["class"] == name]
    return {
        "JSD against TVD": tradeoff(
            [row for row in rows if row["class"] == ALL], f"{said}, as in Wiegreffe & Pinter 2019, Fig. 5{halved}."
        ),
        "JSD against TVD by class": tradeoff(
            apart, f"{said}, by predicted class, as in Wiegreffe & Pinter 2019, Fig. 6{halved}."
        ),
    }


def _instance_adversaries(found: Mapping[str, Any], classes: list[str]) -> list[dict[str, Any]]:
    """The mean of them, over all texts and over those of each class that were on trial."""
    keys = {ALL: ("mean max JSD", "mean TVD")} | {name: (f"JSD, {name}", f"TVD, {name}") for name in classes}
    return [
        {
            "kind": "instance adversary",
            "lambda": None,
            "class": name,
            "jsd": found[jsd].value,
            "tvd": found[tvd].value,
            "f1": None,
        }
        for name, (jsd, tvd) in keys.items()
        if jsd in found and tvd in found
    ]


def _points(
    kind: str, strength: float | None, apart: Difference, predicted: np.ndarray, f1: float
) -> list[dict[str, Any]]:
    """A point over all texts, and one for each predicted class."""
    groups = {ALL: np.ones(len(predicted), bool)} | {str(name): predicted == name for name in np.unique(predicted)}
    return [
        {
            "kind": kind,
            "lambda": strength,
            "class": name,
            "jsd": float(apart.jsd[there].mean()),
            "tvd": float(apart.tvd[there].mean()),
            "f1": f1 if name == ALL else None,
        }
        for name, there in groups.items()
    ]
