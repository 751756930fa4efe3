"""Distances between distributions, over the last dimension."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

Distribution = Float[Tensor, "*batch outcomes"]

LARGEST_JSD = math.log(2)


def tvd(p: Distribution, q: Distribution) -> Float[Tensor, "*batch"]:
    """Total variation distance ½ Σ |p − q| (Wiegreffe & Pinter 2019 §3.1)."""
    return (p - q).abs().sum(-1) / 2


def kl(p: Distribution, q: Distribution) -> Float[Tensor, "*batch"]:
    """Σ p log(p / q) in nats; 0 where p is 0, infinite where only q is."""
    return (p.xlogy(p) - p.xlogy(q)).sum(-1)


def jsd(p: Distribution, q: Distribution, parts: Tensor | int = 1) -> Float[Tensor, "*batch"]:
    """Jensen–Shannon divergence, between 0 and ln 2 (Wiegreffe & Pinter 2019 §3.1); of several distributions in a row,
    their mean."""
    found = ((_plogp(p) + _plogp(q)).sum(-1) / 2 - _plogp((p + q) / 2).sum(-1)) / parts
    return found.clamp(0, LARGEST_JSD)  # rounding may leave a hair outside


def _plogp(p: Distribution) -> Distribution:
    """p log p with 0 log 0 = 0, and a gradient that is finite there."""
    return p * p.clamp(min=torch.finfo(p.dtype).tiny).log()
