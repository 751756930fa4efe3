"""JW's gradient search for instance adversaries, all texts and candidates at once."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.measures.divergences import jsd
from attentest.trials.reading import Reading

LR, PENALTY, SPREAD = 0.01, 500.0, 3.0


def gradient_search(reading: Reading, epsilon: float, k: int, steps: int, seed: int) -> Float[Tensor, "batch k tokens"]:
    """`steps` of Adam (amsgrad) on log-weights that start at log(1/T) + 3·N(0, 1).

    The loss is −JSD to the model's weights − the candidates' mean mutual JSD + 500·max(0, TVD − ε).
    """
    start = -reading.lengths.log()[:, None, None] + SPREAD * _normal(reading, k, seed)
    mask = reading.mask.unsqueeze(1)
    with torch.enable_grad():
        scores = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([scores], lr=LR, amsgrad=True, fused=True)
        for _ in range(steps):
            candidates = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            (scores.grad,) = torch.autograd.grad(_loss(reading, candidates, epsilon), scores)
            optimizer.step()
        return scores.detach().masked_fill(~mask, -torch.inf).softmax(-1)


def _loss(reading: Reading, candidates: Tensor, epsilon: float) -> Tensor:
    change = reading.moved(candidates)
    distance = jsd(candidates, reading.weights.unsqueeze(1))
    k = candidates.shape[1]
    total = (PENALTY * (change - epsilon).clamp(min=0) - distance).sum()
    if k > 1:
        first, second = torch.triu_indices(k, k, 1)
        total = total - jsd(candidates[:, first], candidates[:, second]).mean(1).sum()
    return total


def _normal(reading: Reading, k: int, seed: int) -> Tensor:
    """Normal numbers keyed by text (Box–Muller)."""
    tokens = reading.mask.shape[1]
    # a text's numbers must not hang on how far its batch is padded: candidate by candidate
    drawn = [keyed_uniform(seed, f"adversary {i}", reading.rows, 2 * tokens) for i in range(k)]
    uniform = np.stack(drawn, 1).reshape(len(reading.rows), k, tokens, 2)
    radius = np.sqrt(-2 * np.log1p(-uniform[..., 0]))
    normal = radius * np.cos(2 * math.pi * uniform[..., 1])
    return torch.from_numpy(normal).to(reading.weights)
