"""F1 as a mean over texts, so that it and differences of it have intervals like any mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attentest.measures.estimate import Estimate, undefined

Labels = Int[np.ndarray, "texts"]


@dataclass(frozen=True)
class F1Parts:
    """What each text adds: the linear part of F1, whose mean over texts is F1 itself."""

    values: Float[np.ndarray, "texts"]
    bounds: tuple[float, float]  # of what another text could add
    every_class: bool  # whether each class that counts occurs: else it is not known how well it is found

    def __sub__(self, other: F1Parts) -> F1Parts:
        (low, high), (least, most) = self.bounds, other.bounds
        seen = self.every_class and other.every_class
        return F1Parts(self.values - other.values, (low - most, high - least), seen)


def f1_parts(labels: Labels, predicted: Labels, classes: int) -> F1Parts:
    """F1 of the positive class (1) when there are two, else the mean over classes; 0 where a class is never hit."""
    counted = np.array([1]) if classes == 2 else np.arange(classes)
    is_label, is_predicted = (np.asarray(named)[:, None] == counted for named in (labels, predicted))
    hit, named = (is_label & is_predicted).astype(float), is_label.astype(float) + is_predicted
    seen = named.any(0)
    often = np.where(seen, named.mean(0), 1)
    each = 2 * hit.mean(0) / often
    values = each.mean() + ((2 * hit - each * named) / often).mean(1)
    # a text that is wrong is missing in one class and too many in another
    worst = np.sort(each / often)[-2:].sum() / len(counted)
    best = (2 * (1 - each) / often).max() / len(counted)
    return F1Parts(values, (float(each.mean() - worst), float(each.mean() + best)), bool(seen.all()))


def mean_part(parts: Sequence[F1Parts]) -> F1Parts:
    """Of the mean over trainings that were tested on the same texts."""
    low, high = np.mean([one.bounds for one in parts], 0)
    values: Float[np.ndarray, "texts"] = np.mean([one.values for one in parts], 0)
    return F1Parts(values, (float(low), float(high)), all(one.every_class for one in parts))


def as_f1(found: Estimate, parts: F1Parts, bounds: tuple[float, float]) -> Estimate:
    """The estimate of the parts' mean within the bounds of F1 or of its differences; without an interval where a class
    does not occur."""
    if not parts.every_class:
        return undefined(found.n, found.value)
    return Estimate(found.value, max(found.low, bounds[0]), min(found.high, bounds[1]), found.n)
