"""Several rows of weights for a text: one for each head of a self-attention, or for each head and query."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Shaped
from torch import Tensor


def in_rows(values: Shaped[Tensor, "batch tokens"], inner: Sequence[int]) -> Shaped[Tensor, "batch *rows tokens"]:
    """The same for every row of a text; `inner` is the shape of its rows."""
    return values.view(len(values), *[1] * len(inner), -1).expand(-1, *inner, -1)
