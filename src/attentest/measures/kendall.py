"""Kendall's τ-b with p-values, for many pairs of vectors at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.parallel import over_cores

_EXACT_UP_TO = 33  # without ties, p-values of shorter vectors come from the exact distribution, as in scipy
_PAIRS_AT_ONCE = 262_144


def kendall_tau(
    x: Float[Tensor, "batch tokens"], y: Float[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"]
) -> tuple[Float[np.ndarray, "batch"], Float[np.ndarray, "batch"]]:
    """τ-b of each row of x with the same row of y over real tokens, and its two-sided p-value.

    NaN where it is not defined: fewer than two tokens, a row whose values are all the same or not all finite.
    """
    given = x.detach().cpu().numpy(), y.detach().cpu().numpy(), mask.cpu().numpy()
    counts = over_cores(lambda some: _count(*(values[some] for values in given)), _chunks(*x.shape))
    size, concordant, ties_x, ties_y, ties_both, moments = (np.concatenate(c) for c in zip(*counts, strict=True))
    total = size * (size - 1) // 2
    discordant = total - ties_x - ties_y + ties_both - concordant
    difference = concordant - discordant
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.clip(difference / np.sqrt(total - ties_x) / np.sqrt(total - ties_y), -1, 1)
    finite = (np.isfinite(given[0]) & np.isfinite(given[1]) | ~given[2]).all(1)
    defined = (ties_x < total) & (ties_y < total) & finite
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


def _count(x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sizes, concordant pairs, pairs tied in x, in y and in both, and the sums over ties that the variance needs."""
    ranks_x, ranks_y = _ranks(x, mask), _ranks(y, mask)
    groups_x, groups_y = _group_sizes(ranks_x, mask), _group_sizes(ranks_y, mask)
    both = ranks_x.astype(np.int64) * x.shape[1] + ranks_y
    tied = (groups_x > 1).any(1) & (groups_y > 1).any(1)
    ties_both = np.zeros(len(x), np.int64)
    if tied.any():
        ties_both[tied] = _pairs(_group_sizes(_ranks(both[tied], mask[tied]), mask[tied]))
    moments = [(g * (g - 1) * factor).sum(1) for g in (groups_x, groups_y) for factor in (g - 2, 2 * g + 5)]
    return (
        mask.sum(1),
        _concordant(ranks_x, ranks_y, mask),
        _pairs(groups_x),
        _pairs(groups_y),
        ties_both,
        np.stack(moments, 1),
    )


def _concordant(x: Int[np.ndarray, "batch tokens"], y: Int[np.ndarray, "batch tokens"], mask: np.ndarray) -> np.ndarray:
    """Pairs with i below j in both. Small integers and truth values fill a vector register many times over."""
    small = np.int16 if x.shape[1] < 2**15 - 1 else np.int32
    # padding is below everything in x and above everything in y, so that it is in no pair
    x, y = np.where(mask, x, -1).astype(small), np.where(mask, y, x.shape[1]).astype(small)
    width = -(-x.shape[1] // 8) * 8  # eight truth values are one number to count bits in
    below = np.zeros((len(x), x.shape[1], width), bool)
    np.less(x[:, :, None], x[:, None, :], out=below[:, :, : x.shape[1]])
    below[:, :, : x.shape[1]] &= y[:, :, None] < y[:, None, :]
    counts: np.ndarray = np.bitwise_count(below.reshape(len(x), -1).view(np.uint64)).sum(1, dtype=np.int64)
    return counts


def _ranks(values: np.ndarray, mask: np.ndarray) -> Int[np.ndarray, "batch tokens"]:
    """0, 1, 2, … from the smallest value up, equal ones alike; padding comes last."""
    padded = np.where(mask, values, np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).max)
    order = padded.argsort(1)
    ordered = np.take_along_axis(padded, order, 1)
    rank = np.zeros(order.shape, np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=rank[:, 1:])
    found = np.empty_like(rank)
    np.put_along_axis(found, order, rank, 1)
    return found


def _group_sizes(ranks: np.ndarray, mask: np.ndarray) -> Int[np.ndarray, "batch tokens"]:
    """How many tokens have each rank."""
    rows, tokens = ranks.shape
    places = (ranks + tokens * np.arange(rows)[:, None])[mask]
    return np.bincount(places, minlength=rows * tokens).reshape(rows, tokens)


def _pairs(groups: np.ndarray) -> np.ndarray:
    found: np.ndarray = (groups * (groups - 1)).sum(1) // 2
    return found


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
