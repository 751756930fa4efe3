"""Tables of tests in which every two choices of two parts meet at least once, instead of all products."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest


def all_pairs(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Rows of places, one for each part, in which each two places of each two parts stand together in some row.

    A row begins with a pair that is still missing; each other part then takes the place that adds the most new pairs.
    """
    places = [(part, place) for part, size in enumerate(sizes) for place in range(size)]
    missing = dict.fromkeys(pair for pair in combinations(places, 2) if pair[0][0] != pair[1][0])
    rows: list[tuple[int, ...]] = [(place,) for place in range(sizes[0])] if len(sizes) == 1 else []
    while missing:
        row = dict(next(iter(missing)))
        for part in sorted(set(range(len(sizes))) - set(row), key=lambda p: -sizes[p]):
            row[part] = max(range(sizes[part]), key=lambda i: len(_new(missing, row, part, i)))
        for pair in combinations(sorted(row.items()), 2):
            missing.pop(pair, None)
        rows.append(tuple(row[part] for part in range(len(sizes))))
    return rows


def _new(missing: Collection[Any], row: Mapping[int, int], part: int, place: int) -> list[Any]:
    pairs = (tuple(sorted(((part, place), other))) for other in row.items())
    return [pair for pair in pairs if pair in missing]


def over_pairs(choices: Mapping[str, Collection[Any]]) -> pytest.MarkDecorator:
    """A `parametrize` over all pairs; a key may name several arguments, with commas, whose values come as tuples."""
    names = [name.strip() for key in choices for name in key.split(",")]
    values = [[value if "," in key else (value,) for value in part] for key, part in choices.items()]
    rows = [sum((values[part][i] for part, i in enumerate(row)), ()) for row in all_pairs([len(v) for v in values])]
    return pytest.mark.parametrize(names, rows)
