"""Integrated gradients, LIME and KernelSHAP: what they add up to, that they find the token that decides, and repeat."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from random_classifier import WORDS, make_batch, make_model
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.importance.attribution import Attribution, integrated_gradients, kernel_shap, lime
from attentest.models import Classifier, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.vocabulary import UNKNOWN

pytest.importorskip("captum")

Attribute = Callable[..., Attribution]
both_sampled = pytest.mark.parametrize("attribute", [lime, kernel_shap])


def decisive_model() -> Classifier:
    """Uniform weights on tanh of one number a word: only word 7 says anything, and it says class 1."""
    vectors = torch.zeros(WORDS, 1)
    vectors[7] = 1.0
    model = Classifier(ModelSettings(encoder="average", projection="uniform", hidden=2), vectors, 2)
    for parameter, value in zip(model.encoder.parameters(), ([[1.0], [0.0]], [0.0, 0.0]), strict=True):
        parameter.data = torch.tensor(value)
    model.decoder.weight.data, model.decoder.bias.data = torch.tensor([[3.0, 0.0]]), torch.tensor([0.1])
    return model.eval()


def probability(model: Classifier, embedded: Tensor, batch: Batch, predicted: Tensor) -> Tensor:
    encoded = model.encode_embedded(embedded, batch)
    return model.decode(encoded, model.attend(encoded)).softmax(-1).gather(1, predicted[:, None])[:, 0]


@pytest.mark.parametrize("encoder", ["bilstm", "average", "transformer"])
@pytest.mark.parametrize("classes", [2, 3])
def test_integrated_gradients_add_up(encoder: str, classes: int) -> None:
    model, batch = make_model(encoder, classes=classes), make_batch()
    found = integrated_gradients(model, batch, steps=200)
    embedded = model.embed(batch.ids).detach()
    predicted = model(batch)[0].argmax(-1)
    gained = probability(model, embedded, batch, predicted) - probability(model, 0 * embedded, batch, predicted)
    # the Transformer's norms bend sharply near zeros
    assert (found.signed.sum(1) - gained).abs().max() <= (0.02 if encoder == "transformer" else 1e-4)
    assert (found.signed[~batch.mask] == 0).all()
    assert torch.equal(found.magnitude, found.signed.abs())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_integrated_gradients_equal_a_loop_over_texts_and_steps() -> None:
    """By the midpoint rule, which needs more steps for the same closeness."""
    model, batch = make_model(), make_batch()
    found = integrated_gradients(model, batch).signed
    predicted = model(batch)[0].argmax(-1)
    embedded, steps = model.embed(batch.ids).detach(), 400
    total = torch.zeros_like(embedded)
    for k in range(steps):
        point = (embedded * (k + 0.5) / steps).requires_grad_()
        (gradient,) = torch.autograd.grad(probability(model, point, batch, predicted).sum(), point)
        total += gradient / steps
    assert (found - (total * embedded).sum(-1) * batch.mask).abs().max() <= 1e-5


def test_integrated_gradients_on_preset_weights() -> None:
    model, batch = make_model(projection="preset"), make_batch((2, 3))
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], dtype=torch.float64)
    found = integrated_gradients(make_model("average", "preset"), replace(batch, preset=weights)).signed
    assert (found[weights == 0] == 0).all()
    with pytest.raises(InputError, match="preset"):
        integrated_gradients(model, batch)


@pytest.mark.parametrize("attribute", [integrated_gradients, lime, kernel_shap])
def test_the_decisive_token_is_found(attribute: Attribute) -> None:
    batch = batch_of_sequences([np.array([4, 7, 9, 3]), np.array([5, 6, 3, 2, 8, 7]), np.array([7])])
    found = attribute(decisive_model(), batch).signed
    assert found.argmax(1).tolist() == [1, 5, 0]
    others = found.scatter(1, found.argmax(1, keepdim=True), 0).abs()
    assert (others.amax(1) < 0.5 * found.amax(1)).all()
    assert (found[~batch.mask] == 0).all()


@both_sampled
@pytest.mark.parametrize("projection", ["softmax", "sparsemax", "preset"])
def test_sampling_repeats_and_the_rest_of_the_batch_changes_nothing(attribute: Attribute, projection: str) -> None:
    model, batch = make_model(projection=projection), make_batch()
    if projection == "preset":
        batch = replace(batch, preset=batch.mask.double() / batch.mask.sum(1, keepdim=True))
    torch.manual_seed(1)
    found = attribute(model, batch, samples=40).signed
    state = torch.get_rng_state()
    assert torch.equal(attribute(model, batch, samples=40).signed, found)
    assert torch.equal(torch.get_rng_state(), state)  # the caller's randomness is left alone
    assert not torch.equal(attribute(model, batch, samples=40, seed=5).signed[2], found[2])
    part = [2, 0]
    fewer = Batch(
        nn.functional.pad(batch.ids[part], (0, 2)),
        nn.functional.pad(batch.mask[part], (0, 2)),
        batch.rows[part],
        preset=None if batch.preset is None else nn.functional.pad(batch.preset[part], (0, 2)),
    )
    assert torch.allclose(attribute(model, fewer, samples=40).signed[:, : found.shape[1]], found[part], atol=1e-6)


def f_with(model: Classifier, ids: Tensor, left: Tensor) -> float:
    """f when tokens are read as <unk> and not attended to; all <unk> are, when none is left."""
    text = Batch(ids[None], torch.ones(1, len(ids), dtype=torch.bool), np.zeros(1))
    whole = model(text)[0]
    encoded = model.encode_embedded(model.embed(ids.where(left, UNKNOWN)[None]), text)
    encoded = replace(encoded, mask=left[None] if left.any() else encoded.mask)
    return model.decode(encoded, model.attend(encoded)).softmax(-1)[0, int(whole.argmax())].item()


def test_kernel_shap_equals_shapley_values_over_every_order() -> None:
    """Four tokens: all 24 orders of adding them, and enough samples to see every coalition."""
    model, batch = make_model(), make_batch((4,))
    ids = batch.ids[0]
    wanted = torch.zeros(4, dtype=torch.float64)
    for order in permutations(range(4)):
        left = torch.zeros(4, dtype=torch.bool)
        for token in order:
            before = f_with(model, ids, left)
            left[token] = True
            wanted[token] += (f_with(model, ids, left) - before) / 24
    found = kernel_shap(model, batch, samples=20_000).signed[0]
    assert (found - wanted).abs().max() <= 0.02 * wanted.abs().max()
    gained = f_with(model, ids, torch.ones(4).bool()) - f_with(model, ids, torch.zeros(4).bool())
    assert kernel_shap(model, batch).signed.sum().item() == pytest.approx(gained, abs=1e-4)


def test_lime_equals_a_regression_over_every_subset() -> None:
    """Three tokens: each number of removed ones is as likely, and so is each subset of that number."""
    model, batch = make_model(), make_batch((3,))
    rows, values, shares = [], [], []
    for code in range(8):
        left = torch.tensor([bool(code >> k & 1) for k in range(3)])
        distance = 1 - (left.sum().item() / 3) ** 0.5  # cosine, between `left` and all ones
        likely = 1 / 3 / (1 if left.sum() == 0 else 3)
        times = 1 if left.all() else 19_999 * likely  # the whole text is the first sample
        rows.append([1.0, *left.double().tolist()])
        values.append(f_with(model, batch.ids[0], left))
        shares.append(times * np.exp(-(distance**2) / (2 * 0.25**2)))
    x, share = np.array(rows), np.array(shares)[:, None]
    penalty = np.diag([0.0, 1.0, 1.0, 1.0])
    wanted = np.linalg.solve(x.T @ (share * x) + penalty, x.T @ (share[:, 0] * np.array(values)))[1:]
    found = lime(model, batch, samples=20_000).signed[0].numpy()
    assert np.abs(found - wanted).max() <= 0.03 * np.abs(wanted).max()


@pytest.mark.parametrize("attribute", [integrated_gradients, lime, kernel_shap])
def test_without_captum_a_sentence_says_what_to_install(attribute: Attribute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    with pytest.raises(InputError, match=r"pip install 'attentest\[explain\]'"):
        attribute(make_model(), make_batch())


@both_sampled
def test_scikit_learn_is_not_needed(attribute: Attribute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert attribute(make_model(), make_batch((3,)), samples=20).signed.isfinite().all()
