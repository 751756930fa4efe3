"""The decoder context+mean: a second path around the attention, exact for everything that asks for token logits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

import attentest
from attentest.importance.erasure import removed_probabilities
from attentest.importance.gradients import attention_gradient, hidden_gradients, input_gradients
from attentest.importance.influence import influence, influence_by_autograd
from attentest.importance.lstm_gradients import plain_bilstm
from attentest.models import ENCODERS, ModelSettings, make_model
from attentest.models.classifier import MeanClassifier
from attentest.models.protocol import Weights
from attentest.text.batches import Batch, batch_of_sequences

WORDS, DIMENSION, HIDDEN = 30, 5, 6
LENGTHS = (3, 1, 7, 4)

every_encoder = pytest.mark.parametrize("encoder", ENCODERS)
both_class_counts = pytest.mark.parametrize("classes", [2, 3])


def made_model(encoder: str = "bilstm", classes: int = 2, projection: str = "softmax") -> MeanClassifier:
    torch.manual_seed(0)
    settings = ModelSettings(encoder=encoder, projection=projection, hidden=HIDDEN, decoder="context+mean")
    model = make_model(settings, torch.randn(WORDS, DIMENSION), classes)
    assert isinstance(model, MeanClassifier)
    for parameter in model.parameters():
        parameter.data *= 2
    return model.double().eval()


def made_batch() -> Batch:
    generator = np.random.default_rng(1)
    return batch_of_sequences([generator.integers(2, WORDS, n) for n in LENGTHS])


def alone(ids: Tensor) -> Batch:
    return Batch(ids[None], torch.ones(1, len(ids), dtype=torch.bool), np.array([0]))


@torch.no_grad()
def twin(model: MeanClassifier, text: Batch, weights: Tensor | None = None) -> Tensor:
    """The probabilities of one text without padding, by loops."""
    hidden = model.encode(text).hidden[0]
    alpha = model.alignment(hidden[None])[0].softmax(-1) if weights is None else weights
    context, mean = torch.zeros_like(hidden[0]), torch.zeros_like(hidden[0])
    for state, weight in zip(hidden, alpha, strict=True):
        context += weight * state
        mean += state / len(hidden)
    single = model.decoder.weight @ context + model.decoder.mean.weight @ mean + model.decoder.bias
    logits = torch.cat((torch.zeros(1).double(), single)) if len(single) == 1 else single
    return logits.softmax(-1)


def test_by_hand() -> None:
    # the embeddings (1, 0) and (0, 2) are the states; α = (¾, ¼): c = (.75, .5), m = (.5, 1); W = (2, −1), V = (1, 3)
    # logit = 1.5 − .5 + .5 + 3 + .25 (bias) = 4.75; token logits: 2 + 3.5 = 5.5 and −2 + 3.5 = 1.5
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    settings = ModelSettings(encoder="none", projection="preset", hidden=2, decoder="context+mean")
    model = make_model(settings, vectors, 2)
    assert isinstance(model, MeanClassifier)
    model.decoder.weight.data, model.decoder.bias.data = torch.tensor([[2.0, -1.0]]), torch.tensor([0.25])
    model.decoder.mean.weight.data = torch.tensor([[1.0, 3.0]])
    batch = replace(alone(torch.tensor([1, 2])), preset=torch.tensor([[0.75, 0.25]]))
    logits, _ = model(batch)
    assert logits.tolist() == [[0, 4.75]]
    assert model.token_logits(model.encode(batch)).tolist() == [[[0, 5.5], [0, 1.5]]]
    assert model.bias().tolist() == [0, 0.25]


@every_encoder
@both_class_counts
def test_equals_the_loop_and_padding_changes_nothing(encoder: str, classes: int) -> None:
    model, batch = made_model(encoder, classes), made_batch()
    padded = replace(
        batch, ids=torch.nn.functional.pad(batch.ids, (0, 9)), mask=torch.nn.functional.pad(batch.mask, (0, 9))
    )
    with torch.no_grad():
        for read in (batch, padded):
            found = model(read)[0].softmax(-1)
            for place, length in enumerate(LENGTHS):
                wanted = twin(model, alone(batch.ids[place, :length]))
                assert (found[place] - wanted).abs().max() <= 1e-12


@every_encoder
@both_class_counts
def test_decode_is_affine_in_the_weights(encoder: str, classes: int) -> None:
    model, batch = made_model(encoder, classes), made_batch()
    with torch.no_grad():
        encoded = model.encode(batch)
        token_logits = model.token_logits(encoded)
        own, drawn = model.attend(encoded)["token"], torch.randn(batch.ids.shape, dtype=torch.float64)
        for weights in (own, drawn, torch.zeros_like(own)):
            wanted = torch.einsum("bt,btc->bc", weights, token_logits) + model.bias()
            assert torch.allclose(model.decode(encoded, {"token": weights}), wanted, atol=1e-12, rtol=0)


@pytest.mark.parametrize("encoder", ["bilstm", "average", "cnn", "transformer"])
@both_class_counts
def test_leave_one_out_is_a_run_on_the_shorter_text(encoder: str, classes: int) -> None:
    model, batch = made_model(encoder, classes), made_batch()
    assert plain_bilstm(model) is None  # its way knows of the weighted states alone
    found = removed_probabilities(model, batch)
    for row, length in enumerate(LENGTHS):
        for place in range(length):
            ids = torch.cat((batch.ids[row, :place], batch.ids[row, place + 1 : length]))
            wanted = twin(model, alone(ids)) if len(ids) else model.bias().softmax(-1)
            assert (found[row, place] - wanted).abs().max() <= 1e-10


@pytest.mark.parametrize("through_attention", [True, False])
@pytest.mark.parametrize("encoder", ["bilstm", "average", "cnn", "transformer"])
def test_gradients_are_those_of_autograd(encoder: str, through_attention: bool) -> None:
    model, batch = made_model(encoder, 3), made_batch()
    by_input = input_gradients(model, batch, through_attention=through_attention).gradient
    by_hidden = hidden_gradients(model, batch, through_attention=through_attention).gradient

    def held(weights: Weights) -> Weights:
        return weights if through_attention else {"token": weights["token"].detach()}

    for row, length in enumerate(LENGTHS):
        text = alone(batch.ids[row, :length])
        embedded = model.embed(text.ids).detach().requires_grad_()
        encoded = model.encode_embedded(embedded, text)
        highest = model.decode(encoded, held(model.attend(encoded))).softmax(-1).max()
        wanted, of_states = torch.autograd.grad(highest, (embedded, encoded.hidden))
        assert (by_input[row, :length] - wanted[0]).abs().max() <= 1e-10
        assert (by_hidden[row, :length] - of_states[0]).abs().max() <= 1e-10
        assert (by_input[row, length:] == 0).all()


def test_the_gradient_by_weights_is_that_of_decode() -> None:
    model, batch = made_model(classes=3), made_batch()
    encoded = model.encode(batch)
    weights = model.attend(encoded)["token"].detach().requires_grad_()
    model.decode(encoded, {"token": weights}).softmax(-1).amax(1).sum().backward()
    assert weights.grad is not None
    found = attention_gradient(model, encoded, {"token": weights.detach()})
    assert (found - weights.grad.masked_fill(~batch.mask, 0)).abs().max() <= 1e-12


def test_influence_on_states_is_that_of_autograd() -> None:
    model, batch = made_model(), made_batch()
    assert (influence(model, batch) - influence_by_autograd(model, batch)).abs().max() <= 1e-12


def test_its_name_tells_it_apart() -> None:
    assert ModelSettings().name == "bilstm+additive"
    assert ModelSettings(decoder="context+mean").name == "bilstm+additive+mean"
    assert ModelSettings(decoder="context+query").name == "bilstm+additive+query"


def test_documents_have_no_second_path() -> None:
    with pytest.raises(attentest.InputError, match="needs `structure='flat'`"):
        ModelSettings(decoder="context+mean", structure="hierarchical")
