"""Alignments: a score for every hidden state, before it is projected to a weight."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.parts import Part, choose

Hidden = Float[Tensor, "batch tokens hidden"]
Query = Float[Tensor, "batch hidden"]
Scores = Float[Tensor, "batch tokens"]


class Additive(nn.Module):
    """v·tanh(W h + b), with W to half the hidden size (Jain & Wallace 2019; Wen et al. 2022 eq. 2); a query adds W_q q
    (Vashishth et al. 2019 eq. 2)."""

    def __init__(self, size: int, asked: bool = False) -> None:
        super().__init__()
        self.inner = nn.Linear(size, size // 2)
        self.query = nn.Linear(size, size // 2, bias=False) if asked else None
        self.outer = nn.Linear(size // 2, 1, bias=False)

    def forward(self, hidden: Hidden, query: Query | None = None) -> Scores:
        # tanh(x) = 2σ(2x) − 1, and sigmoid is several times faster than tanh on a CPU
        scores: Tensor = self.outer(2 * torch.sigmoid(2 * _asked(self.inner(hidden), self.query, query)) - 1)
        return scores.squeeze(-1)


class Dot(nn.Module):
    """u·h for one learned vector u (Wen et al. 2022 eq. 5), divided by √H when scaled (Jain & Wallace 2019)."""

    def __init__(self, size: int, scaled: bool) -> None:
        super().__init__()
        self.outer = nn.Linear(size, 1, bias=False)
        self.divisor = size**0.5 if scaled else 1.0

    def forward(self, hidden: Hidden, query: Query | None = None) -> Scores:
        scores: Tensor = self.outer(hidden).squeeze(-1) / self.divisor
        return scores


class QueryDot(nn.Module):
    """q·h, nothing learned, divided by √H when scaled (Jain & Wallace 2019; Wen et al. 2022 eq. 1)."""

    def __init__(self, size: int, scaled: bool) -> None:
        super().__init__()
        self.divisor = size**0.5 if scaled else 1.0

    def forward(self, hidden: Hidden, query: Query) -> Scores:
        return (hidden @ query.unsqueeze(-1)).squeeze(-1) / self.divisor


class Deep(nn.Module):
    """W⁽ˢ⁾ ReLU(W⁽ˢ⁻¹⁾ … ReLU(W_h h)) with `layers` ReLUs (Wen et al. 2022 eq. 3 and 4, which leave s
    open); a query adds W_q q."""

    def __init__(self, size: int, layers: int, asked: bool = False) -> None:
        super().__init__()
        width = size // 2
        inner = [nn.Linear(size, width), nn.ReLU()]
        for _ in range(layers - 1):
            inner += [nn.Linear(width, width), nn.ReLU()]
        self.inner = nn.Sequential(*inner)
        self.query = nn.Linear(size, width, bias=False) if asked else None
        self.outer = nn.Linear(width, 1, bias=False)

    def forward(self, hidden: Hidden, query: Query | None = None) -> Scores:
        first, *others = self.inner
        states = _asked(first(hidden), self.query, query)
        for layer in others:
            states = layer(states)
        scores: Tensor = self.outer(states).squeeze(-1)
        return scores


def _asked(states: Hidden, map_query: nn.Linear | None, query: Query | None) -> Hidden:
    if map_query is None:
        return states
    assert query is not None
    asked: Tensor = states + map_query(query).unsqueeze(1)
    return asked


MOST_LAYERS = 100  # of `deep`

ALIGNMENTS = {
    "additive": Part(
        "v·tanh(Wh + b), after Bahdanau et al. 2015 (most papers)", lambda size, _, asked: Additive(size, asked)
    ),
    "dot": Part(
        "u·h, one learned vector (Wen et al. 2022); q·h with a query",
        lambda size, _, asked: (QueryDot if asked else Dot)(size, False),
    ),
    "scaled-dot": Part(
        "u·h / √H (Jain & Wallace 2019, Meister et al. 2021); q·h / √H with a query",
        lambda size, _, asked: (QueryDot if asked else Dot)(size, True),
    ),
    "deep": Part(
        "a stack of ReLU layers (Wen et al. 2022)",
        lambda size, layers, asked: Deep(size, int(layers), asked),
        2,
        lambda s: 1 <= s <= MOST_LAYERS and float(s).is_integer(),
        f"a whole number of layers, at least 1 and at most {MOST_LAYERS}",
    ),
}


def make_alignment(spec: str, size: int, *, asked: bool = False) -> nn.Module:
    """`asked`: scores hang on a query, too."""
    part, parameter = choose("alignment", spec, ALIGNMENTS)
    module: nn.Module = part.make(size, parameter, asked)
    return module
