"""Kendall's τ-b with p-values, against one call of scipy a text."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from scipy.stats import kendalltau

from attentest.importance.gradients import hidden_gradients
from attentest.measures.kendall import kendall_tau
from benchmarks.row import Row
from benchmarks.scene import in_turns, row, scene

Pairs = list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def kendall(name: str) -> list[Row]:
    at = scene(name)
    pairs: Pairs = [
        (reading.weights, hidden_gradients(reading.model, reading.encoded).l2, reading.mask)
        for reading in at.read(at.rows)
    ]
    apart = np.nanmax(np.abs(ours(pairs) - twin(pairs)))
    said = f"τ-b and p of attention with a gradient, {len(at.rows):,} texts; largest difference {apart:.0e}"
    target = 20 if name == "sst" else 2
    sides = in_turns(partial(ours, pairs), partial(twin, pairs))
    return [row("kendall", at, said, *sides, target, few_of_ours=False, few_of_twin=False)]


def ours(pairs: Pairs) -> np.ndarray:
    return np.concatenate([np.stack(kendall_tau(*pair), 1) for pair in pairs])


def twin(pairs: Pairs) -> np.ndarray:
    found = []
    for first, second, mask in pairs:
        for x, y, length in zip(first.numpy(), second.numpy(), mask.sum(1).tolist(), strict=True):
            found.append(tuple(kendalltau(x[:length], y[:length])))
    return np.array(found)
