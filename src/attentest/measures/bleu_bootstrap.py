"""BLEU from what is counted in each sentence, with intervals that come from resampling sentences (Koehn 2004 §3–4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.resampling import FEWEST, resampled_sums

ORDERS = 4  # n-grams of 1 to 4 words
COUNTED = 2 + 2 * ORDERS  # as sacrebleu has them: words, words of the reference, n-grams that match, n-grams
ENOUGH = 50  # sentences: with fewer, resampling covers somewhat too little

Counts = Shaped[np.ndarray, "sentences counted"]


@dataclass(frozen=True)
class BleuFigures:
    """Of a base and of other systems, on the same sentences."""

    base: Estimate
    scores: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]  # to the base; its interval is that of the pairs


def corpus_bleu(sums: Shaped[np.ndarray, "*batch counted"]) -> Float[np.ndarray, "*batch"]:
    """From sums over the sentences of a corpus (Papineni et al. 2002 §2.3).

    Where no n-gram of a length matches, 1/2, 1/4 … of one does (Chen & Cherry 2014, method 3), as sacrebleu has it.
    """
    words, reference = sums[..., 0], sums[..., 1]
    right, every = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    none = right == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(none, 0.5 ** none.cumsum(-1), right) / every
        brevity = np.exp(np.minimum(0, 1 - reference / words))
        found = 100 * brevity * np.exp(np.log(precision).mean(-1))
    return np.where((every > 0).all(-1) & ~none.all(-1), found, 0.0)


def bleu_bootstrap(base: Counts, others: Mapping[str, Counts], seed: int = 0) -> BleuFigures:
    """All systems are scored on the same 1,000 samples of the sentences, so that a difference is one of pairs.

    Limits are the percentiles of the samples; fewer than 25 sentences have none.
    """
    systems = np.stack([base, *others.values()], 1).astype(float)
    whole = corpus_bleu(systems.sum(0))
    n = len(base)
    if n < FEWEST:
        drawn = np.full((1, len(whole)), math.nan)
    else:
        flat = systems.reshape(n, -1)
        drawn = corpus_bleu(resampled_sums(flat, seed).reshape(-1, *systems.shape[1:]))
    scores = [_estimate(value, found, n) for value, found in zip(whole, drawn.T, strict=True)]
    gaps = [_estimate(value - whole[0], found - drawn[:, 0], n) for value, found in zip(whole, drawn.T, strict=True)]
    return BleuFigures(scores[0], dict(zip(others, scores[1:], strict=True)), dict(zip(others, gaps[1:], strict=True)))


def _estimate(value: float, drawn: Float[np.ndarray, "samples"], n: int) -> Estimate:
    if math.isnan(drawn[0]):
        return undefined(n, float(value))
    low, high = np.quantile(drawn, (TAIL, 1 - TAIL))
    return Estimate(float(value), float(low), float(high), n)
