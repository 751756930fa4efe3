"""Influence of tokens on hidden states: the fast walk, autograd, loops and finite differences agree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from attentest.importance import influence as module
from attentest.importance.influence import influence, influence_by_autograd
from attentest.models import ENCODERS, Classifier, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences

WORDS, DIMENSION, HIDDEN = 30, 5, 4
RAGGED = [(1,), (3, 1, 7, 4), (2, 2), (9, 1, 12, 12, 5)]
every_batch = pytest.mark.parametrize("lengths", RAGGED, ids=str)


def make_model(encoder: str = "bilstm", scale: float = 0.7) -> Classifier:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(WORDS, DIMENSION, generator=generator, dtype=torch.float64)
    model = Classifier(ModelSettings(encoder=encoder, hidden=HIDDEN), vectors, 2).double()
    for parameter in model.encoder.parameters():
        parameter.data = scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model.eval()


def make_batch(lengths: tuple[int, ...]) -> Batch:
    generator = np.random.default_rng(1)
    return batch_of_sequences([generator.integers(2, WORDS, n) for n in lengths])


def by_loops(model: Classifier, batch: Batch) -> list[torch.Tensor]:
    """One text, one hidden state and one token at a time."""
    found = []
    for ids, real in zip(batch.ids, batch.mask, strict=True):
        text = model.embed(ids[real][None]).detach().requires_grad_()
        hidden = model.encode_embedded(text, batch_of_sequences([ids[real].numpy()])).hidden[0]
        matrix = torch.zeros(len(hidden), len(hidden), dtype=torch.float64)
        for p in range(len(hidden)):
            (gradient,) = torch.autograd.grad(hidden[p].square().sum().sqrt(), text, retain_graph=True)
            for i in range(len(hidden)):
                matrix[p, i] = gradient[0, i].square().sum().sqrt()
        found.append(matrix)
    return found


@every_batch
@pytest.mark.parametrize("pairs", [1, 12, 1024])
def test_the_walk_equals_loops_and_autograd(
    lengths: tuple[int, ...], pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAIRS", pairs)
    model, batch = make_model(), make_batch(lengths)
    found = influence(model, batch)
    assert (found - influence_by_autograd(model, batch)).abs().max() <= 1e-10
    assert found.shape == (*batch.mask.shape, batch.mask.shape[1])
    for place, (length, wanted) in enumerate(zip(lengths, by_loops(model, batch), strict=True)):
        assert (found[place, :length, :length] - wanted).abs().max() <= 1e-10
        assert (found[place, length:] == 0).all()
        assert (found[place, :, length:] == 0).all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_equals_loops(encoder: str) -> None:
    model, batch = make_model(encoder), make_batch((3, 1, 6))
    found = influence(model, batch)
    for place, wanted in enumerate(by_loops(model, batch)):
        length = len(wanted)
        # CNN states of zeros have no direction: 0 in the loops is NaN, and 0 is what we give
        assert (found[place, :length, :length] - wanted.nan_to_num(0)).abs().max() <= 1e-10
    off = found * (1 - torch.eye(found.shape[1]))
    assert bool(off.abs().max() > 0) == (encoder not in ("mlp", "average", "none"))


def test_equals_finite_differences() -> None:
    model, batch = make_model(), make_batch((4,))
    embedded, step = model.embed(batch.ids).detach(), 1e-6
    gradient = torch.zeros(4, 4, DIMENSION, dtype=torch.float64)
    with torch.no_grad():
        for i in range(4):
            for k in range(DIMENSION):
                sizes = []
                for sign in (1, -1):
                    moved = embedded.clone()
                    moved[0, i, k] += sign * step
                    sizes.append(model.encode_embedded(moved, batch).hidden[0].norm(dim=-1))
                gradient[:, i, k] = (sizes[0] - sizes[1]) / (2 * step)
    assert (influence(model, batch)[0] - gradient.norm(dim=-1)).abs().max() <= 1e-8


@every_batch
def test_float32_is_close_and_padding_changes_nothing(lengths: tuple[int, ...]) -> None:
    model, batch = make_model(), make_batch(lengths)
    exact = influence(model, batch)
    single = model.float()
    found = influence(single, batch)
    assert found.dtype == torch.float32
    assert (found - exact).abs().max() <= 1e-4 * exact.max()
    padded = replace(batch, ids=nn.functional.pad(batch.ids, (0, 4)), mask=nn.functional.pad(batch.mask, (0, 4)))
    size = batch.mask.shape[1]
    assert (influence(single, padded)[:, :size, :size] - found).abs().max() <= 1e-6 * exact.max()


@pytest.mark.parametrize("forget", [-4.0, 0.0, 5.0])
def test_long_texts_with_short_and_long_memory(forget: float) -> None:
    """Adjoints that have faded away are dropped; those of a cell that keeps everything are not."""
    model, batch = make_model(scale=0.3), make_batch((90, 60, 89))
    for side in ("forwards", "backwards"):
        model.encoder.get_parameter(f"{side}.bias_ih_l0").data[HIDDEN : 2 * HIDDEN] = forget
    exact = influence_by_autograd(model, batch)
    assert (influence(model, batch) - exact).abs().max() <= 1e-10
    found = influence(model.float(), batch)
    assert (found - exact).abs().max() <= 1e-4 * exact.max()
    assert bool((found[0, 89, 0] > 0) == (forget == 5.0))  # 89 steps away


def test_by_hand() -> None:
    """An LSTM of one unit each way on three one-number tokens; W_hh = 0, so that only the cell carries anything over.

    i, f and o are σ(0) = ½ whatever is read, and g = tanh(x). x = (0.2, −0.4, 0.6):
    forward cells   c_1 = ½g_1, c_2 = ½g_2 + ¼g_1, c_3 = ½g_3 + ¼g_2 + ⅛g_1;  h = ½tanh(c)
    backward cells  b_3 = ½g_3, b_2 = ½g_2 + ¼g_3, b_1 = ½g_1 + ¼g_2 + ⅛g_3
    ∂‖(h_p, k_p)‖/∂x_i = (h_p ∂h_p/∂x_i + k_p ∂k_p/∂x_i)/‖·‖ with ∂h_p/∂x_i = ½(1 − tanh²c_p)·½^(p−i+1)·(1 − g_i²)
    """
    x = [0.2, -0.4, 0.6]
    g = [math.tanh(v) for v in x]
    vectors = torch.tensor([[0.0], *([v] for v in x)], dtype=torch.float64)
    model = Classifier(ModelSettings(hidden=2), vectors, 2).double().eval()
    for name in ("forwards", "backwards"):
        lstm = nn.LSTM(1, 1, batch_first=True).double()
        for parameter in lstm.parameters():
            parameter.data.zero_()
        lstm.get_parameter("weight_ih_l0").data[2] = 1  # g alone reads x
        setattr(model.encoder, name, lstm)
    found = influence(model, batch_of_sequences([np.array([1, 2, 3])]))[0]
    ahead = [g[0] / 2, g[1] / 2 + g[0] / 4, g[2] / 2 + g[1] / 4 + g[0] / 8]
    back = [g[0] / 2 + g[1] / 4 + g[2] / 8, g[1] / 2 + g[2] / 4, g[2] / 2]
    for p in range(3):
        h, k = math.tanh(ahead[p]) / 2, math.tanh(back[p]) / 2
        for i in range(3):
            by_h = (1 - math.tanh(ahead[p]) ** 2) / 2 * 0.5 ** (p - i + 1) * (1 - g[i] ** 2) if i <= p else 0
            by_k = (1 - math.tanh(back[p]) ** 2) / 2 * 0.5 ** (i - p + 1) * (1 - g[i] ** 2) if i >= p else 0
            assert found[p, i].item() == pytest.approx(abs(h * by_h + k * by_k) / math.hypot(h, k), abs=1e-12)
    # h_2 on x_1: c_2 = ½·(−.37995) + ¼·.19738 = −.14063, h = −.06986; b_2 = −.18997 + ¼·.53705 = −.05571, k = −.02783
    # |h|/‖·‖ = .06986/.07520 = .92902; ½(1 − tanh²c_2) = .49024; ¼(1 − g_1²) = .24026; product .10943
    assert found[1, 0].item() == pytest.approx(0.10943, abs=1e-4)


def test_nothing_is_left_behind() -> None:
    model, batch = make_model(), make_batch((3, 5))
    with torch.inference_mode():
        fast, general = influence(model, batch), influence_by_autograd(model, batch)
    assert not fast.requires_grad
    assert not general.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
