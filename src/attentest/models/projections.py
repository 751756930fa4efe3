"""Projections: scores to weights on the simplex of the real tokens.

Every function takes scores (…, tokens) and a mask of the same shape, and gives weights that are ≥ 0, sum to 1
over real tokens and are exactly 0 elsewhere.
"""

from __future__ import annotations

import entmax as entmax_library
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.errors import InputError
from attentest.models.parts import Part, choose

Scores = Float[Tensor, "*batch tokens"]
Mask = Bool[Tensor, "*batch tokens"]
Simplex = Float[Tensor, "*batch tokens"]

ROUNDING = 64  # steps of a number type that two computations of the same score may differ by


def softmax(scores: Scores, mask: Mask) -> Simplex:
    """argmin_p Σ p log p − p·z (Meister et al. 2021 eq. 1)."""
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def sparsemax(scores: Scores, mask: Mask) -> Simplex:
    """argmin_p ‖p − z‖² (Meister et al. 2021 eq. 2)."""
    weights: Tensor = entmax_library.sparsemax(_ready_for_search(scores, mask), dim=-1)
    return weights.to(scores.dtype)


def sparsegen(scores: Scores, mask: Mask, sparsity: float) -> Simplex:
    """argmin_p ‖p − z‖² − λ‖p‖² with λ < 1 (Meister et al. 2021 eq. 3), which is sparsemax of z / (1 − λ)."""
    weights: Tensor = entmax_library.sparsemax(_ready_for_search(scores, mask, 1 - sparsity), dim=-1)
    return weights.to(scores.dtype)


def entmax(scores: Scores, mask: Mask, alpha: float) -> Simplex:
    """α-entmax: softmax at α = 1, sparsemax at α = 2, sparser as α grows."""
    if alpha == 1:
        return softmax(scores, mask)
    ready = _ready_for_search(scores, mask)
    if alpha == 1.5:
        weights: Tensor = entmax_library.entmax15(ready, dim=-1)
    else:
        weights = entmax_library.entmax_bisect(ready, alpha=alpha, dim=-1)
    return weights.to(scores.dtype)


def gumbel_softmax(scores: Scores, mask: Mask, temperature: float, training: bool) -> Simplex:
    """Softmax of (z + Gumbel noise) / temperature (Wen et al. 2022 §5.3); the noise is for training, so that tests
    repeat."""
    if training:
        uniform = torch.rand_like(scores).clamp(torch.finfo(scores.dtype).tiny, 1 - 2**-24)
        scores = scores - (-uniform.log()).log()
    return softmax(scores / temperature, mask)


def hard(scores: Scores, mask: Mask, training: bool) -> Simplex:
    """All the weight on the token of the largest score, the first of equals; training goes on by softmax's gradient."""
    real = scores.detach().masked_fill(~mask, -torch.inf)
    largest = real.amax(-1, keepdim=True)
    # a word that comes twice may have scores that differ by rounding, which hangs on the batch
    equal = real >= largest - ROUNDING * torch.finfo(scores.dtype).eps * largest.abs().clamp(min=1)
    one = torch.zeros_like(scores).scatter(-1, equal.to(torch.uint8).argmax(-1, keepdim=True), 1)
    if not training:  # the true gradient is 0
        return one
    soft = softmax(scores, mask)
    return one + (soft - soft.detach())


def shuffled(scores: Scores, mask: Mask, training: bool) -> Simplex:
    """Softmax whose weights change places at random in training, each text's among its own tokens; tests repeat."""
    weights = softmax(scores, mask)
    if not training:
        return weights
    order = torch.rand_like(scores).masked_fill(~mask, torch.inf).argsort(-1)  # padding comes last here and there
    places = (~mask).to(torch.uint8).argsort(dim=-1, stable=True)
    return torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, order))


def uniform(mask: Mask, dtype: torch.dtype) -> Simplex:
    """The same weight on every real token (Wiegreffe & Pinter 2019 §3.2)."""
    return mask.to(dtype) / mask.sum(-1, keepdim=True)


def _ready_for_search(scores: Scores, mask: Mask, divisor: float = 1.0) -> Scores:
    """The same scores for a search of the threshold: the largest at 0, padding far below any threshold."""
    # float64: weights hang on differences from the threshold, to the power 1/(α − 1), and add up over long texts
    exact = scores.double()
    largest = exact.detach().masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    # −inf gives NaN in the library's sums
    return ((exact - largest) / divisor).masked_fill(~mask, -1e30)


def given(weights: Simplex | None) -> Simplex:
    """Weights that came with the batch (Wiegreffe & Pinter 2019 §3.4)."""
    if weights is None:
        raise InputError("The projections 'preset' and 'random' need weights, but this batch has none.")
    return weights


PROJECTIONS = {
    "softmax": Part("every token gets some weight (most papers)", lambda z, mask, **_: softmax(z, mask)),
    "sparsemax": Part("most tokens get exactly none (Meister et al. 2021)", lambda z, mask, **_: sparsemax(z, mask)),
    "entmax": Part(
        "between softmax (alpha 1) and sparsemax (alpha 2)",
        lambda z, mask, parameter, **_: entmax(z, mask, parameter),
        1.5,
        lambda alpha: 1 <= alpha <= 4,  # steeper ones move by whole percents with the last bit of a score
        "from 1 to 4",
    ),
    "sparsegen": Part(
        "sparsemax with settable sparsity lambda < 1 (Meister et al. 2021)",
        lambda z, mask, parameter, **_: sparsegen(z, mask, parameter),
        0.0,
        lambda sparsity: sparsity < 1,
        "less than 1, and finite",
    ),
    "gumbel-softmax": Part(
        "softmax with noise in training and a temperature (Wen et al. 2022)",
        lambda z, mask, parameter, training, **_: gumbel_softmax(z, mask, parameter, training),
        0.8,
        lambda temperature: 0.001 <= temperature <= 1000,  # others overflow, or are softmax or uniform weights
        "above 0: from 0.001 to 1,000",
    ),
    "hard": Part(
        "all the weight on one token, the gradient that of softmax",
        lambda z, mask, training, **_: hard(z, mask, training),
    ),
    "shuffled": Part(
        "softmax whose weights are shuffled within each text in training, so that attention learns nothing",
        lambda z, mask, training, **_: shuffled(z, mask, training),
    ),
    "uniform": Part(
        "the same weight on every token, nothing learned (Wiegreffe & Pinter 2019)",
        lambda z, mask, **_: uniform(mask, torch.get_default_dtype()),
    ),
    "random": Part(
        "weights drawn once for each text, nothing learned (Vashishth et al. 2019)",
        lambda z, mask, preset, **_: given(preset),
    ),
    "preset": Part(
        "weights given for each text, nothing learned (Wiegreffe & Pinter 2019)",
        lambda z, mask, preset, **_: given(preset),
    ),
}
WITHOUT_SCORES = ("uniform", "random", "preset")
# self-attention must learn its weights, and those of more than one token
SELF_PROJECTIONS = {
    name: part for name, part in PROJECTIONS.items() if name not in (*WITHOUT_SCORES, "hard", "shuffled")
}


class Projection:
    """A projection by its spec, as the models use it: `Projection("sparsegen:0.5")(scores, mask)`."""

    def __init__(self, spec: str) -> None:
        self.name = spec.partition(":")[0]
        self.part, self.parameter = choose("projection", spec, PROJECTIONS)
        self.needs_scores = self.name not in WITHOUT_SCORES

    def __call__(
        self, scores: Scores | None, mask: Mask, *, preset: Simplex | None = None, training: bool = False
    ) -> Simplex:
        weights: Simplex = self.part.make(scores, mask, parameter=self.parameter, preset=preset, training=training)
        return weights
