"""T13: do high weights sit on the states that tell most about the output?"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.measures.information import cluster, mutual_information
from attentest.measures.intervals import Estimate, bootstrap
from attentest.measures.weighted_tau import weighted_tau
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, Examiner, Trial, numbers_for_charts
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import box, boxes, by_rank
from attentest.trials.reading import Reading
from attentest.trials.subject import Subject

INFORMATION, WEIGHT = "mutual information (nats)", "mean weight"  # by rank
TAU_CHART = "weighted τ over clusterings"
SMALLEST_WEIGHT, SHARE_ABOVE, OUTPUT_CLUSTERS = 1e-5, 0.8, 5


@dataclass(frozen=True)
class Information(Trial):
    """Weighted τ between MI(rank-i hidden states; output) and the mean weight at rank i, over ranks i ≤ k.

    States and (with two classes) logits are clustered; k is the smaller of the 10th percentile of the lengths and the
    last rank at which 80 % of the weights exceed 1e-5. Texts shorter than k are left out of the ranks they lack.
    """

    name: ClassVar[str] = "information"
    number: ClassVar[str] = "T13"
    cost: ClassVar[float] = 2
    keys: ClassVar[Mapping[str, str]] = {"agreement": "weighted τ"}
    question: ClassVar[str] = "Are high weights on the hidden states that are most informative about the output?"
    source: ClassVar[str] = "Wen et al. 2022 §3.2 and §5, Fig. 2"
    how_to_read: ClassVar[str] = (
        "A weighted τ near 1 means that the hidden states with the most weight are the most informative about the "
        "model's output; near 0 or below, they are not. The measure is about hidden states, which may carry "
        "information from other tokens, and about all texts together, so it explains no single prediction."
    )
    needs: ClassVar[str] = "attention weights and hidden states"

    clusters: int = setting(50, "Clusters of the hidden states at a rank.", least=2, most=10_000)
    runs: int = setting(10, "Clusterings over which the mean and its interval are computed.", least=1, most=10_000)
    seed: int = setting(0, "Random seed of the first clustering; the others follow it.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        yield cell("base", "weighted tau", summary[cls.keys["agreement"]])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        kept = numbers_for_charts(table, INFORMATION, WEIGHT)
        curve = by_rank(
            {name: np.array(values) for name, values in kept.items()},
            "Mutual information of the hidden states with the output, and mean weight, by rank of attention. The "
            "weighted τ of Wen et al. 2022 §3.2 compares these two curves.",
        )
        return {TAU_CHART: tau_boxes({"this model": clusterings(summary)}), "information and weight by rank": curve}

    def examiner(self, subject: Subject) -> Examiner:
        return _Examiner(self, subject)


class _Examiner:
    """Keeps the states of the highest ranks in a file, so that memory does not grow with the number of texts."""

    def __init__(self, trial: Information, subject: Subject) -> None:
        self.trial = trial
        self.ranks = max(1, int(np.quantile(subject.lengths, 0.1)))
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the examiner)
        self.weights: list[np.ndarray] = []
        self.outputs: list[np.ndarray] = []
        self.size = 0

    def examine(self, reading: Reading) -> Columns:
        ranks = min(self.ranks, reading.mask.shape[1])
        # stable: tokens of the same weight keep their order, however far the batch is padded
        weights, places = reading.attention.masked_fill(~reading.mask, -1).sort(dim=1, descending=True, stable=True)
        weights, places = weights[:, :ranks], places[:, :ranks]
        states = reading.encoded.hidden.gather(1, places.unsqueeze(-1).expand(-1, -1, reading.encoded.hidden.shape[-1]))
        missing = (0, self.ranks - ranks)
        states = torch.nn.functional.pad(states, (0, 0, *missing))
        weights = torch.nn.functional.pad(weights, missing, value=-1)
        self.size = states.shape[-1]
        self.file.write(states.float().cpu().numpy().tobytes())
        self.weights.append(weights.cpu().numpy())
        self.outputs.append(reading.logits.cpu().numpy())
        return {}

    def conclude(self, table: pa.Table) -> Conclusion:
        weights, outputs = np.concatenate(self.weights), np.concatenate(self.outputs)
        self.file.flush()
        states = np.memmap(self.file, np.float32, "r", shape=(len(weights), self.ranks, self.size))
        k = self._last_rank(weights)
        clusters, notes = self._clusters(len(weights))
        taus, curves = [], []
        for run in range(self.trial.runs):
            labels = _output_labels(outputs, self.trial.seed + run)
            information, mean_weight = [], []
            for rank in range(k):
                there = weights[:, rank] >= 0
                points = torch.from_numpy(np.array(states[there, rank]))
                found = cluster(points, clusters, self.trial.seed + run, fewest=2)
                information.append(mutual_information(found, labels[there]))
                mean_weight.append(float(weights[there, rank].mean()))
            taus.append(weighted_tau(np.array(information), np.array(mean_weight), np.array(mean_weight)))
            curves.append(information)
        tau = bootstrap(np.array(taus))
        summary = {"weighted τ": tau, "ranks": Estimate(k, k, k, len(weights))}
        summary |= {f"MI at rank {i + 1}": bootstrap(np.array(curves)[:, i]) for i in range(min(k, 10))}
        summary |= {run_name(i): Estimate(found, found, found, k) for i, found in enumerate(taus, 1)}
        answer = (
            f"Weight and information agree with a weighted τ of {tau} over the {k} highest ranks of attention "
            f"({self.trial.runs} clusterings)."
            if k > 1
            else "Only one rank can be compared, so no correlation is defined."
        )
        return Conclusion(answer, summary, notes, {INFORMATION: np.mean(curves, 0), WEIGHT: mean_weight})

    def _last_rank(self, weights: np.ndarray) -> int:
        there = np.maximum((weights >= 0).sum(0), 1)
        above = (weights > SMALLEST_WEIGHT).sum(0) / there >= SHARE_ABOVE
        return int(np.argmin(above)) or 1 if not above.all() else self.ranks

    def _clusters(self, texts: int) -> tuple[int, list[str]]:
        most = max(2, texts // 4)
        if self.trial.clusters <= most:
            return self.trial.clusters, []
        return most, [
            f"{texts:,} texts are too few for {self.trial.clusters} clusters of at least two texts; {most} were used."
        ]


def run_name(run: int) -> str:
    """The weighted τ of one clustering, in the summary."""
    return f"weighted τ, clustering {run}"


def clusterings(summary: Mapping[str, Estimate]) -> list[float]:
    """The weighted τ of each clustering."""
    named = map(run_name, itertools.count(1))
    return [summary[name].value for name in itertools.takewhile(summary.__contains__, named)]


def tau_rows(taus: Sequence[float], group: str) -> list[dict[str, Any]]:
    return box(group, np.array(taus, float))


def tau_boxes(models: Mapping[str, Sequence[float]]) -> Chart:
    return boxes(
        [row for name, taus in models.items() for row in tau_rows(taus, name)],
        "weighted Kendall τ (−1 to 1)",
        "Box plots over clusterings of the weighted correlation of weight and mutual information, as in Wen et al. "
        "2022, Fig. 2; whiskers reach 1.5 interquartile ranges.",
        (-1, 1),
        "model",
    )


def _output_labels(logits: np.ndarray, seed: int) -> np.ndarray:
    """The output as a label: 5 clusters of the logit with two classes, the decision with more."""
    if logits.shape[1] > 2:
        decisions: np.ndarray = logits.argmax(1)
        return decisions
    return cluster(torch.from_numpy(logits[:, 1:] - logits[:, :1]), OUTPUT_CLUSTERS, seed)
