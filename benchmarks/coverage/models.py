"""Intervals of the area under a ROC curve, over models."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from attentest.measures.roc import auroc
from benchmarks.coverage.row import Coverage, of_estimates


def of_areas(apart: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    generator = np.random.default_rng(seed)
    truth = (1 + math.erf(apart / 2)) / 2
    found = [auroc(generator.normal(apart, 1, n), generator.normal(0, 1, n)) for _ in range(simulations)]
    return of_estimates("AUROC", f"{truth:.2f}, as many on each side", 2 * n, found, truth)


def of_clustered_areas(apart: float, clusters: int, n: int, simulations: int, seed: int = 0) -> Coverage:
    """Scores of models of the same cluster are alike; each has positives and negatives."""
    generator = np.random.default_rng(seed)
    each = n // (2 * clusters)  # of either side of a cluster
    names = np.repeat(np.arange(clusters), each)
    found = []
    for _ in range(simulations):
        of_cluster = generator.normal(0, 0.7, (2, clusters))  # positives and negatives differ in it
        positive, negative = (generator.normal(0, 1, len(names)) + side[names] for side in of_cluster)
        found.append(auroc(positive + apart, negative, (names, names)))
    truth = (1 + math.erf(apart / 2 / math.sqrt(1 + 0.7**2))) / 2
    return of_estimates("AUROC, clustered", f"{truth:.2f}, {clusters} clusters", n, found, truth)


def rows(n: int, simulations: int) -> Iterator[Coverage]:
    yield from (of_areas(apart, n // 2, simulations) for apart in (0, 1.5, 3))
    clusters = 5 if n == 20 else 10
    yield from (of_clustered_areas(apart, clusters, n, simulations) for apart in (0, 1.5, 3))
