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

from attentest.chance import keyed_uniform
from attentest.measures.information import cluster, mutual_information
from attentest.measures.informed import states as states_by_kind
from attentest.measures.intervals import Estimate, mean
from attentest.measures.jackknife import jackknife
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
KINDS, TEXTS_FOR_A_KIND = 20, 5  # of states over all ranks: the same number from 100 texts on
STATES_AT_MOST = 50_000  # in the clustering of all ranks: of more texts, some are taken
MORE, NULL, MOST, POSITION = (
    "information under the weights − under equal weights",
    "information under permuted weights − under equal weights",
    "information of the most informative state − under equal weights",
    "position of the weights between equal weights and the most informative state",
)


@dataclass(frozen=True)
class Information(Trial):
    """Weighted τ between MI(rank-i hidden states; output) and the mean weight at rank i, over ranks i ≤ k.

    States and (with two classes) logits are clustered; k is the smaller of the 10th percentile of the lengths and the
    last rank at which 80 % of the weights exceed 1e-5. Texts shorter than k are left out of the ranks they lack.
    That is the paper's figure. Next to it: how much more information about the output the states have on average under
    the weights than under equal ones, with kinds of states found over all ranks together (`measures/informed.py`).
    """

    name: ClassVar[str] = "information"
    number: ClassVar[str] = "T13"
    cost: ClassVar[float] = 2
    keys: ClassVar[Mapping[str, str]] = {
        "agreement": "weighted τ",
        "more informed": MORE,
        "null": NULL,
        "ceiling": MOST,
        "position": POSITION,
    }
    question: ClassVar[str] = "Are high weights on the hidden states that are most informative about the output?"
    source: ClassVar[str] = "Wen et al. 2022 §3.2 and §5, Fig. 2"
    how_to_read: ClassVar[str] = (
        "A weighted τ near 1 means that the hidden states with the most weight are the most informative about the "
        "model's output; near 0 or below, they are not. The measure is about hidden states, which may carry "
        "information from other tokens, and about all texts together, so it explains no single prediction. It grows "
        "with the number of texts and is above 0 for random weights; the information under the weights minus that "
        "under equal weights is comparable across numbers of texts, and 0 on average for random weights."
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
        self.rows: list[np.ndarray] = []
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
        self.rows.append(reading.rows)
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
        tau = mean(np.array(taus))
        more = self._informed(states, weights, outputs)
        summary = {"weighted τ": tau, **more, "ranks": Estimate(k, k, k, len(weights))}
        summary |= {f"MI at rank {i + 1}": mean(np.array(curves)[:, i]) for i in range(min(k, 10))}
        summary |= {run_name(i): Estimate(found, found, found, k) for i, found in enumerate(taus, 1)}
        answer = (
            f"Weight and information agree with a weighted τ of {tau} over the {k} highest ranks of attention "
            f"({self.trial.runs} clusterings)."
            if k > 1
            else "Only one rank can be compared, so no correlation is defined."
        )
        answer += (
            f" Under the weights, a state tells {more[MORE]} more of the output's entropy than under equal weights; "
            f"with permuted weights {more[NULL]}."
        )
        return Conclusion(answer, summary, notes, {INFORMATION: np.mean(curves, 0), WEIGHT: mean_weight})

    def _informed(self, states: np.ndarray, weights: np.ndarray, outputs: np.ndarray) -> dict[str, Estimate]:
        """Means over the clusterings; intervals over texts, in which the clusterings stay as they are."""
        rows = np.concatenate(self.rows)
        some = np.arange(0, len(rows), max(1, -(-len(rows) * self.ranks // STATES_AT_MOST)))  # of all lengths
        weights, outputs, rows = weights[some], outputs[some], rows[some]
        there = weights >= 0
        points = torch.from_numpy(np.array(states[some])[there])
        clusterings = []
        for seed in range(self.trial.seed, self.trial.seed + self.trial.runs):
            kinds = np.zeros(weights.shape, int)
            kinds[there] = cluster(points, max(2, min(KINDS, len(rows) // TEXTS_FOR_A_KIND)), seed)
            draws = keyed_uniform(seed, "permuted ranks", rows, self.ranks)
            clusterings.append((states_by_kind(kinds, weights, draws, _output_labels(outputs, seed)), seed))

        def figures(kept: np.ndarray) -> np.ndarray:
            own, permuted, most = np.mean([found.informed(kept, seed) for found, seed in clusterings], 0)
            return np.array([own, permuted, most, own / most if most > 0 else np.nan])

        return dict(zip((MORE, NULL, MOST, POSITION), jackknife(figures, len(rows)), strict=True))

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
