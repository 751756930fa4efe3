"""The tables of tests miss no pair, and are far shorter than the products."""

from __future__ import annotations

from itertools import combinations, product
from math import prod

import pytest
from all_pairs import all_pairs, over_pairs

SIZES = [(1,), (3,), (2, 3), (1, 4, 1), (2, 2, 2), (9, 4, 10, 2), (7, 4, 6, 2), (16, 3, 5, 2)]


@pytest.mark.parametrize("sizes", SIZES)
def test_every_pair_of_choices_is_there(sizes: tuple[int, ...]) -> None:
    rows = all_pairs(sizes)
    assert len(set(rows)) == len(rows)
    for row in rows:
        assert all(0 <= i < size for i, size in zip(row, sizes, strict=True))
    for part, size in enumerate(sizes):
        assert {row[part] for row in rows} == set(range(size))
    for a, b in combinations(range(len(sizes)), 2):
        assert {(row[a], row[b]) for row in rows} == set(product(range(sizes[a]), range(sizes[b])))
    two_largest = prod(sorted(sizes)[-2:])
    assert two_largest <= len(rows) <= 1.25 * two_largest


def test_two_parts_are_their_product() -> None:
    assert sorted(all_pairs((3, 2))) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_arguments_of_one_part_stay_together() -> None:
    mark = over_pairs({"encoder, size": [("a", 1), ("b", 2)], "classes": [2, 4]}).mark
    names, rows = mark.args
    assert names == ["encoder", "size", "classes"]
    assert sorted(rows) == [("a", 1, 2), ("a", 1, 4), ("b", 2, 2), ("b", 2, 4)]
