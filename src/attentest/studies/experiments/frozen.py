"""T5: does an adversary need to move the information, or the attention alone?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.divergences import LARGEST_JSD
from attentest.measures.intervals import Estimate, mean
from attentest.settings import setting
from attentest.studies.cells import accuracy_gain, cells_of_run, scores
from attentest.studies.experiments.adversary import DEV_EPOCHS, FAR, adversary_settings, furthest_on_dev, on_dev
from attentest.studies.experiments.base import BASE, Experiment, Result, Training, difference
from attentest.training.run import Run
from attentest.trials.base import Chart, Conclusion
from attentest.trials.cells import Cell, cell, with_jsd
from attentest.trials.charts import interval, intervals
from attentest.trials.stored import StoredFinding

MOVED = ("frozen", "unfrozen")  # adversaries


@dataclass(frozen=True)
class Frozen(Experiment):
    """Adversaries (Wiegreffe & Pinter 2019): `frozen` has the base's encoder and decoder, a new attention, `unfrozen`
    is a new model with λ = `strength`.

    Meister et al. 2021 do not state λ. With the rest frozen a weak one stays with the base's weights, so several are
    tried, and the weakest that is further away than a JSD of `far` on dev counts, or else the one furthest away. The
    base's own weights would be no start: the divergence from them is least there, so that nothing moves.
    """

    name: ClassVar[str] = "frozen"
    number: ClassVar[str] = "T5"
    question: ClassVar[str] = "Can attention be changed without losing accuracy, alone or only with the hidden states?"
    source: ClassVar[str] = "Meister et al. 2021 App. C.1, Table 5"
    how_to_read: ClassVar[str] = (
        "If accuracy falls when only attention may change, but not when the whole model may, the information moved "
        "with the weights. If accuracy falls in neither case, the weights hardly matter. The loss depends on how far "
        "the weights were moved, so read the accuracy together with the JSD."
    )

    strength: float = setting(0.01, "Strength λ of the unfrozen adversary.", least=0)
    frozen_strengths: tuple[float, ...] = setting(
        (0.01, 0.1, 1.0), "Strengths λ to try with everything but the attention frozen.", least=0
    )
    far: float = setting(FAR, "Mean JSD on dev above which a frozen adversary counts as far away.")
    epochs: int = setting(40, "Maximum number of epochs of each training.", least=1, most=1_000_000)
    patience: int = setting(10, "Epochs without a lower loss before training stops.", least=1, most=1_000_000)

    dev_epochs: bool = setting(False, DEV_EPOCHS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.frozen_strengths:
            raise InputError("frozen_strengths is empty; give at least one strength λ.")

    def trainings(self) -> list[Training]:
        how = (self.epochs, self.patience, self.dev_epochs)
        settings = adversary_settings(self.strength, *how)
        kept = ["embedding", "encoder", "decoder"]
        frozen = {"freeze": kept, "take": kept}
        return [
            *(
                Training(
                    f"frozen {strength:g}",
                    adversary_settings(strength, *how) | frozen,
                    start=BASE,
                    base=BASE,
                )
                for strength in self.frozen_strengths
            ),
            Training("unfrozen", settings, base=BASE),
        ]

    def _chosen(self, runs: Mapping[str, Run]) -> str:
        """The frozen adversary that counts."""
        labels = [f"frozen {strength:g}" for strength in sorted(self.frozen_strengths)]
        found = {label: on_dev([runs[label]]) for label in labels}
        return next((label for label in labels if found[label].jsd > self.far), furthest_on_dev(found))

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        base = scores(runs[BASE])["accuracy"]
        cells: list[Cell] = []
        rows, summary = [], {"accuracy, base": base}
        chosen = {"frozen": runs[self._chosen(runs)], "unfrozen": runs["unfrozen"]}
        for label, run in chosen.items():
            apart, found = difference(runs[BASE], run), scores(run)
            moved = mean(apart.jsd, (0, LARGEST_JSD))
            change = accuracy_gain(runs[BASE], run)
            own = [*cells_of_run(run, label), cell(label, "jsd", moved), cell(label, "delta accuracy", change)]
            cells += with_jsd(own, moved)
            summary[f"accuracy, {label} − base"] = change
            summary |= {f"accuracy, {label}": found["accuracy"], f"JSD, {label}": moved}
            rows.append({"model": label, **found["accuracy"].as_dict(), "jsd": float(apart.jsd.mean())})
        rows.append({"model": BASE, **base.as_dict(), "jsd": 0.0})
        answer = (
            f"The base has an accuracy of {base}. With attention moved by a JSD of "
            f"{summary['JSD, frozen'].value:.2f} and everything else frozen (λ = "
            f"{chosen['frozen'].record.training.strength:g}), it is {summary['accuracy, frozen']}; with attention "
            f"moved by {summary['JSD, unfrozen'].value:.2f} in a new model, {summary['accuracy, unfrozen']}."
        )
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary), cells)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        return {
            "accuracy by what may move": intervals(
                [row for label in (BASE, *MOVED) for row in interval(label, summary[f"accuracy, {label}"])],
                "accuracy on the test texts (0–1)",
                "Accuracy of the base, of an adversary with everything but attention frozen, and of one with nothing "
                "frozen, with 95 % intervals, as in Meister et al. 2021, Table 5.",
                "model",
            ),
            "JSD by what may move": intervals(
                [row for label in MOVED for row in interval(label, summary[f"JSD, {label}"])],
                f"JSD to the base's attention (nats, at most {LARGEST_JSD:.3f})",
                "Distance of the attention of the frozen and the unfrozen adversary from the base's, with 95 % "
                "intervals, as in Meister et al. 2021, Table 5.",
                "model",
            ),
        }
