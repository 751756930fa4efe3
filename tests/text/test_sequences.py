"""Ragged sequences in flat arrays, against lists of lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.text.sequences import Sequences, unpad

LISTS = st.lists(st.lists(st.integers(1, 9), max_size=6), max_size=8)


def flat(lists: list[list[int]]) -> Sequences:
    offsets = np.cumsum([0, *(len(one) for one in lists)])
    return Sequences(np.array([i for one in lists for i in one], np.int32), offsets)


def lists_of(sequences: Sequences) -> list[list[int]]:
    return [sequences[i].tolist() for i in range(len(sequences))]


@settings(deadline=None)
@given(lists=LISTS)
def test_rows_and_lengths(lists: list[list[int]]) -> None:
    sequences = flat(lists)
    assert lists_of(sequences) == lists
    assert sequences.lengths.tolist() == [len(one) for one in lists]


@settings(deadline=None)
@given(lists=LISTS, data=st.data())
def test_padded(lists: list[list[int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=9)) if lists else []
    ids, mask = flat(lists).padded(np.array(rows, np.int64))
    longest = max((len(lists[row]) for row in rows), default=0)
    assert ids.shape == mask.shape == (len(rows), longest)
    assert ids.dtype == np.int32
    assert ids.tolist() == [lists[row] + [0] * (longest - len(lists[row])) for row in rows]
    assert mask.tolist() == [[i < len(lists[row]) for i in range(longest)] for row in rows]


@settings(deadline=None)
@given(lists=LISTS.filter(bool))
def test_padded_with_other_values(lists: list[list[int]]) -> None:
    sequences = flat(lists)
    values = (sequences.ids / 10).astype(np.float32)
    rows = np.arange(len(lists))[::-1]
    weights, mask = sequences.padded(rows, values)
    assert weights.dtype == np.float32
    for row, weight, real in zip(rows, weights, mask, strict=True):
        assert weight[real].tolist() == [np.float32(i / 10) for i in lists[row]]
        assert not weight[~real].any()


@settings(deadline=None)
@given(lists=LISTS, longest=st.integers(1, 7), data=st.data())
def test_select(lists: list[list[int]], longest: int, data: st.DataObject) -> None:
    kept = sorted(data.draw(st.sets(st.integers(0, len(lists) - 1)))) if lists else []
    chosen = flat(lists).select(np.array(kept, np.int64), longest)
    assert lists_of(chosen) == [lists[row][:longest] for row in kept]


@settings(deadline=None)
@given(lists=LISTS)
def test_unpad_undoes_padding(lists: list[list[int]]) -> None:
    ids, mask = flat(lists).padded(np.arange(len(lists)))
    assert [one.tolist() for one in unpad(ids, mask)] == lists


@pytest.mark.parametrize(("width", "rows"), [(3, 0), (0, 2)])
def test_unpad_of_nothing(width: int, rows: int) -> None:
    empty = np.zeros((rows, width))
    assert [one.tolist() for one in unpad(empty, empty.astype(bool))] == [[]] * rows
