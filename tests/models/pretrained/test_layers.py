"""Running from a layer on gives what the whole network gives; networks where it cannot are known."""

from __future__ import annotations

import pytest
import torch
from networks import BERT, LAYERS, REACHED, classifier, logits, texts, transformers, uniform
from torch import Tensor

from attentest.models.pretrained.layers import from_layer, keeping, reusable, stacks
from attentest.models.pretrained.replaced import Sites, find_sites, replaced

WHOLE = {"Albert", "Funnel", "XLNet"}
SITES = Sites(tuple(f"encoder.{layer}" for layer in range(LAYERS)), {})


@pytest.mark.parametrize("lengths", [[9, 5, 7], [3, 2, 3]])  # also with as many texts as tokens
@pytest.mark.parametrize("architecture", REACHED)
def test_reuse_is_exact_or_refused(architecture: str, lengths: list[int]) -> None:
    network, inputs = classifier(architecture), texts(lengths)
    stack = reusable(network, inputs, find_sites(network, inputs))
    assert (stack is None) == (architecture in WHOLE)


@pytest.mark.parametrize("layer", range(LAYERS))
@pytest.mark.parametrize("architecture", ["Bert", "DistilBert", "ModernBert", "GPT2", "Llama", "Gemma2", "Deberta"])
def test_a_changed_site_needs_the_layers_from_it_on(architecture: str, layer: int) -> None:
    network, inputs = classifier(architecture), texts([9, 5, 7])
    (stack,) = stacks(network)
    site, ran = f"encoder.{layer}", []
    with replaced(network, uniform, [site]):
        expected = logits(network, inputs)
    with keeping(stack) as kept:
        logits(network, inputs)
    handles = [part.register_forward_hook(lambda part, *_: ran.append(part)) for part in stack]
    with from_layer(stack, layer, kept), replaced(network, uniform, [site]):
        found = logits(network, inputs)
    for handle in handles:
        handle.remove()
    assert torch.allclose(found, expected, rtol=0, atol=1e-5)
    assert ran == list(stack)[layer:]


@pytest.mark.parametrize("architecture", ["Bert", "Llama", "MPNet"])
def test_texts_are_chosen_and_repeated(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([9, 5, 7])
    (stack,) = stacks(network)
    with keeping(stack) as kept:
        untouched = logits(network, inputs)
    rows = torch.tensor([2, 2, 0, 2])
    with from_layer(stack, 2, kept, rows):
        found = logits(network, {name: values[rows] for name, values in inputs.items()})
    assert torch.allclose(found, untouched[rows], rtol=0, atol=1e-5)


def test_layers_are_back_after_an_error() -> None:
    network, inputs = classifier("Bert"), texts([9, 5, 7])
    (stack,) = stacks(network)
    own, names, untouched = list(stack), list(network.state_dict()), logits(network, inputs)
    with keeping(stack) as kept:
        logits(network, inputs)
    with from_layer(stack, 2, kept):
        assert list(stack) != own
    with pytest.raises(ZeroDivisionError), from_layer(stack, 2, kept):
        raise ZeroDivisionError
    assert list(stack) == own
    assert list(network.state_dict()) == names
    assert torch.equal(logits(network, inputs), untouched)
    assert not any(layer._forward_hooks for layer in stack)


def test_an_encoder_with_a_decoder_runs_as_a_whole() -> None:
    settings = {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    config = transformers.T5Config(**settings, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0)
    network = transformers.T5ForSequenceClassification(config).eval()
    assert len(stacks(network)) == 2
    inputs = texts([6, 6])
    inputs["input_ids"][:, -1] = 2
    assert reusable(network, inputs, find_sites(network, inputs)) is None


def test_the_same_encoder_used_twice_runs_as_a_whole() -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = transformers.BertModel(transformers.BertConfig(**BERT))

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            states = [self.encoder(ids, attention_mask).last_hidden_state[:, 0] for ids in (input_ids, input_ids + 1)]
            return states[0] - states[1]  # type: ignore[no-any-return]

    network, inputs = Twice().eval(), texts([6, 4])
    sites = find_sites(network, inputs)
    assert sites.names == tuple(f"encoder.{layer}" for layer in range(2 * LAYERS))
    assert reusable(network, inputs, sites) is None


@pytest.mark.parametrize("architecture", ["Bert", "Deberta"])
def test_layers_keep_their_numbers_in_a_users_module(architecture: str) -> None:
    class HeadAttention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = torch.nn.Dropout(0.1)

        def forward(self, states: Tensor) -> Tensor:
            weights = self.dropout((states @ states.mT)[:, None].softmax(-1))  # looks like a site, and is none
            return (weights[:, 0] @ states)[:, 0]  # type: ignore[no-any-return]

    class Custom(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.decoder = torch.nn.ModuleList([torch.nn.Identity(), classifier(architecture), HeadAttention()])

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            output = self.decoder[1](input_ids, attention_mask, output_hidden_states=True)
            return self.decoder[2](output.hidden_states[-1])  # type: ignore[no-any-return]

    network, inputs = Custom().eval(), texts([9, 5, 7])
    sites = find_sites(network, inputs)
    assert sites.names == SITES.names
    stack = reusable(network, inputs, sites)
    assert stack is not None
    with torch.no_grad():
        with keeping(stack) as kept:
            network(**inputs)
        with replaced(network, uniform, [SITES.names[2]]):
            expected = network(**inputs)
        with from_layer(stack, 2, kept), replaced(network, uniform, [SITES.names[2]]):
            assert torch.allclose(network(**inputs), expected, rtol=0, atol=1e-5)
