"""Weights are replaced exactly, on every architecture of both routes, and everything is as before afterwards."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from networks import CAUSAL, HEADS, LAYERS, REACHED, classifier, logits, texts, uniform
from torch import Tensor, nn
from zeroed import NEVER_UNIFORM, without_queries

from attentest.models.pretrained.replaced import Change, Contexts, find_sites, look, replaced, stopping, visited

SITES = tuple(f"encoder.{layer}" for layer in range(LAYERS))
# the padding of these is part of what they compute, whoever calls them: trigrams, convolutions, the last position
PADDING_COUNTS = {"MobileBert", "ConvBert", "XLNet"}


def changed(network: Any, inputs: dict[str, Tensor], change: Change, sites: Any = None) -> Tensor:
    with replaced(network, change, sites):
        return logits(network, inputs)


def left_alone(_site: str, _weights: Tensor, _allowed: Tensor) -> None:
    return None


def given_back(_site: str, weights: Tensor, _allowed: Tensor) -> Tensor:
    return weights.clone()


def padded(architecture: str, side: str) -> Any:
    """ModernBERT's head would read padding on the left, of which no two implementations make the same."""
    if architecture == "ModernBert" and side == "left":
        return classifier(architecture, classifier_pooling="mean")
    return classifier(architecture)


def same(found: Tensor, expected: Tensor) -> bool:
    return torch.allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("architecture", REACHED)
def test_every_layer_is_a_site(architecture: str) -> None:
    sites = find_sites(classifier(architecture), texts([6, 4]))
    assert sites.names == SITES
    assert sites.heads == dict.fromkeys(SITES, HEADS)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("architecture", REACHED)
def test_own_weights_change_nothing(architecture: str, side: str) -> None:
    network = padded(architecture, side)
    for batch in (1, 7, 64):
        inputs = texts([5 + row % 6 for row in range(batch)], side=side)
        untouched = logits(network, inputs)
        assert same(changed(network, inputs, left_alone), untouched)
        assert same(changed(network, inputs, given_back), untouched)
        assert same(changed(network, inputs, given_back, [SITES[1]]), untouched)


@pytest.mark.parametrize("architecture", REACHED)
def test_every_site_moves_the_logits(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([9, 5, 7])
    untouched = logits(network, inputs)
    for site in SITES:
        assert (changed(network, inputs, uniform, [site]) - untouched).abs().max() > 1e-2


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("architecture", [name for name in REACHED if name not in NEVER_UNIFORM])
def test_uniform_weights_are_those_of_zeroed_queries(architecture: str, side: str) -> None:
    network = padded(architecture, side)
    twin = without_queries(copy.deepcopy(network))
    for lengths in ([8], [4 + row for row in range(7)], [3 + row % 9 for row in range(64)]):
        inputs = texts(lengths, side=side)
        assert same(changed(network, inputs, uniform), logits(twin, inputs))


@pytest.mark.parametrize("architecture", [name for name in REACHED if name not in PADDING_COUNTS])
def test_padding_gets_no_weight(architecture: str) -> None:
    network, lengths = classifier(architecture), [9, 5, 7]
    together = texts(lengths)
    found = changed(network, together, uniform)
    for row, length in enumerate(lengths):
        alone = {name: values[row : row + 1, :length] for name, values in together.items()}
        assert same(changed(network, alone, uniform), found[row : row + 1])


@pytest.mark.parametrize("architecture", ["Bert", "ModernBert", "Llama", "GPT2", "Deberta", "GPTJ"])
def test_weights_are_allowed_on_what_the_token_may_see(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([9, 5, 7])
    mask = inputs["attention_mask"].bool()
    seen = look(network, inputs, [SITES[0]])[SITES[0]]
    may = mask[:, None, None, :].expand_as(seen.weights)
    if architecture in CAUSAL:
        may = may & torch.ones(9, 9, dtype=torch.bool).tril()
    tokens = mask[:, None, :, None].expand_as(may)
    assert torch.equal(seen.allowed & tokens, may & tokens)
    assert same((seen.weights * seen.allowed).sum(-1)[tokens[..., 0]], torch.ones(()))


@pytest.mark.parametrize("architecture", ["Bert", "Llama", "ModernBert"])
def test_other_sites_keep_the_default_implementation(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, inputs, calls = classifier(architecture), texts([6, 4]), []
    fused = nn.functional.scaled_dot_product_attention

    def counted(*given: Any, **options: Any) -> Tensor:
        calls.append(given)
        return fused(*given, **options)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", counted)
    changed(network, inputs, left_alone)
    assert len(calls) == 0
    changed(network, inputs, left_alone, [SITES[1]])
    assert len(calls) == LAYERS - 1


@pytest.mark.parametrize("architecture", ["Bert", "Llama", "Gemma2", "MPNet"])
def test_gradients_reach_the_given_weights(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([6, 4])
    weights = look(network, inputs, [SITES[-1]])[SITES[-1]].weights.detach().requires_grad_()
    with replaced(network, lambda *_: weights, [SITES[-1]]):
        score = network(**inputs).logits[0, 0]
    (slope,) = torch.autograd.grad(score, weights)
    step = torch.zeros_like(weights)
    step[0, 1, -1 if architecture in CAUSAL else 0, 2] = 1e-2
    moved = [
        changed(network, inputs, lambda *_, sign=sign: weights.detach() + sign * step, [SITES[-1]]) for sign in (1, -1)
    ]
    assert float((moved[0] - moved[1])[0, 0] / 2e-2) == pytest.approx(float((slope * step).sum() / 1e-2), abs=1e-3)


def fingerprint(network: nn.Module) -> Any:
    modules = list(network.modules())
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in modules]
    configs = [copy.deepcopy(vars(m.config)) for m in modules if hasattr(m, "config")]
    return [id(module) for module in modules], hooks, configs, network.training


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("architecture", ["Bert", "Albert", "Gemma2", "Deberta"])
def test_everything_is_as_before(architecture: str, fails: bool) -> None:
    network, inputs = classifier(architecture), texts([6, 4])
    before, state = fingerprint(network), copy.deepcopy(network.state_dict())
    untouched = logits(network, inputs)

    def change(site: str, weights: Tensor, allowed: Tensor) -> Tensor:
        if fails and site == SITES[1]:
            raise ArithmeticError
        return uniform(site, weights, allowed)

    if fails:
        with pytest.raises(ArithmeticError):
            changed(network, inputs, change)
    else:
        changed(network, inputs, change)
    assert fingerprint(network) == before
    assert all(torch.equal(values, state[name]) for name, values in network.state_dict().items())
    assert torch.equal(logits(network, inputs), untouched)


def test_one_change_at_a_time() -> None:
    network, inputs = classifier("Bert"), texts([6, 4])
    untouched = logits(network, inputs)
    with (
        replaced(network, left_alone),
        pytest.raises(RuntimeError, match="one change at a time"),
        replaced(network, uniform),
    ):
        pass
    assert torch.equal(logits(network, inputs), untouched)


def test_only_its_own_stop_is_swallowed() -> None:
    network, inputs, reached = classifier("Bert"), texts([6, 4]), []
    with stopping() as stop:

        def change(site: str, _weights: Tensor, _allowed: Tensor) -> None:
            reached.append(site)
            if site == SITES[1]:
                raise stop

        changed(network, inputs, change)
    assert reached == list(SITES[:2])
    with stopping() as outer, pytest.raises(type(outer)), stopping():
        raise outer
    assert same(logits(network, inputs), changed(network, inputs, left_alone))


@pytest.mark.parametrize("architecture", ["Bert", "Llama", "ModernBert", "GPT2"])
def test_contexts_are_weights_times_values(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([6, 4])
    seen = look(network, inputs, SITES)
    assert list(seen) == list(SITES)

    def give(site: str, _weights: Tensor, _allowed: Tensor, _values: Tensor | None) -> Contexts:
        values = seen[site].values
        assert values is not None
        return Contexts((seen[site].weights @ values).transpose(1, 2))

    with visited(network, give):
        assert same(logits(network, inputs), logits(classifier(architecture), inputs))


def test_looking_runs_no_further() -> None:
    network, inputs, reached = classifier("Bert"), texts([6, 4]), []
    network.bert.encoder.layer[1].register_forward_hook(lambda *_: reached.append(1))
    assert list(look(network, inputs, [SITES[1]])) == [SITES[1]]
    assert reached == []


def test_values_are_out_of_reach_behind_a_dropout() -> None:
    assert look(classifier("Deberta"), texts([6, 4]), [SITES[0]])[SITES[0]].values is None


def test_half_precision() -> None:
    network, inputs = classifier("Bert").to(torch.bfloat16), texts([6, 4])
    untouched = logits(network, inputs)
    assert torch.allclose(changed(network, inputs, given_back), untouched, atol=0.05)
    assert changed(network, inputs, uniform).dtype == torch.bfloat16
