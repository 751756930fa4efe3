"""Alignments against the papers' formulas, in plain loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.alignments import ALIGNMENTS, Additive, Deep, Dot, make_alignment

SIZE = 6
SPECS = ["additive", "dot", "scaled-dot", "deep", "deep:1", "deep:3"]


def random_alignment(spec: str, size: int = SIZE) -> nn.Module:
    module = make_alignment(spec, size).double()
    generator = torch.Generator().manual_seed(3)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return module


def random_hidden(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def affine(layer: nn.Linear, x: list[float]) -> list[float]:
    """W x + b, without the b where there is none."""
    bias = layer.bias.tolist() if layer.bias is not None else [0.0] * layer.out_features
    return [
        b + sum(w * value for w, value in zip(row, x, strict=True))
        for row, b in zip(layer.weight.tolist(), bias, strict=True)
    ]


def score(module: nn.Module, h: list[float]) -> float:
    """The score of one hidden state, from the definition."""
    if isinstance(module, Additive):  # v·tanh(W h + b), WE eq. 2 without a query
        inner = [math.tanh(x) for x in affine(module.inner, h)]
        return affine(module.outer, inner)[0]
    if isinstance(module, Deep):  # W⁽ˢ⁾ ReLU(W⁽ˢ⁻¹⁾ … ReLU(W_h h)), WE eq. 3 and 4 without a query
        layers = [layer for layer in module.inner if isinstance(layer, nn.Linear)]
        x = h
        for layer in layers:
            x = [max(0.0, value) for value in affine(layer, x)]
        return affine(module.outer, x)[0]
    assert isinstance(module, Dot)  # u·h, WE eq. 5; JW and ME divide by √H
    return affine(module.outer, h)[0]


@pytest.mark.parametrize("spec", SPECS)
def test_equals_the_formula_in_plain_loops(spec: str) -> None:
    module, hidden = random_alignment(spec), random_hidden(3, 5, SIZE)
    scores = module(hidden)
    assert scores.shape == (3, 5)
    divisor = math.sqrt(SIZE) if spec == "scaled-dot" else 1
    for text in range(3):
        for token in range(5):
            wanted = float(score(module, hidden[text, token].tolist())) / divisor
            assert scores[text, token].item() == pytest.approx(wanted, abs=1e-12)


def test_table_here_covers_the_registry() -> None:
    assert {spec.partition(":")[0] for spec in SPECS} == set(ALIGNMENTS)


@pytest.mark.parametrize(("spec", "relus"), [("deep:1", 1), ("deep", 2), ("deep:3", 3)])
def test_deep_has_the_asked_number_of_layers(spec: str, relus: int) -> None:
    module = random_alignment(spec)
    assert sum(isinstance(part, nn.ReLU) for part in module.modules()) == relus
    shapes = [tuple(part.weight.shape) for part in module.modules() if isinstance(part, nn.Linear)]
    assert shapes == [(SIZE // 2, SIZE)] + [(SIZE // 2, SIZE // 2)] * (relus - 1) + [(1, SIZE // 2)]


def test_sizes_are_those_of_the_papers() -> None:
    """W to half the hidden size, and no bias on what gives the score (it would change no weight)."""
    additive = make_alignment("additive", 256)
    assert {name: tuple(p.shape) for name, p in additive.named_parameters()} == {
        "inner.weight": (128, 256),
        "inner.bias": (128,),
        "outer.weight": (1, 128),
    }
    assert {name: tuple(p.shape) for name, p in make_alignment("dot", 256).named_parameters()} == {
        "outer.weight": (1, 256)
    }


def test_numbers_worked_by_hand() -> None:
    hidden = torch.tensor([[[1.0, 2.0, 0.0, -1.0]]], dtype=torch.float64)
    dot: Any = random_alignment("dot", 4)
    scaled: Any = random_alignment("scaled-dot", 4)
    for module in (dot, scaled):
        module.outer.weight.data = torch.tensor([[3.0, 0.5, 7.0, 1.0]], dtype=torch.float64)
    assert dot(hidden).item() == 3  # 3 + 1 + 0 − 1
    assert scaled(hidden).item() == 1.5  # 3 / √4
    deep: Any = random_alignment("deep:1", 4)
    deep.inner[0].weight.data = torch.tensor([[1.0, 1, 1, 1], [-1, -1, 0, 0]], dtype=torch.float64)
    deep.inner[0].bias.data = torch.tensor([0.5, 1.0], dtype=torch.float64)
    deep.outer.weight.data = torch.tensor([[2.0, 100.0]], dtype=torch.float64)
    assert deep(hidden).item() == 5  # ReLU(2 + .5) = 2.5, ReLU(−3 + 1) = 0: 2·2.5 + 100·0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_additive_is_tanh_by_another_name(dtype: torch.dtype) -> None:
    """2σ(2x) − 1 = tanh(x), in value to the last bits and in gradient, also where it is flat."""
    module: Any = make_alignment("additive", 2).to(dtype)
    module.inner.weight.data = torch.tensor([[1.0, 0.0]], dtype=dtype)
    module.inner.bias.data.zero_()
    module.outer.weight.data.fill_(1.0)
    x = torch.cat((torch.linspace(-5, 5, 101), torch.tensor([-1e4, -30, 30, 1e4, 1e-7]))).to(dtype).requires_grad_()
    plain = x.detach().clone().requires_grad_()
    found = module(torch.stack((x, torch.ones_like(x)), -1)[None])[0]
    bits = 4 * torch.finfo(dtype).eps
    assert (found - plain.tanh()).abs().max() <= bits
    found.sum().backward()
    plain.tanh().sum().backward()
    assert x.grad is not None
    assert plain.grad is not None
    assert (x.grad - plain.grad).abs().max() <= bits


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("deep:0", "a whole number of layers, at least 1"),
        ("deep:1.5", "a whole number of layers, at least 1"),
        ("deep:inf", "a whole number of layers, at least 1"),
        ("deep:two", "'deep:two' is not a number"),
        ("dot:2", "'dot' takes no parameter"),
        ("aditive", "did you mean 'additive'"),
        ("scaled_dot", "did you mean 'scaled-dot'"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_in_a_sentence(spec: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        make_alignment(spec, SIZE)
    assert message in str(error.value)
