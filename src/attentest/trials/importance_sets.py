"""T11: how many items must go, in order of a ranking, before the decision flips?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.importance.sums import sums_after
from attentest.measures.intervals import Estimate, mean, ratio, share
from attentest.settings import setting
from attentest.trials.base import Chart, Columns, Conclusion, SimpleTrial, column
from attentest.trials.charts import box, boxes
from attentest.trials.reading import Reading
from attentest.trials.reduced_weights import left_of, renormalised
from attentest.trials.scores import ScoreSettings, score, works_of_scores
from attentest.trials.work import Load, Work, Works

RANKINGS = ("random", "attention", "attention-gradient", "attention-times-gradient")  # of Serrano & Smith 2019
LEFT_OUT = "hidden-leave-one-out"  # without a sign, as attention is
OPTIMUM = "optimum"
COMPARED = (
    ("random", "attention"),
    ("attention", "attention-times-gradient"),
    ("attention", "attention-gradient"),
    ("attention", LEFT_OUT),
)
_WEIGHTS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class ImportanceSets(SimpleTrial):
    """The share of a text's items that must be removed, highest ranked first, before the decision changes.

    NaN in the table where it never does (the last item is not removed), 1 in the means. With two classes and an affine
    decoder the smallest set that flips the decision is found exactly: the items with the largest α_i·margin_i towards
    the decision go first.
    """

    name: ClassVar[str] = "importance-sets"
    number: ClassVar[str] = "T11"
    keys: ClassVar[Mapping[str, str]] = {
        "difference": "attention − attention-times-gradient",
        "unsigned difference": f"attention − {LEFT_OUT}",
        "less than random": "random − attention",
        "null": "random: mean share removed",
        "ceiling": f"{LEFT_OUT}: mean share removed",
        "position": f"position of attention between random and {LEFT_OUT}",
        "position of the best": "position of attention between random and the best ranking",
    }
    question: ClassVar[str] = "How many items must be removed, most attended first, before the decision flips?"
    source: ClassVar[str] = "Serrano & Smith 2019 §5, Fig. 5"
    headline: ClassVar[str] = "attention: mean share removed"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "If removing by attention takes a small share, far below the random order and close to the best order, the "
        "weights find what the decision depends on; a share close to the random order means that they do not. The "
        "share depends on how confident the model is and on the number of classes, so compare rankings of one model "
        "rather than models."
    )

    seed: int = setting(0, "Random seed for the random order.")

    def works(self, load: Load) -> Works:
        rankings = (*RANKINGS, LEFT_OUT)
        own = {self.name: Work(load.decoded(len(rankings) * load.lengths))}
        return own | works_of_scores(load, rankings, ScoreSettings(seed=self.seed))

    def examine(self, reading: Reading) -> Columns:
        settings = ScoreSettings(seed=self.seed)
        scores = {name: score(reading, name, settings) for name in (*RANKINGS, LEFT_OUT)}
        if reading.margins is not None:
            towards = torch.where(reading.predicted == 1, 1.0, -1.0).unsqueeze(1)
            scores[OPTIMUM] = reading.weights * reading.margins * towards
        found = {name: first_flip(reading, score) for name, score in scores.items()}
        return {name: (count / reading.lengths).cpu().numpy() for name, count in found.items()}

    def conclude(self, table: pa.Table) -> Conclusion:
        summary = {}
        removed = _removed(table)
        for name, gone in removed.items():
            summary[f"{name}: mean share removed"] = mean(gone, (0, 1))
            summary[f"{name}: share of texts that flip"] = share(~np.isnan(column(table, name)))
        for more, less in COMPARED:
            summary[f"{more} − {less}"] = mean(removed[more] - removed[less], (-1, 1))
        best = min((*RANKINGS[2:], LEFT_OUT), key=lambda name: float(removed[name].mean()))
        for key, name in (("position", LEFT_OUT), ("position of the best", best)):
            gained = removed["random"] - removed["attention"]
            summary[self.keys[key]] = ratio(gained, removed["random"] - removed[name])
        answer = (
            f"Share of a text removed before the decision flips: {summary['attention: mean share removed']} in order "
            f"of attention, {summary['random: mean share removed']} in random order"
            + (f", {summary[f'{OPTIMUM}: mean share removed']} in the best order." if OPTIMUM in removed else ".")
        )
        return Conclusion(answer, summary)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = boxes(
            [row for name, gone in _removed(table).items() for row in box(name, gone)],
            "share of items removed at the first flip (0–1)",
            "Box plots of the share of items removed before the decision first flips, by ranking, as in Serrano & "
            "Smith 2019, Fig. 5; texts that never flip count as 1, and whiskers reach 1.5 interquartile ranges.",
            (0, 1),
            "ranking",
        )
        return {"share removed before a flip": chart}


def _removed(table: pa.Table) -> dict[str, np.ndarray]:
    """By ranking: the share of each text's items that go; all where the decision never flips."""
    names = [name for name in (*RANKINGS, LEFT_OUT, OPTIMUM) if name in table.column_names]
    return {name: np.nan_to_num(column(table, name), nan=1.0) for name in names}


def first_flip(reading: Reading, scores: Float[Tensor, "batch tokens"]) -> Float[Tensor, "batch"]:
    """How many items are gone when the decision first changes, removing the highest scores first; NaN if never."""
    order = scores.masked_fill(~reading.mask, -torch.inf).argsort(dim=1, descending=True, stable=True)
    decisions = _decisions_of_prefixes(reading, order)
    last = torch.arange(1, order.shape[1] + 1, device=order.device) >= reading.lengths.unsqueeze(1)
    changed = (decisions != reading.predicted.unsqueeze(1)) & ~last
    count = changed.int().argmax(1) + 1
    return torch.where(changed.any(1), count.to(scores.dtype), torch.nan)


def _decisions_of_prefixes(reading: Reading, order: Int[Tensor, "batch tokens"]) -> Int[Tensor, "batch tokens"]:
    """The decision without the first 1, 2, … items of the order; unchanged where no weight is left to decide with.

    Dividing what is left by its weight changes no decision, so sums over what is left are enough.
    """
    weights = reading.attention if reading.inner else reading.weights
    left = sums_after(weights.gather(1, order))
    if reading.margins is not None:
        rest = sums_after((reading.weights * reading.margins).gather(1, order))
        decisions = (rest > 0).long()
    elif reading.token_logits is not None:
        assert reading.bias is not None
        added = reading.weights.unsqueeze(-1) * (reading.token_logits + reading.bias)
        decisions = sums_after(added.gather(1, order.unsqueeze(-1).expand_as(added))).argmax(-1)
    else:
        decisions = _decode_prefixes(reading, order)
    return torch.where(left > 0, decisions, reading.predicted.unsqueeze(1))


def _decode_prefixes(reading: Reading, order: Int[Tensor, "batch tokens"]) -> Int[Tensor, "batch tokens"]:
    """The general path: the weights are decoded for each number of removed items, some numbers at a time."""
    rank = order.argsort(1).unsqueeze(1)
    numbers = torch.arange(1, order.shape[1] + 1, device=order.device)
    decisions = []
    for removed in numbers.split(reading.variants_at_once(max(1, _WEIGHTS_AT_ONCE // reading.weights.numel()))):
        left = left_of(reading, rank >= removed[:, None])
        decisions.append(reading.decode(renormalised(reading, left)).argmax(-1))
    return torch.cat(decisions, 1)
