"""How well predictions match labels: accuracy, F1 and AUC."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

Labels = Int[np.ndarray, "rows"]
Probabilities = Float[np.ndarray, "rows classes"]


def accuracy(labels: Labels, predicted: Labels) -> float:
    return float((labels == predicted).mean())


def f1(labels: Labels, predicted: Labels, classes: int) -> float:
    """F1 of the positive class (1) when there are two, else the mean over classes; 0 where a class is never hit."""
    pair = labels.astype(np.int64) * classes + predicted  # int64: narrow labels would overflow
    confusion = np.bincount(pair, minlength=classes**2).reshape(classes, classes)
    hit = np.diag(confusion)
    total = confusion.sum(0) + confusion.sum(1)
    each = np.divide(2.0 * hit, total, out=np.zeros(classes), where=total > 0)
    return float(each[1] if classes == 2 else each.mean())


def auc(labels: Labels, probabilities: Probabilities) -> float:
    """Area under the ROC curve; over more than two classes the mean of each against the rest.

    NaN when fewer than two classes occur in `labels`.
    """
    classes = probabilities.shape[1]
    wanted = [1] if classes == 2 else range(classes)
    areas = [_binary_auc(labels == c, probabilities[:, c]) for c in wanted]
    defined = [area for area in areas if not np.isnan(area)]
    return float(np.mean(defined)) if defined else float("nan")


def _binary_auc(positive: np.ndarray, score: np.ndarray) -> float:
    """P(a positive scores above a negative) + ½ P(they tie), by ranks (Mann–Whitney)."""
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return float("nan")
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    rank_sum = mean_rank[inverse][positive].sum()
    return float((rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def classification_metrics(labels: Labels, probabilities: Probabilities) -> dict[str, float]:
    predicted = probabilities.argmax(1)
    return {
        "accuracy": accuracy(labels, predicted),
        "f1": f1(labels, predicted, probabilities.shape[1]),
        "auc": auc(labels, probabilities),
    }
