"""Sums over all tokens but some, without subtracting large numbers from one another."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def sums_after(values: Float[Tensor, "batch tokens *rest"]) -> Float[Tensor, "batch tokens *rest"]:
    """Sums over all later places; added up from the end, so that small sums are not differences of large ones."""
    later = values.flip(1).cumsum(1).flip(1)
    return torch.cat((later[:, 1:], torch.zeros_like(later[:, :1])), 1)


def sums_without_each(values: Float[Tensor, "batch tokens *rest"]) -> Float[Tensor, "batch tokens *rest"]:
    """For each place the sum over all others, without subtracting it from the whole."""
    before = values.cumsum(1)
    return sums_after(values) + torch.cat((torch.zeros_like(before[:, :1]), before[:, :-1]), 1)
