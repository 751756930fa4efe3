"""How well a score tells two samples apart: the ROC curve and the area under it."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Shaped

from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.intervals import mean
from attentest.measures.quantiles import NORMAL, student_quantile

RESAMPLES = 1000
Scores = Float[np.ndarray, "scores"]
Wins = Float[np.ndarray, "positives negatives"]
Clusters = tuple[Shaped[np.ndarray, "positives"], Shaped[np.ndarray, "negatives"]]


def roc_curve(positive: Scores, negative: Scores) -> tuple[Scores, Scores]:
    """False alarms and hits as shares, at every threshold from above all scores to below them."""
    thresholds = np.unique(np.concatenate([positive, negative]))[::-1]
    hits, alarms = (
        1 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores) for scores in (positive, negative)
    )
    return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], hits])


def auroc(positive: Scores, negative: Scores, clusters: Clusters | None = None, seed: int = 0) -> Estimate:
    """The chance that a positive scores above a negative; ties count half. NaN scores are left out.

    `clusters` name what each score belongs to (those of the positives, those of the negatives), such as the
    architecture of a model: scores of the same cluster are alike, and the interval resamples whole clusters. It is at
    least as wide as that without clusters, as draws of clusters that are all told apart do not show how few they are.
    Without clusters it has the two parts of DeLong's, each with the limits of `mean`, so that a perfect separation of
    few scores has an interval too. `n` is the number of scores.
    """
    sides = [np.asarray(scores, float) for scores in (positive, negative)]
    kept = [~np.isnan(scores) for scores in sides]
    first, second = (scores[some] for scores, some in zip(sides, kept, strict=True))
    n = len(first) + len(second)
    if not len(first) or not len(second):
        return undefined(n)
    wins = _wins(first, second)
    area = float(wins.mean())
    low, high = _delong(wins)
    if clusters is None:
        return Estimate(area, low, high, n)
    rows, columns = (np.asarray(side)[some] for side, some in zip(clusters, kept, strict=True))
    least, most = _resampled(wins, rows, columns, seed)
    return Estimate(area, min(low, least), max(high, most), n)


def _wins(positive: Scores, negative: Scores) -> Wins:
    wins: np.ndarray = (np.sign(positive[:, None] - negative[None]) + 1) / 2
    return wins


def _delong(wins: Wins) -> tuple[float, float]:
    """Its variance has two parts: how positives vary in the share of negatives below them, and the reverse."""
    over_positives, over_negatives = mean(wins.mean(1), (0, 1)), mean(wins.mean(0), (0, 1))
    area = over_positives.value
    below = math.hypot(area - over_positives.low, area - over_negatives.low)
    above = math.hypot(over_positives.high - area, over_negatives.high - area)
    return max(0.0, area - below), min(1.0, area + above)


def _resampled(wins: Wins, first: np.ndarray, second: np.ndarray, seed: int) -> tuple[float, float]:
    """Quantiles of the area over draws of clusters; a draw without positives or without negatives has none."""
    names, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    sums, sizes = np.zeros((2, len(names), len(names)))
    np.add.at(sums, (place[: len(first), None], place[None, len(first) :]), wins)
    np.add.at(sizes, (place[: len(first), None], place[None, len(first) :]), 1)
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES).astype(float)
    top, bottom = (np.einsum("dp,pq,dq->d", drawn, table, drawn) for table in (sums, sizes))
    areas = top[bottom > 0] / bottom[bottom > 0]
    low, high = np.quantile(areas, [TAIL, 1 - TAIL])
    # draws of few clusters vary too little, and their quantiles are those of many
    few = max(len(names), 2)
    wider = student_quantile(1 - TAIL, few - 1) / NORMAL * math.sqrt(few / (few - 1))
    area = wins.mean()
    return max(0.0, float(area - wider * (area - low))), min(1.0, float(area + wider * (high - area)))
