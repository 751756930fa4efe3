"""τ-b and its p-values against scipy, ties, short and constant vectors included."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attentest.measures.kendall import kendall_tau


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("values", [2, 5, 10**6])
def test_against_scipy(seed: int, values: int) -> None:
    generator = np.random.default_rng(seed)
    tokens = int(generator.integers(1, 70))
    lengths = generator.integers(1, tokens + 1, 12)
    x, y = (generator.integers(0, values, (12, tokens)).astype(np.float32) for _ in range(2))
    if seed % 4 == 0:
        y = x + (np.arange(tokens) == 0)  # nearly the same order: the exact tail of long vectors
    if seed % 4 == 1:
        y[:3] = 1.0  # constant
    mask = np.arange(tokens) < lengths[:, None]
    tau, p = kendall_tau(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(mask))
    for row, length in enumerate(lengths):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy warns of vectors of one value
            expected = kendalltau(x[row, :length], y[row, :length])
        assert tau[row] == pytest.approx(expected.statistic, abs=1e-12, nan_ok=True)
        assert p[row] == pytest.approx(expected.pvalue, abs=1e-9, nan_ok=True)


def test_by_hand() -> None:
    # (1, 2, 3) with (1, 3, 2): pairs 12 and 13 agree, 23 does not: τ = (2 − 1)/3
    tau, p = kendall_tau(torch.tensor([[1.0, 2, 3]]), torch.tensor([[1.0, 3, 2]]), torch.ones(1, 3, dtype=torch.bool))
    assert tau[0] == pytest.approx(1 / 3)
    assert p[0] == pytest.approx(1.0)  # 3 of the 6 orders have at most one discordant pair: 2 · 3/6


def test_what_padding_holds_does_not_matter() -> None:
    x, y = torch.randn(5, 9), torch.randn(5, 9)
    mask = torch.arange(9) < torch.tensor([9, 4, 2, 1, 7])[:, None]
    first = kendall_tau(x, y, mask)
    again = kendall_tau(x.masked_fill(~mask, 1e30), y.masked_fill(~mask, torch.inf), mask)
    assert np.array_equal(first[0], again[0], equal_nan=True)
    assert np.array_equal(first[1], again[1], equal_nan=True)
