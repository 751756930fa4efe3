"""How far a ranking of tokens agrees with marks on them (DeYoung et al. 2020), and what a random one would reach."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

Marks = Bool[np.ndarray, "batch tokens"]
KINDS = F1, IOU, AUPRC = ("token F1", "IoU", "AUPRC")
Agreement = dict[str, Float[np.ndarray, "batch"]]  # kind -> of each text


def agreement(ranks: Int[np.ndarray, "batch tokens"], marks: Marks) -> Agreement:
    """Token F1 and intersection over union of the marked tokens with as many first ones, and the area under the curve
    of precision and recall (average precision). Ranks count from 0; NaN without a mark."""
    size = _sizes(marks)
    hits = (marks & (ranks < size[:, None])).sum(1)
    in_order = np.take_along_axis(marks, ranks.argsort(1), 1)
    precision = in_order.cumsum(1) / np.arange(1, marks.shape[1] + 1)
    return {F1: hits / size, IOU: hits / (2 * size - hits), AUPRC: (precision * in_order).sum(1) / size}


def chance_agreement(marks: Marks, lengths: Int[np.ndarray, "batch"]) -> Agreement:
    """The expectation of each over all orders of a text's tokens."""
    size, n = _sizes(marks), lengths.astype(float)
    harmonic = np.cumsum(1 / np.arange(1, marks.shape[1] + 1))[lengths - 1]
    others = (size - 1) / np.maximum(n - 1, 1)  # of the tokens before a marked one, the share that is marked
    return {
        F1: size / n,
        IOU: _expected_iou(size, n),
        AUPRC: (harmonic + others * (n - harmonic)) / n,
    }


def _expected_iou(size: Float[np.ndarray, "batch"], n: Float[np.ndarray, "batch"]) -> Float[np.ndarray, "batch"]:
    """The number of hits is hypergeometric."""
    marked, tokens = torch.from_numpy(size).unsqueeze(1), torch.from_numpy(n).unsqueeze(1)
    most = int(np.nanmax(size)) if np.isfinite(size).any() else 0
    hits = torch.arange(most + 1, dtype=torch.float64)
    possible = (hits <= marked) & (hits >= 2 * marked - tokens)
    chances = _log_ways(marked, hits) + _log_ways(tokens - marked, marked - hits) - _log_ways(tokens, marked)
    expected = (chances.exp() * hits / (2 * marked - hits)).where(possible, 0).sum(1).numpy()
    return np.where(np.isnan(size), np.nan, expected)


def _log_ways(total: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    return torch.lgamma(total + 1) - torch.lgamma(chosen + 1) - torch.lgamma(total - chosen + 1)


def _sizes(marks: Marks) -> Float[np.ndarray, "batch"]:
    size = marks.sum(1).astype(float)
    return np.where(size > 0, size, np.nan)
