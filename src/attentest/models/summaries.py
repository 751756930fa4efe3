"""One vector for a whole text: what an encoder's states say together."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor, nn


def mean_state(
    hidden: Float[Tensor, "batch tokens hidden"], mask: Bool[Tensor, "batch tokens"]
) -> Float[Tensor, "batch hidden"]:
    return (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)


class MeanSummary(nn.Module):
    """An encoder that is summarised by the mean of its states."""

    def summarise(
        self, hidden: Float[Tensor, "batch tokens hidden"], mask: Bool[Tensor, "batch tokens"]
    ) -> Float[Tensor, "batch hidden"]:
        return mean_state(hidden, mask)
