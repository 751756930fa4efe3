"""Gradient importance against finite differences, loops over texts, and a text worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from random_classifier import LENGTHS, make_batch, make_model
from torch import Tensor

from attentest.importance.gradients import (
    attention_gradient,
    hidden_gradients,
    input_gradients,
    normalised,
    probability_slope,
)
from attentest.importance.lstm_gradients import TEXTS
from attentest.models import Classifier, ModelSettings
from attentest.models.protocol import Encoded, Weights
from attentest.text.batches import Batch, batch_of_sequences

STEP = 1e-6
CHOICES = [
    (encoder, projection, classes)
    for encoder in ("bilstm", "average", "cnn", "transformer")
    for projection, classes in (("softmax", 2), ("entmax", 3))
]
every_choice = pytest.mark.parametrize(("encoder", "projection", "classes"), CHOICES)


def alone(batch: Batch, place: int) -> Batch:
    real = batch.mask[place]
    return replace(batch, ids=batch.ids[place][real][None], mask=real[real][None], rows=batch.rows[[place]])


def probability(logits: Tensor, predicted: int) -> float:
    return logits[0].softmax(-1)[predicted].item()


def by_differences(f: Callable[[Tensor], float], at: Tensor) -> Tensor:
    """∂f/∂ each entry of the one text `at`, from both sides."""
    found = torch.zeros_like(at)
    for place in np.ndindex(*at.shape):
        moved = [at.clone(), at.clone()]
        moved[0][place] += STEP
        moved[1][place] -= STEP
        found[place] = (f(moved[0]) - f(moved[1])) / (2 * STEP)
    return found


@torch.no_grad()
def wanted_gradient(model: Classifier, batch: Batch, kind: str, through_attention: bool) -> Tensor:
    """By finite differences on one text; with α held fixed at what it was, or attended anew."""
    embedded = model.embed(batch.ids)
    encoded = model.encode(batch)
    weights = model.attend(encoded)
    predicted = int(model.decode(encoded, weights).argmax())

    def f(values: Tensor) -> float:
        moved = model.encode_embedded(values, batch) if kind == "input" else replace(encoded, hidden=values)
        return probability(model.decode(moved, model.attend(moved) if through_attention else weights), predicted)

    return by_differences(f, embedded if kind == "input" else encoded.hidden)


@every_choice
@pytest.mark.parametrize("through_attention", [True, False])
@pytest.mark.parametrize("kind", ["input", "hidden"])
def test_equals_finite_differences(
    encoder: str, projection: str, classes: int, through_attention: bool, kind: str
) -> None:
    model, batch = make_model(encoder, projection, classes), make_batch()
    gradients = input_gradients if kind == "input" else hidden_gradients
    found = gradients(model, batch, through_attention=through_attention)
    for place, length in enumerate(LENGTHS):
        wanted = wanted_gradient(model, alone(batch, place), kind, through_attention)[0]
        assert (found.gradient[place, :length] - wanted).abs().max() <= 1e-7
        assert (found.l2[place, :length] - wanted.norm(dim=-1)).abs().max() <= 1e-7
        assert (found.l1[place, :length] - wanted.abs().sum(-1)).abs().max() <= 1e-6
        product = (wanted * found.value[place, :length]).sum(-1).abs()
        assert (found.times_input[place, :length] - product).abs().max() <= 1e-6
        for scores in (found.l2, found.l1, found.times_input):
            assert (scores[place, length:] == 0).all()


def test_the_values_are_the_embedded_tokens_and_the_hidden_states() -> None:
    model, batch = make_model(), make_batch()
    assert torch.equal(input_gradients(model, batch).embedded, model.embed(batch.ids))
    assert torch.equal(hidden_gradients(model, batch).hidden, model.encode(batch).hidden)


def test_attention_held_fixed_is_another_gradient() -> None:
    model, batch = make_model(), make_batch()
    for gradients in (input_gradients, hidden_gradients):
        through, fixed = gradients(model, batch), gradients(model, batch, through_attention=False)
        long = batch.mask.sum(1) > 1
        assert ((through.l2 - fixed.l2).abs().amax(1)[long] > 1e-6).all()
        # a single token has weight 1 whatever its score
        assert torch.allclose(through.gradient[~long], fixed.gradient[~long], atol=1e-12)


@every_choice
def test_equals_a_loop_over_texts_and_stays_the_same_under_padding(encoder: str, projection: str, classes: int) -> None:
    model, batch = make_model(encoder, projection, classes), make_batch()
    padded = replace(
        batch, ids=torch.nn.functional.pad(batch.ids, (0, 3)), mask=torch.nn.functional.pad(batch.mask, (0, 3))
    )
    found = input_gradients(model, batch)
    assert torch.allclose(input_gradients(model, padded).l2[:, : batch.mask.shape[1]], found.l2, atol=1e-12)
    for place, length in enumerate(LENGTHS):
        text = alone(batch, place)
        embedded = model.embed(text.ids).detach().requires_grad_()
        encoded = model.encode_embedded(embedded, text)
        model.decode(encoded, model.attend(encoded)).softmax(-1).max().backward()
        assert embedded.grad is not None
        assert (embedded.grad[0] - found.gradient[place, :length]).abs().max() <= 1e-12
        model.zero_grad()


@pytest.mark.parametrize("through_attention", [True, False])
@pytest.mark.parametrize("projection", ["softmax", "preset"])
def test_more_texts_than_are_walked_together_in_any_order(through_attention: bool, projection: str) -> None:
    model = make_model(projection=projection)
    lengths = tuple(np.random.default_rng(2).integers(1, 15, 3 * TEXTS + 1).tolist())
    batch = make_batch(lengths)
    given = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * batch.mask
    batch = replace(batch, preset=given / given.sum(1, keepdim=True))
    found = input_gradients(model, batch, through_attention=through_attention)
    embedded = model.embed(batch.ids).detach().requires_grad_()
    encoded = model.encode_embedded(embedded, batch)
    weights = model.attend(encoded)
    weights = weights if through_attention else {site: alpha.detach() for site, alpha in weights.items()}
    model.decode(encoded, weights).softmax(-1).amax(1).sum().backward()
    assert embedded.grad is not None
    assert (embedded.grad - found.gradient).abs().max() <= 1e-12
    assert (found.gradient[~batch.mask] == 0).all()


def test_by_hand() -> None:
    """Three tokens; hidden size 2, decoder w = (2, −1), b = 0, uniform α = 1/3, states h = tanh(x), affine map = 1.

    x = (0.5, 0), (0, 1), (−1, 0): h = (.4621, 0), (0, .7616), (−.7616, 0); c = (−.0998, .2539)
    logit = 2·(−.0998) − .2539 = −.4535; σ = .3885; class 0 is predicted, f = .6115, f' = −.3885·.6115 = −.23758
    ∂f/∂h_i = f'·w/3 = (−.15839, .07919), so ‖·‖ = .23758·√5/3 = .17708 for each
    ∂f/∂x_i = that · (1 − h²): 1 − .4621² = .78645, 1 − .7616² = .41997
    ‖·‖: √((.15839·.78645)² + .07919²) = .14770; √(.15839² + (.07919·.41997)²) = .16184;
         √((.15839·.41997)² + .07919²) = .10345
    times input: .15839·.78645·.5 = .06228; .07919·.41997·1 = .03326; .15839·.41997·1 = .06652
    """
    vectors = torch.tensor([[0.0, 0.0], [0.5, 0.0], [0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    model = Classifier(ModelSettings(encoder="average", projection="preset", hidden=2), vectors, 2).double().eval()
    affine = model.encoder.get_submodule("affine")
    affine.weight.data, affine.bias.data = torch.eye(2).double(), torch.zeros(2).double()
    model.decoder.weight.data, model.decoder.bias.data = torch.tensor([[2.0, -1.0]]).double(), torch.zeros(1).double()
    third = torch.full((1, 3), 1 / 3, dtype=torch.float64)
    batch = replace(batch_of_sequences([np.array([1, 2, 3])]), preset=third)
    inputs, hidden = input_gradients(model, batch), hidden_gradients(model, batch)
    assert inputs.l2[0].tolist() == pytest.approx([0.14770, 0.16184, 0.10345], abs=1e-4)
    assert inputs.times_input[0].tolist() == pytest.approx([0.06228, 0.03326, 0.06652], abs=1e-4)
    assert hidden.l2[0].tolist() == pytest.approx([0.17708] * 3, abs=1e-4)
    # ∂f/∂α_i = f'·(w·h_i): −.23758 · (.9242, −.7616, −1.5232)
    encoded = model.encode(batch)
    by_weight = attention_gradient(model, encoded, model.attend(encoded))
    assert by_weight[0].tolist() == pytest.approx([-0.21958, 0.18094, 0.36188], abs=1e-4)


@every_choice
def test_hidden_gradients_with_attention_fixed_have_a_closed_form(encoder: str, projection: str, classes: int) -> None:
    """∂f/∂h_i = α_i · Σ_c ∂f/∂logit_c · w_c, as the decoder is affine."""
    model, batch = make_model(encoder, projection, classes), make_batch()
    encoded = model.encode(batch)
    weights = model.attend(encoded)
    slope = probability_slope(model.decode(encoded, weights))
    wanted = weights["token"].unsqueeze(-1) * (slope[:, -len(model.decoder.weight) :] @ model.decoder.weight)[:, None]
    found = hidden_gradients(model, encoded, through_attention=False).gradient
    assert (found - wanted).abs().max() <= 1e-12


class Bent:
    """The same model, but its decoder is nonlinear in the context, and it has no token logits."""

    sites = ("token",)

    def __init__(self, model: Classifier, bend: bool) -> None:
        self.model, self.bend = model, bend

    def encode(self, batch: Batch) -> Encoded:
        return self.model.encode(batch)

    def attend(self, encoded: Encoded) -> Weights:
        return self.model.attend(encoded)

    def decode(self, encoded: Encoded, weights: Weights) -> Tensor:
        logits = self.model.decode(encoded, weights)
        return logits.sin() if self.bend else logits


@every_choice
def test_gradient_by_attention_weights(encoder: str, projection: str, classes: int) -> None:
    model, batch = make_model(encoder, projection, classes), make_batch()
    with torch.inference_mode():  # what comes from there can be used, too
        encoded = model.encode(batch)
        weights = model.attend(encoded)
        closed = attention_gradient(model, encoded, weights)
        by_autograd = attention_gradient(Bent(model, bend=False), encoded, weights)
        bent = attention_gradient(Bent(model, bend=True), encoded, weights)
    assert (closed - by_autograd).abs().max() <= 1e-12
    assert (closed[~batch.mask] == 0).all()
    for place, length in enumerate(LENGTHS):
        one = Encoded(encoded.hidden[place : place + 1, :length], encoded.mask[place : place + 1, :length])
        for found, decoder in ((closed, model), (bent, Bent(model, bend=True))):
            alpha = weights["token"][place : place + 1, :length].clone()
            predicted = int(decoder.decode(one, {"token": alpha}).argmax())
            wanted = by_differences(
                lambda a: probability(decoder.decode(one, {"token": a}).detach(), predicted),  # noqa: B023
                alpha,
            )
            assert (found[place, :length] - wanted[0]).abs().max() <= 1e-7


def test_normalised() -> None:
    mask = torch.tensor([[True, True, True], [True, True, False]])
    found = normalised(torch.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 5.0]]), mask)
    assert found.tolist() == [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]


def test_a_sure_prediction_keeps_its_slope() -> None:
    """σ(40) rounds to 1 in float32, and 1 − 1 would leave no gradient; f(1 − f) = e^−40."""
    slope = probability_slope(torch.tensor([[0.0, 40.0], [0.0, -40.0]]))
    assert slope[:, 1].tolist() == pytest.approx([np.exp(-40.0), -np.exp(-40.0)], rel=1e-5)


def test_nothing_is_left_behind() -> None:
    model, batch = make_model(), make_batch()
    with torch.inference_mode():
        found = input_gradients(model, batch)
        hidden_gradients(model, model.encode(batch))
    assert not found.gradient.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.training
    assert torch.backends.cudnn.enabled
