"""Values that differ by less than they are exact to are the same."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def tie(
    values: Float[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"], width: float
) -> Float[Tensor, "batch tokens"]:
    """Each row's values in groups from the smallest up; a group's values become its smallest.

    The smallest value opens a group, all within `width` of it belong to it, and the next one above opens another. So no
    group is wider than `width`, however densely values follow one another, and the order of groups is that of values.
    """
    rows, tokens = values.shape
    ordered, order = values.double().masked_fill(~mask, torch.inf).sort(1)
    beyond = torch.searchsorted(ordered, ordered + width, right=True)  # who would open the next group
    # from the first value on, by jumps that double in length; `tokens` stands for the end
    jump = torch.nn.functional.pad(beyond, (0, 1), value=tokens)
    opens = torch.zeros_like(jump)
    opens[:, 0] = 1
    for _ in range(tokens.bit_length()):
        opens = opens.scatter_reduce(1, jump, opens, "amax")
        jump = jump.gather(1, jump)
    position = torch.arange(tokens, device=values.device).expand(rows, -1)
    smallest = ordered.gather(1, (position * opens[:, :tokens]).cummax(1).values)
    tied = torch.empty_like(ordered).scatter_(1, order, smallest)
    return tied.to(values.dtype).where(mask & values.isfinite(), values)
