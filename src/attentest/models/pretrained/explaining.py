"""An explanation by name, of texts that a network has read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError, unknown_name
from attentest.models.pretrained.explanations import EXPLANATIONS
from attentest.models.pretrained.inspection import About
from attentest.models.pretrained.outputs import output_matrix
from attentest.models.pretrained.replaced import look, replaced
from attentest.models.pretrained.view import ROW

if TYPE_CHECKING:
    from attentest.models.pretrained.model import Pretrained
    from attentest.models.pretrained.seen_from import LayerEncoded


def check_explanation(name: str, about: About) -> None:
    if name not in EXPLANATIONS:
        raise unknown_name("kind of weights", name, EXPLANATIONS)
    if name != ROW and about.decision is None:
        raise InputError(
            f"The weights '{name}' are those of the token that decides, and the head of this network reads all tokens; "
            f"use '{ROW}'."
        )


def explain(model: Pretrained, encoded: LayerEncoded) -> Float[Tensor, "batch keys"]:
    """How much each position counts for the one that decides."""
    name = model.view.weights or ROW
    chosen, network, inputs = EXPLANATIONS[name], model.network, encoded.arguments
    seen = look(network, inputs, model.sites)
    last = seen[model.sites[-1]]
    needed: dict[str, Any] = {}
    if "values" in chosen.needs:
        if last.values is None:
            raise InputError(f"This architecture keeps its values to itself, so '{name}' is not known.")
        needed |= {"values": last.values, "output": output_matrix(network, inputs, model.sites[-1])}
    if "gradients" in chosen.needs:
        needed["gradients"] = _gradients(model, encoded)
    weights = [seen[site].weights for site in model.sites]
    shares: Tensor = chosen.weigh(weights, encoded.decision, **needed)
    return shares.detach()


def _gradients(model: Pretrained, encoded: LayerEncoded) -> Float[Tensor, "batch heads queries keys"]:
    """Of the predicted class's logit by the weights of the last layer."""
    leaves: list[Tensor] = []

    def make_leaf(_site: str, weights: Tensor, _allowed: Tensor) -> Tensor:
        leaves.append(weights.detach().requires_grad_())
        return leaves[0]

    with torch.inference_mode(False), torch.enable_grad(), replaced(model.network, make_leaf, model.sites[-1:]):
        inputs = {name: given.clone() for name, given in encoded.arguments.items()}
        logits = model.logits(model.network(**inputs))
        (gradients,) = torch.autograd.grad(logits.max(-1).values.sum(), leaves)
    return gradients
