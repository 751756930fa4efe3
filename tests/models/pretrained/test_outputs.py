"""The matrix that joins heads: with it, what tokens add to a layer sums to what the layer's own module gives."""

from __future__ import annotations

import pytest
import torch
from networks import INTERFACE, classifier, texts
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.pretrained.outputs import output_matrix
from attentest.models.pretrained.replaced import find_sites, look


@pytest.mark.parametrize("architecture", INTERFACE)
def test_tokens_add_up_to_what_the_layer_gives(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([7, 4])
    site = find_sites(network, inputs).names[-1]
    matrix = output_matrix(network, inputs, site)
    given: list[Tensor] = []
    [owner] = [each for each in network.modules() if getattr(each, "weight", None) is _parameter(network, matrix)]
    hook = owner.register_forward_hook(lambda _module, _inputs, output: given.append(output))
    with torch.no_grad():
        network(**inputs)
    hook.remove()
    seen = look(network, inputs, [site])[site]
    assert seen.values is not None
    size = seen.values.shape[-1]
    by_head = matrix.unflatten(1, (-1, size))
    added = torch.einsum("bhqk,bhks,dhs->bqkd", seen.weights, seen.values, by_head)
    own = given[-1].reshape(added.sum(2).shape) - (0 if owner.bias is None else owner.bias)
    present = inputs["attention_mask"].bool()
    assert torch.allclose(added.sum(2)[present], own[present], atol=1e-4)


def _parameter(network: nn.Module, matrix: Tensor) -> nn.Parameter:
    [owner] = [each for each in network.parameters() if each.data_ptr() == matrix.data_ptr()]
    return owner


def test_a_network_that_keeps_its_values_is_told_so() -> None:
    network = classifier("Deberta")
    hooks = [len(each._forward_pre_hooks) for each in network.modules()]
    with pytest.raises(InputError, match="'norms' are not defined"):
        output_matrix(network, texts([5]), "encoder.0")
    assert [len(each._forward_pre_hooks) for each in network.modules()] == hooks
