"""Ways in which replacing attention weights goes wrong without anybody noticing."""

from __future__ import annotations

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from networks import BART, BERT, LAYERS, classifier, logits, texts, transformers, uniform
from torch import Tensor

from attentest.errors import InputError
from attentest.models.pretrained.replaced import NAME, find_sites, look, replaced

SITES = tuple(f"encoder.{layer}" for layer in range(LAYERS))


def left_alone(*_: Any) -> None:
    return None


def gap(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().max())


@pytest.mark.parametrize("architecture", ["Bert", "Llama"])
def test_without_its_mask_function_padding_and_order_would_be_lost(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, inputs = classifier(architecture), texts([9, 4, 6], side="left" if architecture == "Llama" else "right")
    untouched = logits(network, inputs)
    with replaced(network, left_alone):
        assert gap(logits(network, inputs), untouched) <= 1e-5
    monkeypatch.delitem(transformers.AttentionMaskInterface._global_mapping, NAME)
    with replaced(network, left_alone):
        assert gap(logits(network, inputs), untouched) > 0.1


@pytest.mark.parametrize("architecture", ["Bert", "Albert", "Llama", "Deberta"])
def test_new_weights_are_what_the_network_shows(architecture: str) -> None:
    network, inputs = classifier(architecture), texts([6, 4])
    with torch.no_grad():
        own = look(network, inputs, SITES)
        with replaced(network, uniform):
            shown = network(**inputs, output_attentions=True).attentions
    assert len(shown) == LAYERS
    for weights, site in zip(shown, SITES, strict=True):
        assert gap(weights, uniform(site, own[site].weights, own[site].allowed)) <= 1e-6


def test_a_config_that_asks_for_attentions() -> None:
    network, inputs = classifier("Bert", attn_implementation="eager", output_attentions=True), texts([6, 4])
    untouched = logits(network, inputs)
    with replaced(network, left_alone):
        assert gap(logits(network, inputs), untouched) <= 1e-5
    assert network.config._attn_implementation == "eager"
    assert network.config.output_attentions


@pytest.mark.parametrize("architecture", ["Deberta", "MPNet"])
def test_a_network_that_ignores_the_name_is_noticed(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = classifier(architecture)
    monkeypatch.setattr(type(network), "_can_set_attn_implementation", lambda *_: True)
    inner = type(next(iter(network.children())))
    monkeypatch.setattr(inner, "_can_set_attn_implementation", lambda *_: True)
    with pytest.raises(InputError, match=f"{architecture.lower()} cannot be replaced"):
        find_sites(network, texts([6, 4]))


def test_albert_calls_one_module_for_every_layer() -> None:
    network, inputs = classifier("Albert"), texts([6, 4])
    found = []
    for site in SITES:
        with replaced(network, uniform, [site]):
            found.append(logits(network, inputs))
    with replaced(network, lambda *given: uniform(*given) if given[0] == SITES[1] else None):
        assert gap(logits(network, inputs), found[1]) <= 1e-5
    assert min(gap(found[0], found[1]), gap(found[1], found[2])) > 1e-2


KINDS = [f"{kind}.{layer}" for kind in ("encoder", "decoder", "across") for layer in range(2)]


def encoder_decoders() -> dict[str, Any]:
    """Of EncoderDecoderModel the layers have another config than the models that they are in."""
    torch.manual_seed(0)
    small = {**BERT, "num_hidden_layers": 2}
    decoder = {**small, "is_decoder": True, "add_cross_attention": True}
    both = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.BertConfig(**small), transformers.BertConfig(**decoder)
    )
    bart = {**BART, "encoder_layers": 2, "decoder_layers": 2}
    t5 = {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2, "pad_token_id": 0}
    return {
        "EncoderDecoder": transformers.EncoderDecoderModel(both),
        "Bart": transformers.BartForConditionalGeneration(transformers.BartConfig(**bart)),
        "Marian": transformers.MarianMTModel(transformers.MarianConfig(**bart)),
        "T5": transformers.T5ForConditionalGeneration(transformers.T5Config(**t5, decoder_start_token_id=0)),
    }


@pytest.mark.parametrize("architecture", ["EncoderDecoder", "Bart", "Marian", "T5"])
def test_encoders_with_decoders_have_three_kinds_of_sites(architecture: str) -> None:
    network = encoder_decoders()[architecture].eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() > 1 and "norm" not in name.lower():
                parameter.normal_(0, 0.3)
    inputs = texts([9, 4, 6])
    inputs["decoder_input_ids"] = texts([5, 5, 5], seed=1)["input_ids"]
    untouched = logits(network, inputs)
    assert sorted(find_sites(network, inputs).names) == sorted(KINDS)
    with replaced(network, lambda _site, weights, _allowed: weights):
        assert gap(logits(network, inputs), untouched) <= 1e-5 * float(untouched.abs().max())
    for site in KINDS:
        with replaced(network, uniform, [site]):
            assert gap(logits(network, inputs), untouched) > 1e-2
    assert look(network, inputs, ["across.1"])["across.1"].weights.shape[2:] == (5, 9)


@pytest.mark.parametrize("beams", [1, 3])
def test_generation_reaches_every_step(beams: int) -> None:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, eos_token_id=1, pad_token_id=0)
    network = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.3)
    inputs = texts([5, 3], side="left")
    options: dict[str, Any] = {"max_new_tokens": 8, "num_beams": beams, "do_sample": False}
    untouched = network.generate(**inputs, **options)
    seen: list[str] = []

    def record(site: str, weights: Tensor, _allowed: Tensor) -> Tensor:
        seen.append(site)
        return weights

    with replaced(network, record):
        assert torch.equal(network.generate(**inputs, **options), untouched)
    assert set(seen) == {"encoder.0", "encoder.1"}
    assert len(seen) >= 2 * (untouched.shape[1] - 5)
    with replaced(network, uniform):
        assert not torch.equal(network.generate(**inputs, **options), untouched)


def test_a_site_that_is_not_there_is_no_quiet_success() -> None:
    network, inputs = classifier("Bert"), texts([6, 4])
    untouched = logits(network, inputs)
    with pytest.raises(InputError, match=r"Unknown site 'encoder\.7'"), replaced(network, uniform, ["encoder.7"]):
        logits(network, inputs)
    assert torch.equal(logits(network, inputs), untouched)


def test_another_network_with_the_same_config_is_left_alone() -> None:
    network, inputs = classifier("Bert"), texts([6, 4])
    torch.manual_seed(1)
    other = type(network)(network.config).eval()
    untouched = logits(other, inputs)
    with replaced(network, uniform):
        assert gap(logits(other, inputs), untouched) <= 1e-5
        assert gap(logits(network, inputs), logits(classifier("Bert"), inputs)) > 1e-2


def test_another_thread_is_left_alone() -> None:
    network, inputs = classifier("Bert"), texts([6, 4])
    untouched = logits(network, inputs)
    with replaced(network, uniform), ThreadPoolExecutor(1) as threads:
        assert gap(threads.submit(logits, network, inputs).result(), untouched) <= 1e-5


def test_training_sees_the_new_weights() -> None:
    network, inputs = classifier("Bert").train(), texts([6, 4])
    with replaced(network, uniform):
        network(**inputs).logits.sum().backward()
    for layer in network.bert.encoder.layer:
        assert layer.attention.self.value.weight.grad.abs().sum() > 0
        assert layer.attention.self.query.weight.grad.abs().sum() == 0  # uniform weights depend on no query


def test_without_the_library_there_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "attentest.models.pretrained.library")
    with pytest.raises(InputError, match=r"pip install 'attentest\[hf\]'"):
        importlib.import_module("attentest.models.pretrained.library")
