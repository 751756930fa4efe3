"""Texts by predicted class, in the corpus's order of classes and with names that fit a legend."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from attentest.trials.base import CLASSES, column
from attentest.trials.charts.frame import PALETTE, readable


@dataclass(frozen=True)
class ClassGroup:
    name: str  # as it is shown
    there: np.ndarray  # which rows of the table belong to it


def class_groups(table: pa.Table) -> list[ClassGroup]:
    """A group a class, those of two always in their order; the rarest of very many share one."""
    predicted = column(table, "predicted").astype(str)
    counts = Counter(predicted.tolist())
    known = [name for name in _order(table, counts) if name in counts]
    order = _order(table, counts) if len(_order(table, counts)) == 2 else known
    if len(order) <= len(PALETTE):
        return [ClassGroup(shown, predicted == name) for name, shown in zip(order, distinct(order), strict=True)]
    often = {name for name, _ in counts.most_common(len(PALETTE) - 1)}
    kept = [name for name in order if name in often]
    groups = [ClassGroup(shown, predicted == name) for name, shown in zip(kept, distinct(kept), strict=True)]
    return [*groups, ClassGroup(f"{len(order) - len(kept)} other classes", ~np.isin(predicted, kept))]


def _order(table: pa.Table, counts: Counter[str]) -> list[str]:
    stored = (table.schema.metadata or {}).get(CLASSES.encode())
    return json.loads(stored) if stored else sorted(counts)


def distinct(names: list[str]) -> list[str]:
    """Names fit for labels, and told apart where only what was cut off differs."""
    shown = [readable(name) for name in names]
    seen: Counter[str] = Counter()
    found = []
    for name in shown:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
