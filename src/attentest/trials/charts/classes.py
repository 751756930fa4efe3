"""Texts by predicted class, in the corpus's order of classes and with names that fit a legend."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import count

import numpy as np
import pyarrow as pa

from attentest.trials.base import classes_of, words
from attentest.trials.charts.frame import PALETTE, readable, seen


@dataclass(frozen=True)
class ClassGroup:
    name: str  # as it is shown
    there: np.ndarray  # which rows of the table belong to it


def class_groups(table: pa.Table) -> list[ClassGroup]:
    """A group a class, those of two always in their order; the rarest of very many share one."""
    predicted = words(table, "predicted").astype(str)
    counts = Counter(predicted.tolist())
    known = [name for name in _order(table, counts) if name in counts]
    order = _order(table, counts) if len(_order(table, counts)) == 2 else known
    if len(order) <= len(PALETTE):
        return [ClassGroup(shown, predicted == name) for name, shown in zip(order, distinct(order), strict=True)]
    often = {name for name, _ in counts.most_common(len(PALETTE) - 1)}
    kept = [name for name in order if name in often]
    *shown, others = distinct([*kept, f"{len(order) - len(kept)} other classes"])
    groups = [ClassGroup(label, predicted == name) for name, label in zip(kept, shown, strict=True)]
    return [*groups, ClassGroup(others, ~np.isin(predicted, kept))]


def one_group(table: pa.Table) -> list[ClassGroup]:
    """All rows together, where there are no classes."""
    return [ClassGroup("all pairs", np.ones(len(table), bool))]


def _order(table: pa.Table, counts: Counter[str]) -> list[str]:
    stored = classes_of(table)
    return sorted(counts) if stored is None else stored


def distinct(names: list[str]) -> list[str]:
    """Names fit for labels, and told apart where only what was cut off or cannot be seen differs."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        shown = readable(name)
        choices = (shown if n == 1 else f"{shown} ({n})" for n in count(1))
        found.append(next(choice for choice in choices if seen(choice) not in taken))
        taken.add(seen(found[-1]))
    return found
