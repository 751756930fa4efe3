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

FROZEN, UNFROZEN = MOVED = ("frozen", "unfrozen")  # adversaries
STRENGTHS = (0.01, 0.1, 1.0)


@dataclass(frozen=True)
class Frozen(Experiment):
    """Adversaries (Wiegreffe & Pinter 2019): `frozen` has the base's encoder and decoder, a new attention, `unfrozen`
    is a new model.

    Meister et al. 2021 do not state λ, and a weak one stays with the base's weights, so several are tried of each: the
    weakest that is further away than a JSD of `far` on dev counts, or else the one furthest away. The base's own
    weights would be no start: the divergence from them is least there, so that nothing moves.
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

    frozen_strengths: tuple[float, ...] = setting(
        STRENGTHS, "Strengths λ to try with everything but the attention frozen.", least=0
    )
    unfrozen_strengths: tuple[float, ...] = setting(STRENGTHS, "Strengths λ to try with a new model.", least=0)
    far: float = setting(FAR, "Mean JSD on dev above which an adversary counts as far away.")
    epochs: int = setting(40, "Maximum number of epochs of each training.", least=1, most=1_000_000)
    patience: int = setting(10, "Epochs without a lower loss before training stops.", least=1, most=1_000_000)

    dev_epochs: bool = setting(False, DEV_EPOCHS)

    def __post_init__(self) -> None:
        super().__post_init__()
        for label, strengths in self._strengths().items():
            if not strengths:
                raise InputError(f"{label}_strengths is empty; give at least one strength λ.")

    def _strengths(self) -> dict[str, tuple[float, ...]]:
        return {FROZEN: self.frozen_strengths, UNFROZEN: self.unfrozen_strengths}

    def trainings(self) -> list[Training]:
        kept = ["embedding", "encoder", "decoder"]
        found = []
        for label, strengths in self._strengths().items():
            for strength in strengths:
                settings = adversary_settings(strength, self.epochs, self.patience, self.dev_epochs)
                if label == FROZEN:
                    own = settings | {"freeze": kept, "take": kept}
                    found.append(Training(_run(label, strength), own, start=BASE, base=BASE))
                else:
                    found.append(Training(_run(label, strength), settings, base=BASE))
        return found

    def _chosen(self, runs: Mapping[str, Run], label: str) -> Run:
        """The adversary that counts."""
        labels = [_run(label, strength) for strength in sorted(self._strengths()[label])]
        found = {label: on_dev([runs[label]]) for label in labels}
        far = (label for label in labels if found[label].jsd > self.far)
        return runs[next(far, furthest_on_dev(found))]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        base = scores(runs[BASE])["accuracy"]
        cells: list[Cell] = []
        rows, summary = [], {"accuracy, base": base}
        chosen = {label: self._chosen(runs, label) for label in MOVED}
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
            f"{chosen[FROZEN].record.training.strength:g}), it is {summary['accuracy, frozen']}; with attention "
            f"moved by {summary['JSD, unfrozen'].value:.2f} in a new model (λ = "
            f"{chosen[UNFROZEN].record.training.strength:g}), {summary['accuracy, unfrozen']}."
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


def _run(label: str, strength: float) -> str:
    return f"{label} {strength:g}"
