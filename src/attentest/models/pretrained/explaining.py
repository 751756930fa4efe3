"""An explanation by name, of texts that a network has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError, unknown_name
from attentest.models.pretrained.explanations import EXPLANATIONS
from attentest.models.pretrained.inspection import About
from attentest.models.pretrained.outputs import output_matrix
from attentest.models.pretrained.replaced import replaced
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


def explain(model: Pretrained, encoded: LayerEncoded, site: str, heads: Sequence[int]) -> Float[Tensor, "batch keys"]:
    """How much each position counts for the one that decides, by the layers up to the site and these heads there."""
    name = model.view.weights or ROW
    chosen, inputs = EXPLANATIONS[name], encoded.arguments
    sites = model.sites[: list(model.sites).index(site) + 1]
    seen = model.look(inputs, sites)
    last = seen[site]
    needed: dict[str, Any] = {}
    if "values" in chosen.needs:
        if last.values is None:
            raise InputError(f"This architecture keeps its values to itself, so '{name}' is not known.")
        output = output_matrix(model.network, inputs, site).unflatten(1, (model.heads[site], -1))
        needed |= {"values": last.values[:, heads], "output": output[:, heads].flatten(1)}
    if "gradients" in chosen.needs:
        needed["gradients"] = _gradients(model, encoded, site)[:, heads]
    weights = [*(seen[below].weights for below in sites[:-1]), last.weights[:, heads]]
    shares: Tensor = chosen.weigh(weights, encoded.decision, **needed)
    return shares.detach()


def _gradients(model: Pretrained, encoded: LayerEncoded, site: str) -> Float[Tensor, "batch heads queries keys"]:
    """Of the predicted class's logit by the weights of the site."""
    leaves: list[Tensor] = []

    def make_leaf(reached: str, weights: Tensor, allowed: Tensor) -> Tensor | None:
        given = model.projected(weights, allowed)
        if reached != site:
            return given
        leaves.append((weights if given is None else given).detach().requires_grad_())
        return leaves[0]

    sites = model.changed_sites([site])
    with torch.inference_mode(False), torch.enable_grad(), replaced(model.network, make_leaf, sites):
        inputs = {name: given.clone() for name, given in encoded.arguments.items()}
        logits = model.logits(model.network(**inputs))
        (gradients,) = torch.autograd.grad(logits.max(-1).values.sum(), leaves)
    return gradients
