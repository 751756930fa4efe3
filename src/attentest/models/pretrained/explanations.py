"""Which weights explain: one number a token out of the attention of all layers and heads, by name.

Every function takes the weights of the layers, from the first to the last, and the place of the decision token (the one
whose state the head reads). It returns how much each token counts for that one: at least 0, with the sum 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.errors import InputError

Layers = Sequence[Float[Tensor, "batch heads queries keys"]]
Decision = Int[Tensor, "batch"]
Shares = Float[Tensor, "batch keys"]
Need = Literal["values", "output", "gradients"]


def row(weights: Layers, decision: Decision) -> Shares:
    return _row(weights[-1], decision).mean(1)


def layers(weights: Layers, decision: Decision) -> Shares:
    _check_same_tokens(weights, "layers")
    return torch.stack([_row(each, decision).mean(1) for each in weights]).mean(0)


def rollout(weights: Layers, decision: Decision) -> Shares:
    """Abnar & Zuidema 2020: a layer passes on half of its input as it is, the other half as its heads attend."""
    _check_same_tokens(weights, "rollout")
    share = torch.zeros_like(weights[-1][:, 0, 0]).scatter(1, decision.unsqueeze(1), 1)
    for each in reversed(weights):  # the decision token's row of the product, found without the other rows
        share = (share + (share.unsqueeze(1) @ each.mean(1)).squeeze(1)) / 2
    return share


def norms(
    weights: Layers,
    decision: Decision,
    *,
    values: Float[Tensor, "batch heads keys size"],
    output: Float[Tensor, "hidden joined"],
) -> Shares:
    """Kobayashi et al. 2020: the length of what the last layer adds to the decision token from each other one.

    `values` are the last layer's, `output` the matrix that joins its heads (as of an `nn.Linear`). Vectors of heads are
    added before their length is taken, as in the layer itself.
    """
    weighted = _row(weights[-1], decision).unsqueeze(-1) * values
    return _to_shares((weighted.transpose(1, 2).flatten(2) @ output.T).norm(dim=-1), weights[-1], decision)


def gradient(weights: Layers, decision: Decision, *, gradients: Float[Tensor, "batch heads queries keys"]) -> Shares:
    """`gradients` are those of the predicted class's logit by the last layer's weights."""
    product = _row(weights[-1], decision) * _row(gradients, decision)
    return _to_shares(product.clamp(min=0).sum(1), weights[-1], decision)


@dataclass(frozen=True)
class Explanation:
    summary: str
    weigh: Callable[..., Shares]
    needs: tuple[Need, ...] = ()  # keyword arguments next to weights and decision


EXPLANATIONS = {
    "row": Explanation("the decision token's row of the last layer, mean over heads", row),
    "layers": Explanation("the decision token's row, mean over heads and layers", layers),
    "rollout": Explanation("attention followed through all layers (Abnar & Zuidema 2020)", rollout),
    "norms": Explanation(
        "the length of what each token adds to the decision token in the last layer (Kobayashi et al. 2020)",
        norms,
        ("values", "output"),
    ),
    "gradient": Explanation(
        "gradient of the predicted class × attention in the decision token's row of the last layer, positive part, "
        "summed over heads",
        gradient,
        ("gradients",),
    ),
}


def _row(weights: Float[Tensor, "batch heads queries keys"], decision: Decision) -> Float[Tensor, "batch heads keys"]:
    return weights[torch.arange(len(decision), device=decision.device), :, decision]


def _to_shares(scores: Shares, weights: Float[Tensor, "batch heads queries keys"], decision: Decision) -> Shares:
    """Divided by their sum; where all are 0, every token that is attended to gets the same."""
    attended = (_row(weights, decision) > 0).any(1).to(scores.dtype)
    scores = torch.where(scores.sum(-1, keepdim=True) > 0, scores, attended)
    return scores / scores.sum(-1, keepdim=True)


def _check_same_tokens(weights: Layers, name: str) -> None:
    shapes = {tuple(each.shape[2:]) for each in weights}
    if len(shapes) > 1:
        raise InputError(
            f"The layers of this network see different numbers of tokens ({sorted(shapes)}), so '{name}' is not "
            "defined for it; use 'row'."
        )
