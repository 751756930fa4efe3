"""Random numbers keyed by text, so that batch size and order change nothing."""

from __future__ import annotations

import zlib

import numpy as np
from jaxtyping import Float, Int

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def keyed_uniform(
    seed: int, purpose: str, rows: Int[np.ndarray, "rows"], draws: int
) -> Float[np.ndarray, "rows draws"]:
    """Numbers in [0, 1): draw j of row r hangs on (seed, purpose, r, j) alone."""
    start = np.uint64((seed & 0xFFFFFFFF) << 32 | zlib.crc32(purpose.encode()))
    with np.errstate(over="ignore"):
        row_key = _mix(start + rows.astype(np.uint64) * _GOLDEN)
        stream = _mix(row_key[:, None] + np.arange(draws, dtype=np.uint64) * _GOLDEN)
    return (stream >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: every bit of the result hangs on every bit of x."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = x ^ (x >> np.uint64(31))
    return mixed
