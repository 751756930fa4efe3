"""Kendall's τ-b with p-values, for many pairs of vectors at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_EXACT_UP_TO = 33  # without ties, p-values of shorter vectors come from the exact distribution, as in scipy
_PAIRS_AT_ONCE = 4_000_000


def kendall_tau(
    x: Float[Tensor, "batch tokens"], y: Float[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"]
) -> tuple[Float[np.ndarray, "batch"], Float[np.ndarray, "batch"]]:
    """τ-b of each row of x with the same row of y over real tokens, and its two-sided p-value.

    NaN where it is not defined: fewer than two tokens, or a row whose values are all the same.
    """
    counts = [_count(x[s], y[s], mask[s]) for s in _chunks(*x.shape)]
    size, concordant, ties_x, ties_y, ties_both, moments = (np.concatenate(c) for c in zip(*counts, strict=True))
    total = size * (size - 1) // 2
    discordant = total - ties_x - ties_y + ties_both - concordant
    difference = concordant - discordant
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.clip(difference / np.sqrt(total - ties_x) / np.sqrt(total - ties_y), -1, 1)
    defined = (ties_x < total) & (ties_y < total)
    tau[~defined] = np.nan
    p = np.full(len(tau), np.nan)
    exact = defined & (ties_x == 0) & (ties_y == 0)
    exact &= (size <= _EXACT_UP_TO) | (np.minimum(concordant, discordant) <= 1)
    for row in np.flatnonzero(exact):
        p[row] = _exact_p(int(size[row]), int(min(concordant[row], discordant[row])))
    rest = defined & ~exact
    p[rest] = _normal_p(size[rest], difference[rest], ties_x[rest], ties_y[rest], moments[rest])
    return tau, p


def _chunks(rows: int, tokens: int) -> list[slice]:
    step = max(1, _PAIRS_AT_ONCE // max(1, tokens * tokens))
    return [slice(i, i + step) for i in range(0, max(rows, 1), step)]


def _count(x: Tensor, y: Tensor, mask: Tensor) -> tuple[np.ndarray, ...]:
    """Sizes, concordant pairs, pairs tied in x, in y and in both, and the sums over ties that the variance needs."""
    # a pair is concordant when i is above j in both; padding is NaN, which is above and equal to nothing
    x, y = x.masked_fill(~mask, torch.nan), y.masked_fill(~mask, torch.nan)
    above_x, above_y = (x.unsqueeze(2) > x.unsqueeze(1)).float(), (y.unsqueeze(2) > y.unsqueeze(1)).float()
    concordant = (above_x.flatten(1).unsqueeze(1) @ above_y.flatten(1).unsqueeze(2)).flatten().round().long()
    size = mask.sum(1)
    ties = torch.zeros(len(x), 3, dtype=torch.long)
    moments = torch.zeros(len(x), 4, dtype=torch.long)
    tied = _has_ties(x) | _has_ties(y)
    if tied.any():
        ties[tied], moments[tied] = _count_ties(x[tied], y[tied], mask[tied])
    return tuple(t.cpu().numpy() for t in (size, concordant, *ties.T, moments))


def _has_ties(x: Tensor) -> Bool[Tensor, "batch"]:
    ordered = x.sort(1).values
    return (ordered[:, 1:] == ordered[:, :-1]).any(1)


def _count_ties(x: Tensor, y: Tensor, mask: Tensor) -> tuple[Int[Tensor, "batch 3"], Int[Tensor, "batch 4"]]:
    equal_x, equal_y = x.unsqueeze(2) == x.unsqueeze(1), y.unsqueeze(2) == y.unsqueeze(1)
    groups = [equal.sum(2) for equal in (equal_x, equal_y, equal_x & equal_y)]  # tokens with a token's value
    pairs = torch.stack([torch.where(mask, g - 1, 0).sum(1) // 2 for g in groups], 1)
    sums = [torch.where(mask, (g - 1) * factor, 0).sum(1) for g in groups[:2] for factor in (g - 2, 2 * g + 5)]
    return pairs, torch.stack(sums, 1)


def _normal_p(
    size: np.ndarray, difference: np.ndarray, ties_x: np.ndarray, ties_y: np.ndarray, moments: np.ndarray
) -> np.ndarray:
    """Two-sided p of the normal approximation, with the variance corrected for ties (Kendall 1970)."""
    x0, x1, y0, y1 = moments.T.astype(float)
    n = size.astype(float)
    m = n * (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        third = np.where(x0 * y0 > 0, x0 * y0 / (9 * m * (n - 2)), 0.0)
        variance = (m * (2 * n + 5) - x1 - y1) / 18 + 2 * ties_x * ties_y / m + third
        z = np.abs(difference) / np.sqrt(variance)
    return np.array([math.erfc(value / math.sqrt(2)) for value in z])


@cache
def _exact_p(size: int, fewer: int) -> float:
    """Two-sided p of a count of pairs as small as `fewer` among all orders of `size` values without ties."""
    if 4 * fewer == size * (size - 1) or size <= 2:
        return 1.0
    if fewer <= 1:
        return 2.0 / math.factorial(size - fewer) if size < 171 + fewer else 0.0
    # ways[c]: orders with c discordant pairs, grown one value at a time (Mahonian numbers)
    ways = [1]
    for length in range(2, size + 1):
        most = min(fewer, length * (length - 1) // 2)
        running, grown = 0, []
        for c in range(most + 1):
            running += ways[c] if c < len(ways) else 0
            running -= ways[c - length] if 0 <= c - length < len(ways) else 0
            grown.append(running)
        ways = grown
    return min(1.0, 2.0 * sum(ways[: fewer + 1]) / math.factorial(size))
