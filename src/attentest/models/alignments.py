"""Alignments: a score for every hidden state, before it is projected to a weight."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.parts import Part, choose

Hidden = Float[Tensor, "batch tokens hidden"]
Scores = Float[Tensor, "batch tokens"]


class Additive(nn.Module):
    """v·tanh(W h + b), with W to half the hidden size (JW; WE eq. 2)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(size, size // 2)
        self.outer = nn.Linear(size // 2, 1, bias=False)

    def forward(self, hidden: Hidden) -> Scores:
        # tanh(x) = 2σ(2x) − 1, and sigmoid is several times faster than tanh on a CPU
        return self.outer(2 * torch.sigmoid(2 * self.inner(hidden)) - 1).squeeze(-1)


class Dot(nn.Module):
    """u·h for one learned vector u (WE eq. 5), divided by √H when scaled (JW)."""

    def __init__(self, size: int, scaled: bool) -> None:
        super().__init__()
        self.outer = nn.Linear(size, 1, bias=False)
        self.divisor = size**0.5 if scaled else 1.0

    def forward(self, hidden: Hidden) -> Scores:
        return self.outer(hidden).squeeze(-1) / self.divisor


class Deep(nn.Module):
    """W⁽ˢ⁾ ReLU(W⁽ˢ⁻¹⁾ … ReLU(W_h h)) with `layers` ReLUs (WE eq. 3 and 4, which leave s open)."""

    def __init__(self, size: int, layers: int) -> None:
        super().__init__()
        width = size // 2
        inner = [nn.Linear(size, width), nn.ReLU()]
        for _ in range(layers - 1):
            inner += [nn.Linear(width, width), nn.ReLU()]
        self.inner = nn.Sequential(*inner)
        self.outer = nn.Linear(width, 1, bias=False)

    def forward(self, hidden: Hidden) -> Scores:
        return self.outer(self.inner(hidden)).squeeze(-1)


ALIGNMENTS = {
    "additive": Part("v·tanh(Wh + b), Bahdanau (JW, WP, WE)", lambda size, _: Additive(size)),
    "dot": Part("u·h, one learned vector (WE)", lambda size, _: Dot(size, scaled=False)),
    "scaled-dot": Part("u·h / √H (JW, ME)", lambda size, _: Dot(size, scaled=True)),
    "deep": Part(
        "a stack of ReLU layers (WE)",
        lambda size, layers: Deep(size, int(layers)),
        2,
        lambda s: s >= 1 and float(s).is_integer(),
        "a whole number of layers, at least 1",
    ),
}


def make_alignment(spec: str, size: int) -> nn.Module:
    part, parameter = choose("alignment", spec, ALIGNMENTS)
    module: nn.Module = part.make(size, parameter)
    return module
