"""T2: how much do attention maps vary by the seed alone?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from attentest.measures.divergences import LARGEST_JSD
from attentest.measures.estimate import undefined
from attentest.measures.intervals import Estimate, mean, median
from attentest.settings import setting
from attentest.studies.cells import scores
from attentest.studies.experiments.base import (
    BASE,
    Experiment,
    Result,
    Training,
    TrialOf,
    change_of_predictions,
    difference,
    tidy_head,
)
from attentest.studies.experiments.pairs import Pairs
from attentest.studies.experiments.repeated import FEWEST, distance_over, estimate_over, exactly, labels_of, other_seeds
from attentest.training.run import Run
from attentest.trials import trial_class
from attentest.trials.base import BIN_EDGES, BIN_NAMES, Chart, Conclusion, by_group, with_classes
from attentest.trials.cells import cell
from attentest.trials.charts import violins_by_bin
from attentest.trials.stored import StoredFinding


@dataclass(frozen=True)
class Seeds(Experiment):
    """Models that differ from the base only in their seed: JSD to the base, text by text, and of each two of all,
    against the JSD that the same weights would have in a random order."""

    name: ClassVar[str] = "seeds"
    number: ClassVar[str] = "T2"
    keys: ClassVar[Mapping[str, str]] = {
        "apart": "mean JSD of pairs",
        "permuted": "mean JSD of permuted maps",
        "agreement": "agreement above permuted maps",
        "moved": "mean TVD of pairs",
        "trainings": "trainings",  # where there are enough for an interval over them
    }
    question: ClassVar[str] = "How much does attention vary when only the seed changes?"
    source: ClassVar[str] = "Wiegreffe & Pinter 2019 §3.3, Fig. 3"
    how_to_read: ClassVar[str] = (
        "An agreement of 1 means that models trained with other seeds attend to the same tokens, 0 that their weights "
        "are no more alike than weights in a random order. The JSD alone does not tell: it is low for any weights near "
        "uniform. It is the baseline for adversaries: only a distance clearly above it is more than chance. Stable "
        "weights need not be faithful."
    )

    seeds: int = setting(8, "Further models to train.", least=1, most=10_000)
    examine: tuple[str, ...] = setting((), "Trials to run on every one of the models, for intervals over trainings.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.examine:
            trial_class(name)

    def trainings(self) -> list[Training]:
        return other_seeds(self.seeds + 1)

    def trials(self) -> list[TrialOf]:
        return [TrialOf(label, name) for name in self.examine for label in labels_of(BASE, self.seeds + 1)]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        labels = [training.label for training in self.trainings()]
        found = [difference(runs[BASE], runs[label]) for label in labels]
        apart, change = np.stack([d.jsd for d in found]), np.stack([d.tvd for d in found])
        head = tidy_head(runs[BASE])
        bins = np.array(BIN_NAMES, dtype=object)[np.digitize(head["max_attention"].to_numpy(), BIN_EDGES)]
        table = pa.table(
            {
                **head,
                "bin": bins.tolist(),
                "median_jsd": np.median(apart, 0),
                "mean_jsd": apart.mean(0),
                "max_jsd": apart.max(0),
                "mean_tvd": change.mean(0),
            }
        )
        table = with_classes(table, runs[BASE].classes)
        f1 = [scores(runs[label])["f1"].value for label in labels]
        trained = [runs[label] for label in (BASE, *labels)]
        to_base, pairs = distance_over(found), Pairs.of(trained)
        moved = np.stack([change_of_predictions(trained[a], trained[b]) for a, b in pairs.numbers])
        summary = {
            self.keys["apart"]: pairs.mean(pairs.apart),
            self.keys["permuted"]: pairs.mean(pairs.permuted),
            self.keys["agreement"]: pairs.agreement(),
            "mean JSD": to_base["JSD"],
            "largest JSD of a text": mean(apart.max(0), (0, LARGEST_JSD)),
            "mean TVD": to_base["TVD"],
            self.keys["moved"]: pairs.mean(moved, 1),
            "F1 over seeds": mean(np.array(f1)),
        } | self._over_trainings(findings)
        if len(labels) + 1 >= FEWEST:
            summary[self.keys["trainings"]] = exactly(len(labels) + 1)
        summary |= by_group(table, "median_jsd", "bin", "predicted", statistic=median)
        answer = (
            f"With another seed, attention changes by a mean JSD of {summary['mean JSD']} and predictions by a mean "
            f"TVD of {summary['mean TVD']} ({self.seeds} seeds). Agreement of the weights above permuted ones: "
            f"{summary[self.keys['agreement']]}."
        )
        cells = [cell("seeds", "jsd", summary["mean JSD"])]
        return Result(table, Conclusion(answer, summary, _notes(len(labels) + 1)), cells)

    def _over_trainings(self, findings: Mapping[str, StoredFinding]) -> dict[str, Estimate]:
        """The figures that verdicts read, from all trainings that have them."""
        summary = {}
        for name in self.examine:
            every = [findings[f"{label} {name}"].summary for label in labels_of(BASE, self.seeds + 1)]
            for entry in dict.fromkeys(trial_class(name).keys.values()):
                there = [found[entry] for found in every if entry in found]
                if there:  # an entry that only some trainings have is not defined over all of them
                    whole = len(there) == len(every)
                    summary[over_trainings(entry)] = estimate_over(there) if whole else undefined()
        return summary

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        # the caption of Wiegreffe & Pinter 2019 says maximum; their code draws the median
        return {
            f"densities of the {word} JSD": violins_by_bin(
                table,
                f"{column}_jsd",
                f"{word} JSD over seeds (nats, at most {LARGEST_JSD:.3f})",
                f"Densities of the {word} JSD between the base's attention and that of other seeds, by the largest "
                f"weight and the predicted class, as in Wiegreffe & Pinter 2019, Fig. 3 a–d{source}.",
                largest=0.7,
            )
            for word, column, source in (("largest", "max", ""), ("median", "median", " (as their code draws it)"))
        }


def over_trainings(entry: str) -> str:
    """What a figure of one training is called over all of them."""
    return f"{entry}, over trainings"


def _notes(trainings: int) -> list[str]:
    few = "Two models were trained: intervals are over texts and do not cover how trainings differ (set `seeds` to 2)."
    return [few] if trainings < FEWEST else []
