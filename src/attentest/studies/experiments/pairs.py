"""How far the weights of several trainings are from one another, two by two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float

from attentest.interventions import permuted
from attentest.measures.divergences import LARGEST_JSD, jsd
from attentest.measures.intervals import Estimate
from attentest.studies.experiments.base import padded
from attentest.studies.experiments.repeated import FEWEST, mean_over
from attentest.training.run import Run


@dataclass(frozen=True)
class Pairs:
    """Each two of several trainings, text by text.

    A pair hangs on two trainings, so that pairs are not independent; the jackknife's pseudo-values of the trainings
    nearly are, and their mean is that over pairs.
    """

    numbers: Sequence[tuple[int, int]]  # of the trainings
    apart: Float[np.ndarray, "pairs texts"]  # JSD
    permuted: Float[np.ndarray, "pairs texts"]  # the same, the first one's weights in a random order of the tokens

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Pairs:
        maps = [tuple(map(torch.from_numpy, padded(run.shares))) for run in runs]
        mixed = [permuted(weights, mask, np.arange(len(mask)), seed) for seed, (weights, mask) in enumerate(maps)]
        numbers = list(combinations(range(len(runs)), 2))
        return cls(
            numbers,
            np.stack([jsd(maps[a][0], maps[b][0]).numpy() for a, b in numbers]),
            np.stack([jsd(mixed[a], maps[b][0]).numpy() for a, b in numbers]),
        )

    def mean(self, values: Float[np.ndarray, "pairs texts"], most: float = LARGEST_JSD) -> Estimate:
        return _skewed(mean_over(self._of_trainings(values), (0, most)), most)

    def agreement(self) -> Estimate:
        """1 − mean JSD / mean JSD of permuted maps; its interval is that of the ratio's linear part."""
        apart, permuted = self._of_trainings(self.apart), self._of_trainings(self.permuted)
        chance = permuted.mean()
        if not chance:  # no text has weights that another order would change
            return Estimate(math.nan, math.nan, math.nan, apart.shape[1])
        ratio = apart.mean() / chance
        bounds = (ratio - ratio * LARGEST_JSD / chance, ratio + LARGEST_JSD / chance)
        found = _skewed(mean_over(ratio + (apart - ratio * permuted) / chance, bounds), LARGEST_JSD / chance)
        return Estimate(1 - found.value, 1 - found.high, 1 - found.low, found.n)

    def _of_trainings(self, values: Float[np.ndarray, "pairs texts"]) -> Float[np.ndarray, "trainings texts"]:
        """The pseudo-values: k · mean over all pairs − (k − 1) · mean over the pairs that the training is not in."""
        trainings = range(self.numbers[-1][1] + 1)
        if len(trainings) < FEWEST:
            return values  # one pair: none is left without either training
        left = [[training not in pair for pair in self.numbers] for training in trainings]
        without = np.stack([values[there].mean(0) for there in left])
        found: np.ndarray = len(trainings) * values.mean(0) - (len(trainings) - 1) * without
        return found


def _skewed(found: Estimate, most: float) -> Estimate:
    """With the upper limit that the half-width gives on a logarithmic scale, `most` at most: few trainings seldom have
    one among them that is far from the others, so that symmetric limits lie below the truth too often."""
    if not found.value > 0:
        return found
    times = min((found.high - found.value) / found.value, 100.0)  # more would overflow, and is beyond `most`
    return Estimate(found.value, found.low, min(found.value * math.exp(times), most), found.n)
