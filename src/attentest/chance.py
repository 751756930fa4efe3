"""Random numbers keyed by text, so that batch size and order change nothing."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def keyed_uniform(
    seed: int, purpose: str, rows: Int[np.ndarray, "rows"], draws: int
) -> Float[np.ndarray, "rows draws"]:
    """Numbers in [0, 1): draw j of row r hangs on (seed, purpose, r, j) alone."""
    return keyed_rows(seed, purpose, rows, (draws,))


def keyed_rows(
    seed: int, purpose: str, rows: Int[np.ndarray, "rows"], shape: Sequence[int]
) -> Float[np.ndarray, "rows *inner draws"]:
    """The same for rows of draws within each row (heads, queries): each hangs on its place alone, not on the shape."""
    *inner, draws = shape
    start = np.uint64((seed & 0xFFFFFFFF) << 32 | zlib.crc32(purpose.encode()))
    with np.errstate(over="ignore"):
        key = _mix(start + rows.astype(np.uint64) * _GOLDEN)
        for places in inner:
            key = _mix(key[..., None] + (1 + np.arange(places, dtype=np.uint64)) * _GOLDEN)
        stream = _mix(key[..., None] + np.arange(draws, dtype=np.uint64) * _GOLDEN)
    return (stream >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: every bit of the result hangs on every bit of x."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = x ^ (x >> np.uint64(31))
    return mixed
