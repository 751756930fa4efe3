"""How much more the weights rest on informative states than equal weights would."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

PERMUTATIONS = 20  # of the outputs among texts: what a kind of state seems to tell by chance

ByKind = Float[np.ndarray, "texts kinds"]


@dataclass(frozen=True)
class States:
    """Texts as the kinds of their states, and their outputs; kinds and outputs are labels."""

    counts: ByKind  # how many states of each kind a text has
    weights: ByKind  # the share of its weight on each kind
    others: ByKind  # the same for weights that are permuted within the text
    outputs: Float[np.ndarray, "texts outputs"]  # 1 at the text's own

    def informed(self, kept: Bool[np.ndarray, "texts"], seed: int) -> Float[np.ndarray, "3"]:
        """Of the texts kept, as shares of the outputs' entropy: the mean information of a state under the weights,
        under the permuted weights, and of a text's most informative state, each less that under equal weights.

        The information of a kind c is KL(p(output | c) ‖ p(output)): a property of the kind, so weights that have
        nothing to do with the states have an expectation of 0, however few the texts. It is counted over the other
        texts, and what it is on average when outputs are permuted among texts is subtracted.
        """
        counts, outputs = self.counts[kept], self.outputs[kept]
        overall = outputs.mean(0)
        entropy = -_xlogx(overall).sum()
        if not entropy > 0:
            return np.full(3, np.nan)
        own = counts[:, :, None] * outputs[:, None, :]
        generator = np.random.default_rng(seed)
        permuted = [_divergence(counts.T @ generator.permutation(outputs), overall) for _ in range(PERMUTATIONS)]
        information = _divergence(own.sum(0) - own, overall) - np.mean(permuted, 0)
        equal = (counts / counts.sum(1, keepdims=True) * information).sum(1)
        most = np.where(counts > 0, information, -np.inf).max(1)
        under = [(weights[kept] * information).sum(1) for weights in (self.weights, self.others)]
        return np.array([(some - equal).mean() / entropy for some in (*under, most)])


def states(
    kinds: Int[np.ndarray, "texts items"],
    weights: Float[np.ndarray, "texts items"],
    draws: Float[np.ndarray, "texts items"],
    outputs: Int[np.ndarray, "texts"],
) -> States:
    """Items that a text lacks have a negative weight; `draws` are random numbers that permute a text's weights."""
    there = weights >= 0
    shares = np.where(there, weights, 0) / np.where(there, weights, 0).sum(1, keepdims=True)
    permuted = np.take_along_axis(shares, np.where(there, draws, np.inf).argsort(1), 1)
    counts, own, others = (_by_kind(kinds, values) for values in (there, shares, permuted))
    return States(counts, own, others, np.eye(outputs.max() + 1)[outputs])


def _by_kind(kinds: np.ndarray, values: np.ndarray) -> ByKind:
    sums = np.zeros((len(kinds), int(kinds.max()) + 1))
    np.add.at(sums, (np.arange(len(kinds))[:, None], kinds), values)
    return sums


def _divergence(counts: Float[np.ndarray, "*rows outputs"], overall: Float[np.ndarray, "outputs"]) -> np.ndarray:
    """KL(counts as shares ‖ overall); 0 where nothing was counted."""
    shares = counts / np.maximum(counts.sum(-1, keepdims=True), 1)
    divergence: np.ndarray = (_xlogx(shares) - shares * np.log(np.where(overall > 0, overall, 1))).sum(-1)
    return divergence


def _xlogx(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = values * np.log(np.where(values > 0, values, 1))
    return found
