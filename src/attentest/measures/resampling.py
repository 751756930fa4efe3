"""Samples of texts with replacement, as how often each text is in them: sums over samples are one matrix product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

SAMPLES = 1000
FEWEST = 25  # texts: with fewer, resampling covers too little
_CELLS_AT_ONCE = 4_000_000


def drawn_times(n: int, seed: int) -> Iterator[Float[np.ndarray, "samples texts"]]:
    """How often each text is in each sample, in chunks; the same for the same seed and number of texts."""
    generator = np.random.default_rng([seed, n])
    step = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, SAMPLES, step):
        yield generator.multinomial(n, np.full(n, 1 / n), min(step, SAMPLES - start)).astype(float)


def resampled_sums(values: Float[np.ndarray, "texts columns"], seed: int) -> Float[np.ndarray, "samples columns"]:
    return np.concatenate([times @ values for times in drawn_times(len(values), seed)])
