"""The optimiser of pretrained encoders: groups, schedule, clipping, and its state; and settings that fit no encoder."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models import ModelSettings
from attentest.text.settings import TextSettings
from attentest.training.fine_tuning import FineTuningOptimizer, check_fine_tuning
from attentest.training.settings import Settings, TrainingSettings


class RMSNorm(nn.Module):
    """As networks bring their own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3), nn.Linear(3, 3), RMSNorm(), nn.Linear(3, 2))


def made(model: nn.Module, **options: Any) -> FineTuningOptimizer:
    return FineTuningOptimizer(model, 0.1, 0.5, **{"steps": 10, **options})


def give_gradients(model: nn.Module, step: int, scale: float = 1.0) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = scale * torch.randn(parameter.shape, generator=generator)


def test_biases_and_norms_do_not_decay_and_everything_is_trained_once() -> None:
    model = network()
    optimizer = made(model)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decayed, plain = optimizer.adam.param_groups
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.5, 0.0)
    assert {names[id(p)] for p in decayed["params"]} == {"0.weight", "2.weight", "4.weight"}
    assert {names[id(p)] for p in plain["params"]} == {"1.weight", "1.bias", "2.bias", "3.weight", "4.bias"}


def test_frozen_parameters_are_left_alone() -> None:
    model = network()
    model[0].requires_grad_(False)  # type: ignore[index]
    before = model[0].weight.clone()  # type: ignore[index]
    optimizer = made(model)
    give_gradients(model, 0)
    optimizer.step()
    assert torch.equal(model[0].weight, before)  # type: ignore[index]


def test_the_rate_rises_then_falls_linearly_and_never_goes_below_zero() -> None:
    shares = [made(network(), steps=10, warmup=0.2).share(step) for step in range(12)]
    assert shares[:2] == [0.5, 1.0]
    assert shares[2:10] == pytest.approx([8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9])
    assert shares[10:] == [0.0, 0.0]


@pytest.mark.parametrize(("warmup", "steps"), [(1.0, 4), (1e-9, 4), (0.5, 1), (1.0, 1)])
def test_no_step_that_is_planned_is_lost(warmup: float, steps: int) -> None:
    optimizer = made(network(), steps=steps, warmup=warmup)
    assert all(0 < optimizer.share(step) <= 1 for step in range(steps))


def test_without_a_rise_the_rate_stays() -> None:
    assert {made(network()).share(step) for step in range(30)} == {1.0}


def test_equals_torchs_adamw_with_its_clipping_and_a_schedule_by_hand() -> None:
    ours, theirs = network(), network()
    optimizer = made(ours, steps=6, warmup=0.5, texts=4)
    is_plain = [name.endswith("bias") or name.startswith(("1.", "3.")) for name, _ in theirs.named_parameters()]
    parameters = list(theirs.parameters())
    adam = torch.optim.AdamW(
        [
            {"params": [p for p, plain in zip(parameters, is_plain, strict=True) if not plain], "weight_decay": 0.5},
            {"params": [p for p, plain in zip(parameters, is_plain, strict=True) if plain], "weight_decay": 0.0},
        ],
        lr=0.1,
    )
    for step, share in enumerate([1 / 3, 2 / 3, 1.0, 0.75, 0.5, 0.25]):
        scale = 10.0 if step % 2 else 0.01  # above and below the bound
        give_gradients(ours, step, scale)
        give_gradients(theirs, step, scale)
        optimizer.step()
        nn.utils.clip_grad_norm_(parameters, 4.0)
        for group in adam.param_groups:
            group["lr"] = 0.1 * share
        adam.step()
    for own, wanted in zip(ours.parameters(), parameters, strict=True):
        assert torch.allclose(own, wanted, atol=1e-6)


def test_a_state_that_is_put_back_goes_on_bit_for_bit() -> None:
    whole, stopped = network(), network()
    first, second = made(whole, warmup=0.3), made(stopped, warmup=0.3)
    for step in range(4):
        for model, optimizer in ((whole, first), (stopped, second)):
            give_gradients(model, step)
            optimizer.step()
    stored: dict[str, Tensor] = {name: value.clone() for name, value in second.tensors().items()}
    resumed = made(stopped, warmup=0.3)
    expected = resumed.like(stored)
    assert {name: (v.shape, v.dtype) for name, v in expected.items()} == {
        name: (v.shape, v.dtype) for name, v in stored.items()
    }
    resumed.load_tensors(stored)
    for step in range(4, 10):
        for model, optimizer in ((whole, first), (stopped, resumed)):
            give_gradients(model, step)
            optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), stopped.parameters(), strict=True))


def settings(**given: Any) -> Settings:
    text = {name: given.pop(name) for name in ("tokenizer", "lower", "max_tokens", "vectors") if name in given}
    return Settings(
        TextSettings(**text), ModelSettings(pretrained=given.pop("pretrained", "x")), TrainingSettings(**given)
    )


@pytest.mark.parametrize(
    "given",
    [
        {"tokenizer": "whitespace"},
        {"lower": False},
        {"vectors": "glove-6b-50d"},
        {"attention_lr": 0.1},
        {"train_vectors": False},
        {"freeze": ("encoder",)},
        {"take": ("encoder",)},
        {"pretrained": None, "warmup": 0.1},
        {"pretrained": None, "freeze_layers": 1},
    ],
)
def test_settings_that_mean_nothing_are_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=list(given)[-1]):
        check_fine_tuning(settings(**given))


def test_settings_that_mean_something_are_taken() -> None:
    check_fine_tuning(settings(max_tokens=50, warmup=0.1, freeze_layers=2, lr=1e-5, seed=3))
    check_fine_tuning(settings(pretrained=None, freeze=("encoder",), lower=False))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"encoder": "cnn"}, "encoder 'cnn' cannot be set"),
        ({"hidden": 64}, "hidden 64 cannot be set"),
        ({"structure": "hierarchical"}, "structure 'hierarchical' cannot be set"),
        ({"projection": "sparsemax"}, "choose softmax or uniform"),
        ({"pretrained": ""}, "pretrained is empty"),
    ],
)
def test_a_pretrained_encoder_has_its_own_parts(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ModelSettings(**{"pretrained": "folder", **given}).check_parts()


def test_a_pretrained_model_is_called_by_the_name_of_its_folder() -> None:
    assert ModelSettings(pretrained="models/minilm/").name == "minilm"
    assert ModelSettings(pretrained="org/encoder", projection="uniform").name == "encoder"
