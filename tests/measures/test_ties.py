"""Values within a width of one another, against a loop and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.measures.ties import tie


def twin(values: list[float], width: float) -> list[float]:
    """From the smallest up: whoever is further than the width from the group's first opens another."""
    found, first = dict.fromkeys(values, 0.0), -np.inf
    for value in sorted(values):
        if value > first + width:
            first = value
        found[value] = first
    return [found[value] for value in values]


def tied(values: list[float], width: float) -> list[float]:
    row = torch.tensor([values], dtype=torch.float64)
    return tie(row, torch.ones_like(row, dtype=torch.bool), width)[0].tolist()


def test_by_hand() -> None:
    assert tied([5.0, 1.0, 1.5, 9.0, 2.0, 2.25], 1.0) == [5.0, 1.0, 1.0, 9.0, 1.0, 2.25]


def test_a_dense_row_is_not_chained_into_one_tie() -> None:
    # steps of 1 with a width of 2.5: groups of three, not one of ten
    assert tied([float(i) for i in range(10)], 2.5) == [0, 0, 0, 3, 3, 3, 6, 6, 6, 9]


def test_a_width_of_0_changes_nothing() -> None:
    values = [0.3, 0.1, 0.1, 0.1 + 1e-16, 0.2]
    assert tied(values, 0.0) == values


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=40), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0, 100.0]),
)
def test_against_the_loop_with_padding(rows: list[list[int]], width: float) -> None:
    tokens = max(map(len, rows)) + 2
    values = torch.full((len(rows), tokens), -3.0)  # what stands on padding is left as it is
    mask = torch.zeros(len(rows), tokens, dtype=torch.bool)
    for row, given_values in enumerate(rows):
        values[row, : len(given_values)] = torch.tensor(given_values, dtype=torch.float32)
        mask[row, : len(given_values)] = True
    found = tie(values, mask, width)
    assert found.dtype == values.dtype
    for row, given_values in enumerate(rows):
        assert found[row, : len(given_values)].tolist() == twin([float(v) for v in given_values], width)
        assert (found[row, len(given_values) :] == -3).all()


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_no_wider_than_the_width_and_keep_their_order(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(6, 300, generator=generator)
    found = tie(values, torch.ones_like(values, dtype=torch.bool), 0.01)
    assert (found <= values).all()
    assert (values.double() - found.double()).max() <= 0.01
    for row in range(6):
        order = values[row].argsort()
        assert (found[row, order].diff() >= 0).all()
        groups = found[row].unique()
        assert (groups.double().diff() > 0.01).all()


def test_what_is_not_finite_stays() -> None:
    values = torch.tensor([[1.0, torch.nan, 1.1], [torch.inf, 2.0, 2.1]])
    found = tie(values, torch.ones_like(values, dtype=torch.bool), 0.5)
    assert found[0, 1].isnan()
    assert found[1].tolist() == [torch.inf, 2.0, 2.0]
