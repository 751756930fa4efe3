"""How spread out a distribution is."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def normalised_entropy(
    p: Float[Tensor, "*batch tokens"], mask: Bool[Tensor, "*batch tokens"]
) -> Float[Tensor, "*batch"]:
    """−Σ p log p / log n over n real tokens (Meister et al. 2021 §4): 0 is one token alone, 1 is uniform; NaN for a
    single token."""
    size = mask.sum(-1).to(p.dtype)
    entropy = -p.masked_fill(~mask, 0).xlogy(p.masked_fill(~mask, 1)).sum(-1)
    return torch.where(size > 1, entropy / size.log(), torch.nan)
