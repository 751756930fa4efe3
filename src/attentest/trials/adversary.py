"""T7: is there, text by text, a far distribution of weights with the same output?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.measures.divergences import LARGEST_JSD
from attentest.measures.intervals import Estimate, mean, share
from attentest.models.protocol import AffineModel, provides
from attentest.models.rows import in_rows
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.adversary_search import gradient_search
from attentest.trials.adversary_vertices import best_vertices, own_margin
from attentest.trials.base import Chart, Columns, Conclusion, SimpleTrial, by_group, column, numbers_for_charts, words
from attentest.trials.charts import class_groups, histograms, violins_by_bin
from attentest.trials.reading import Reading
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

EXACT = "exact"
METHODS = ("auto", EXACT, "search")
BOUND = "bound"
JSD_BINS = np.linspace(0, 0.7, 29)


SEARCH_SLACK = 1e-5  # of TVD: a search presses its candidates against the bound, and may leave them a little over it


class Furthest(NamedTuple):
    """The reported adversary of each text; NaN, and the model's own weights, where a search ends without any."""

    weights: Float[Tensor, "batch *rows tokens"]
    jsd: Float[Tensor, "batch"]
    tvd: Float[Tensor, "batch"]
    candidates: Int[Tensor, "batch"]
    method: str


@dataclass(frozen=True)
class InstanceAdversary(SimpleTrial):
    """k adversaries a text with TVD(ŷ, ŷ') ≤ epsilon; the reported one has the largest JSD to the model's weights.

    `exact` (two classes, affine decoder) finds the global optimum; `search` is the gradient search of Jain & Wallace
    2019, for all models. An epsilon of 0 is theirs: 0.01, or 0.05 for answers to questions. Their code searches with
    0.01 and accepts what it finds up to 0.05: `accepted` sets the latter, 0 means epsilon.
    """

    name: ClassVar[str] = "adversary"
    number: ClassVar[str] = "T7"
    keys: ClassVar[Mapping[str, str]] = {
        "furthest": "mean max JSD",
        "far": "share with JSD > 0.4",
        "exact": "share of texts with a proven optimum",
    }
    question: ClassVar[str] = "Do very different attention weights give the same prediction?"
    source: ClassVar[str] = "Jain & Wallace 2019 §4.2.2; Wiegreffe & Pinter 2019 Fig. 3, 5"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A largest JSD near 0.693 means that entirely different weights give the same output, so the model's weights "
        "are not the only explanation of it. A value near 0 means that the output determines the weights. The weights "
        "are computed and belong to no trained model, so a high value does not show that the model could have attended "
        "there."
    )

    epsilon: float = setting(
        0.0, "Largest change of the output; 0 means Jain & Wallace's 0.01, or 0.05 for question answering."
    )
    accepted: float = setting(
        0.0, "Largest change of the output for an adversary to count (the bound of exact); 0 means epsilon.", least=0
    )
    k: int = setting(5, "Candidates for each text.", least=1, most=1_000_000)
    method: str = setting("auto", "Method: exact, search, or auto (exact where possible).", choices=METHODS)
    steps: int = setting(500, "Steps of the search.", least=1, most=10_000_000)
    seed: int = setting(0, "Random seed for the starting points of the search.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)
        if not 0 <= self.epsilon < 1:
            raise InputError(f"epsilon is {self.epsilon}; it must be 0, or lie between 0 and 1.")
        if self.accepted and not self.epsilon <= self.accepted < 1:
            raise InputError(f"accepted is {self.accepted}; it must be 0, or lie between epsilon and 1.")

    def examiner(self, subject: Subject) -> InstanceAdversary:
        asked = subject.data.corpus.answers is not None
        return self if self.epsilon else replace(self, epsilon=min(0.05 if asked else 0.01, self.accepted or 1))

    @property
    def bound(self) -> float:
        """How far the prediction of an adversary that counts may be moved."""
        return self.accepted or self.epsilon

    def works(self, load: Load) -> Works:
        if self.method != "search" and provides(load.subject.model, AffineModel):
            return {}
        steps = load.decoded(self.k * self.steps)
        searched = self.k * (self.k + 1) // 2  # candidates, and pairs of them
        return {self.name: Work(steps + load.decoded(self.k), steps, searched=searched)}

    def examine(self, reading: Reading) -> Columns:
        found = self.furthest(reading)
        return {
            "max_jsd": found.jsd.cpu().numpy(),
            "tvd": found.tvd.cpu().numpy(),
            "candidates": found.candidates.cpu().numpy(),
            "method": [found.method] * len(reading.batch),
        }

    def furthest(self, reading: Reading) -> Furthest:
        """The candidate furthest from the model's weights of those within the constraint, text by text."""
        exact = reading.margins is not None
        if self.method == "exact" and not exact:
            raise InputError("The exact adversary needs two classes and an affine decoder; use method search.")
        exact = exact and self.method != "search"
        if exact:
            others, count = best_vertices(reading, self.bound, self.k)
            change = _moved(reading, others)
            allowed = torch.ones_like(change, dtype=torch.bool)  # they meet the constraint by construction
        else:
            others = gradient_search(reading, self.epsilon, self.k, self.steps, self.seed)
            change = _moved(reading, others)
            allowed = change <= self.bound + SEARCH_SLACK
            count = allowed.sum(1)
        others = others.to(reading.weights.dtype)
        distance = torch.where(allowed, reading.apart(others, reading.weights.unsqueeze(1)), -1)
        best = distance.argmax(1)
        rows = torch.arange(len(best), device=best.device)
        none = ~allowed.any(1)
        return Furthest(
            weights=torch.where(in_rows(none.unsqueeze(1), reading.inner), reading.weights, others[rows, best]),
            jsd=torch.where(none, torch.nan, distance[rows, best]),
            tvd=torch.where(none, torch.nan, change[rows, best]),
            candidates=count,
            method=EXACT if exact else "search",
        )

    def conclude(self, table: pa.Table) -> Conclusion:
        distance = column(table, "max_jsd")
        overall = mean(distance, (0, LARGEST_JSD))
        exact = words(table, "method") == EXACT
        summary = {self.keys["furthest"]: overall, "mean TVD": mean(column(table, "tvd"), (0, 1))}
        summary |= {f"JSD, {name}": apart for name, apart in by_group(table, "max_jsd", "predicted").items()}
        summary |= {f"TVD, {name}": change for name, change in by_group(table, "tvd", "predicted").items()}
        summary[self.keys["far"]] = share(np.where(np.isnan(distance), np.nan, distance > 0.4))
        proven = float(exact.mean())
        summary[self.keys["exact"]] = Estimate(proven, proven, proven, len(exact))  # known, not estimated
        notes = []
        if not exact.all():
            notes.append(
                "A search found the weights of this trial, so its distances are lower bounds: that it found none "
                "further away is no proof that there are none."
            )
        none = int(np.isnan(distance).sum())
        if none:
            notes.append(f"{none:,} texts are left out: no weights within the constraint were found for them.")
        fewer = int((column(table, "candidates") < self.k).sum())
        if fewer:
            notes.append(f"{fewer:,} texts have fewer than {self.k} adversaries within the constraint; all were used.")
        answer = (
            f"While the prediction changes by at most {self.bound} (TVD), the weights can move by a mean JSD of "
            f"{'' if exact.all() else 'at least '}{overall} (the maximum possible is {LARGEST_JSD:.3f})."
        )
        return Conclusion(answer, summary, notes, {BOUND: [self.bound]})

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        bound = numbers_for_charts(table, BOUND)[BOUND][0]
        title = f"largest JSD with TVD ≤ {bound} (nats, at most {LARGEST_JSD:.3f})"
        return {
            "ε-max JSD by class": histograms(
                {"all": column(table, "max_jsd")},
                class_groups(table),
                JSD_BINS,
                title,
                "Histograms of the largest JSD between the model's weights and others with nearly the same prediction, "
                "by predicted class, as in Jain & Wallace 2019 §4.2.2.",
            ),
            "densities by largest weight": violins_by_bin(
                table,
                "max_jsd",
                title,
                "Densities of the largest JSD to weights with nearly the same prediction, by the largest weight and "
                "the predicted class, as in Wiegreffe & Pinter 2019, Fig. 3 e–f.",
                largest=0.7,
            ),
        }


def _moved(reading: Reading, weights: Float[Tensor, "batch k *rows tokens"]) -> Float[Tensor, "batch k"]:
    """TVD(ŷ, ŷ under other weights), where margins are known in float64: with large ones float32 is too coarse.

    ŷ is then taken from the same margins, so that the model's own weights move it by nothing.
    """
    if reading.margins is None:
        return reading.moved(weights)
    margins = reading.margins.double().masked_fill(~reading.mask, 0)
    margin = (weights.double() @ margins.unsqueeze(2)).squeeze(2)
    return (margin.sigmoid() - own_margin(reading).sigmoid().unsqueeze(1)).abs().to(reading.weights.dtype)
