"""The matrix that joins what the heads of a layer give, found by watching the network run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.pretrained.library import transformers
from attentest.models.pretrained.replaced import Allowed, Values, Weights, stopping, visited


def output_matrix(network: nn.Module, inputs: Mapping[str, Tensor], site: str) -> Float[Tensor, "hidden joined"]:
    """Of the first linear module that gets the heads' weighted values; architectures name it differently."""
    joined: list[Tensor] = []
    found: list[Tensor] = []

    def record(_site: str, weights: Weights, _allowed: Allowed, values: Values | None) -> None:
        if values is not None:
            joined.append((weights @ values).transpose(1, 2).flatten(2))

    with torch.no_grad(), stopping() as stop, visited(network, record, [site]):

        def compare(module: nn.Module, given: tuple[Any, ...]) -> None:
            if joined and given[0].shape[-1] == joined[0].shape[-1]:
                if torch.allclose(given[0].reshape(-1), joined[0].reshape(-1), atol=1e-5):
                    weight: Tensor = module.weight  # type: ignore[assignment]
                    found.append(weight if isinstance(module, nn.Linear) else weight.T)
                raise stop

        kinds = (nn.Linear, transformers.pytorch_utils.Conv1D)
        handles = [each.register_forward_pre_hook(compare) for each in network.modules() if isinstance(each, kinds)]
        try:
            network(**inputs)
        finally:
            for handle in handles:
                handle.remove()
    if not found:
        raise InputError(
            f"{type(network).__name__} does not show what its attention passes on at '{site}', so the weights 'norms' "
            "are not defined for it; use 'row', 'layers', 'rollout' or 'gradient'."
        )
    return found[0]
