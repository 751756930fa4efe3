"""Mutual information between labels, and the clustering that gives continuous states labels."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

ITERATIONS = 30


def mutual_information(first: Int[np.ndarray, "rows"], second: Int[np.ndarray, "rows"]) -> float:
    """Σ p(a, b) log(p(a, b) / (p(a) p(b))) of two label columns, in nats."""
    joint = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(joint, (first, second), 1)
    joint /= joint.sum()
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / apart[there])).sum())


def cluster(points: Float[Tensor, "rows size"], clusters: int, seed: int, fewest: int = 1) -> Int[np.ndarray, "rows"]:
    """k-means with k-means++ starts; clusters with fewer than `fewest` points are dissolved into their neighbours."""
    points = points.double()
    generator = np.random.default_rng(seed)
    centres = _spread_out(points, min(clusters, len(points)), generator)
    labels = torch.full((len(points),), -1)
    for _ in range(ITERATIONS):
        moved = _nearest(points, centres)
        if bool((moved == labels).all()):
            break
        labels = moved
        sums = torch.zeros_like(centres).index_add_(0, labels, points)
        counts = torch.bincount(labels, minlength=len(centres)).unsqueeze(1)
        centres = torch.where(counts > 0, sums / counts.clamp(min=1), centres)
    while True:
        counts = torch.bincount(labels, minlength=len(centres))
        enough = counts >= fewest
        if bool(enough.all()) or int(enough.sum()) == 0:
            return labels.numpy()
        # the smallest goes first: its points may make another large enough
        kept = torch.arange(len(centres)) != int(torch.where(enough, torch.iinfo(counts.dtype).max, counts).argmin())
        centres = centres[kept]
        labels = _nearest(points, centres)


def _nearest(points: Tensor, centres: Tensor) -> Tensor:
    return (centres.square().sum(1) - 2 * points @ centres.T).argmin(1)


def _spread_out(points: Tensor, clusters: int, generator: np.random.Generator) -> Tensor:
    """k-means++: each next centre is a point drawn in proportion to its squared distance from those there are."""
    chosen = [int(generator.integers(len(points)))]
    distance = (points - points[chosen[0]]).square().sum(1)
    while len(chosen) < clusters:
        total = distance.cumsum(0)
        if float(total[-1]) <= 0:
            break
        drawn = int(torch.searchsorted(total, generator.random() * float(total[-1])))
        chosen.append(min(drawn, len(points) - 1))
        distance = torch.minimum(distance, (points - points[chosen[-1]]).square().sum(1))
    return points[chosen].clone()
