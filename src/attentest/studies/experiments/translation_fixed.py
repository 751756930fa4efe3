"""T1, trained, for translation: is attention needed when a model can learn to translate without it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.bleu_bootstrap import bleu_bootstrap
from attentest.measures.intervals import Estimate
from attentest.settings import setting
from attentest.studies.experiments.base import BASE, Experiment, Result, Training
from attentest.translation.run import TranslationRun
from attentest.translation.scores import bleu_counts
from attentest.trials.base import Chart, Conclusion
from attentest.trials.cells import cell
from attentest.trials.charts import bars, interval
from attentest.trials.of_translation.free import about_intervals
from attentest.trials.stored import StoredFinding

WEIGHTS = ("uniform", "random")


@dataclass(frozen=True)
class TranslationFixed(Experiment):
    """Weights on the source that are uniform, or random, in training and at inference."""

    name: ClassVar[str] = "translation-fixed"
    number: ClassVar[str] = "T1"
    keys: ClassVar[Mapping[str, str]] = {"change": "BLEU, uniform − base"}
    question: ClassVar[str] = "Does a model that is trained without learned attention translate as well?"
    source: ClassVar[str] = "Vashishth et al. 2019 §4.1, Table 3"
    how_to_read: ClassVar[str] = (
        "A BLEU far below the base's means that the task is not learned as well without attention. An equal BLEU means "
        "that this model does not need attention on this corpus. The difference says nothing about which tokens the "
        "base's weights are on."
    )

    weights: tuple[str, ...] = setting(WEIGHTS, "Fixed weights to train with.", choices=WEIGHTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weights:
            raise InputError(f"weights is empty; name at least one of {', '.join(WEIGHTS)}.")

    def trainings(self) -> list[Training]:
        return [Training(name, {"fixed": name}) for name in self.weights]

    def conclude(self, runs: Mapping[str, Any], findings: Mapping[str, StoredFinding]) -> Result:
        counts = {label: _counts(run) for label, run in runs.items()}
        found = bleu_bootstrap(counts[BASE], {label: counts[label] for label in self.weights})
        cells = [cell(BASE, "bleu", found.base)]
        summary: dict[str, Estimate] = {}
        for label, change in found.differences.items():
            summary[f"BLEU, {label} − base"] = change
            variant = f"{label}, trained and inferred"
            cells += [cell(variant, "bleu", found.scores[label]), cell(variant, "delta bleu", change)]
        reached = {BASE: found.base, **found.scores}
        summary |= {f"BLEU, {label}": figure for label, figure in reached.items()}
        first = self.weights[0]
        answer = (
            f"Trained with {first} weights on the source, the model reaches a BLEU of {reached[first]}; with learned "
            f"attention, {found.base}."
        )
        notes = ["Intervals are over sentences; each model was trained once, so they say nothing about other seeds."]
        notes += about_intervals(found.base.n)
        rows = [{"weights": label, "measure": "BLEU", **figure.as_dict()} for label, figure in reached.items()]
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary, notes), cells)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        named = {"learned": f"BLEU, {BASE}"} | {name: f"BLEU, {name}" for name in WEIGHTS}
        rows = [row for group, key in named.items() if key in summary for row in interval(group, summary[key])]
        return {
            "BLEU by weights in training": bars(
                rows,
                "BLEU (0–100)",
                "BLEU with learned attention and with weights on the source fixed in training and at inference, with "
                "95 % intervals, as in Vashishth et al. 2019, Table 3.",
                "weights in training",
                domain=None,
            )
        }


def _counts(run: TranslationRun) -> Any:
    table = run.translations
    return bleu_counts(table["translation"].to_pylist(), table["reference"].to_pylist(), lower=run.record.text.lower)
