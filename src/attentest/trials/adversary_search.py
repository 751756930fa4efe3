"""The gradient search of Jain & Wallace 2019 for instance adversaries, all texts and candidates at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attentest.chance import keyed_rows
from attentest.interventions import softmax_within
from attentest.models.rows import in_rows
from attentest.trials.reading import Reading

LR, PENALTY, SPREAD = 0.01, 500.0, 3.0
_SCORES_AT_ONCE = 65_536  # of texts × candidates × tokens: 500 steps on what stays in cache

Candidates = Float[Tensor, "batch k *rows tokens"]


def gradient_search(reading: Reading, epsilon: float, k: int, steps: int, seed: int) -> Candidates:
    """`steps` of Adam (amsgrad) on log-weights that start at log(1/T) + 3·N(0, 1).

    The loss is −JSD to the model's weights − the candidates' mean mutual JSD + 500·max(0, TVD − ε). With two classes
    and an affine decoder its gradient is written out; other models take autograd's.
    """
    rows = (k, *reading.inner)
    start = SPREAD * _normal(reading, k, seed) - in_rows(reading.lengths.log().unsqueeze(1), rows)
    start = start.masked_fill(~in_rows(reading.mask, rows), -1e4)  # no weight, and no 0 · ∞
    if reading.margins is None:
        found_scores = _descend(start, lambda scores: _slope_by_autograd(reading, scores, epsilon), steps)
        return softmax_within(found_scores, reading.within)
    size = max(1, _SCORES_AT_ONCE // start[0].numel())
    found = []
    for some in (slice(i, i + size) for i in range(0, len(start), size)):
        longest = int(reading.lengths[some].max())
        given = (reading.margins[some, :longest], reading.weights[some, :longest], reading.probabilities[some, 1:])
        slope = _written_out(*given, epsilon, k)
        found.append(pad(_descend(start[some, :, :longest], slope, steps).softmax(-1), (0, start.shape[2] - longest)))
    return torch.cat(found)


def _descend(start: Tensor, slope: Callable[[Tensor], Tensor], steps: int) -> Candidates:
    """The scores, of which the candidates are the softmax."""
    scores = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=LR, amsgrad=True, fused=True)
    for _ in range(steps):
        scores.grad = slope(scores)
        optimizer.step()
    return scores.detach()


def _slope_by_autograd(reading: Reading, scores: Tensor, epsilon: float) -> Candidates:
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(loss(reading, softmax_within(scores, reading.within), epsilon), scores)
    return slope


def loss(reading: Reading, candidates: Candidates, epsilon: float) -> Tensor:
    distance = reading.apart(candidates, reading.weights.unsqueeze(1))
    k = candidates.shape[1]
    total = (PENALTY * (reading.moved(candidates) - epsilon).clamp(min=0) - distance).sum()
    if k > 1:
        first, second = torch.triu_indices(k, k, 1)
        total = total - reading.apart(candidates[:, first], candidates[:, second]).mean(1).sum()
    return total


def _written_out(
    margins: Float[Tensor, "batch tokens"],
    weights: Float[Tensor, "batch tokens"],
    probability: Float[Tensor, "batch 1"],
    epsilon: float,
    k: int,
) -> Callable[[Tensor], Candidates]:
    """∂loss/∂scores by hand: ∂JSD(p, q)/∂p = ½ log(p / (p + q)) + a constant, which the softmax takes away."""
    mutual = 1 / (k * (k - 1)) if k > 1 else 0.0  # half of one pair's share
    base, column = weights.unsqueeze(1), margins.unsqueeze(2)
    tiny = torch.finfo(weights.dtype).tiny

    @torch.no_grad()
    def slope(scores: Tensor) -> Candidates:
        logs = scores.log_softmax(-1)
        p = logs.exp()
        found = (p + base).clamp_(min=tiny).log_().div_(2)
        for shift in range(1, (k - 1) // 2 + 1):  # a shift pairs every candidate with another
            both = (p + p.roll(shift, 1)).clamp_(min=tiny).log_()
            found.add_(both, alpha=mutual).add_(both.roll(-shift, 1), alpha=mutual)
        if k % 2 == 0:
            found.add_((p + p.roll(k // 2, 1)).clamp_(min=tiny).log_(), alpha=mutual)
        found.sub_(logs, alpha=0.5 + (k - 1) * mutual)
        output = (p @ column).squeeze(2).sigmoid_()
        change = output - probability
        pull = PENALTY * change.sign() * (change.abs() > epsilon) * output * (1 - output)
        found.addcmul_(pull.unsqueeze(2), margins.unsqueeze(1))
        return found.sub_((p * found).sum(-1, keepdim=True)).mul_(p)

    return slope


def _normal(reading: Reading, k: int, seed: int) -> Tensor:
    """Normal numbers keyed by text (Box–Muller)."""
    shape = (*reading.inner, 2 * reading.mask.shape[1])
    # a text's numbers must not hang on how far its batch is padded: candidate by candidate
    drawn = np.stack([keyed_rows(seed, f"adversary {i}", reading.rows, shape) for i in range(k)], 1)
    uniform = drawn.reshape(*drawn.shape[:-1], -1, 2)
    radius = np.sqrt(-2 * np.log1p(-uniform[..., 0]))
    normal = radius * np.cos(2 * math.pi * uniform[..., 1])
    return torch.from_numpy(normal).to(reading.weights)
