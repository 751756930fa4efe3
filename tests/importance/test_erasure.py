"""Leave-one-out against a twin that takes one token out of one text and runs the whole model on what is left."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attentest.errors import InputError
from attentest.importance import lstm_erasure, lstm_replay, lstm_sums
from attentest.importance.erasure import leave_one_out, removed_probabilities
from attentest.models import ALIGNMENTS, ENCODERS, Classifier, Encoded, ModelSettings
from attentest.models.alignments import Additive
from attentest.text.batches import Batch

WORDS, DIMENSION, HIDDEN = 30, 6, 8
PROJECTIONS = ["softmax", "sparsemax", "entmax:1.3", "sparsegen:0.5", "gumbel-softmax", "hard", "uniform", "preset"]
RAGGED = [1, 7, 2, 13, 1, 7, 4]


class OtherModel(Classifier):
    """Not the plain classifier, so that every token's removal runs the whole model."""


@pytest.fixture(autouse=True)
def sums_in_short_texts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lstm_erasure, "LONG", 2)


def made_model(
    kind: type[Classifier] = Classifier, classes: int = 2, scale: float = 1.0, seed: int = 0, **parts: Any
) -> Any:
    torch.manual_seed(seed)
    model = kind(ModelSettings(hidden=HIDDEN, **parts), torch.randn(WORDS, DIMENSION), classes).double().eval()
    for parameter in model.parameters():
        parameter.data *= scale
    return model


def made_batch(lengths: list[int], seed: int = 0, width: int | None = None, preset: bool = False) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(width or max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.stack([torch.randint(2, WORDS, mask.shape[1:], generator=generator) for _ in lengths]) * mask
    weights = torch.rand(mask.shape, generator=generator, dtype=torch.float64) * mask
    given = weights / weights.sum(1, keepdim=True) if preset else None
    return Batch(ids, mask, np.arange(len(lengths)), preset=given)


@torch.no_grad()
def twin(model: Any, batch: Batch, removal: str = "remove") -> Tensor:
    found = torch.zeros(*batch.mask.shape, model(batch)[0].shape[1], dtype=torch.float64)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        for place in range(length):
            ids = batch.ids[row, :length].tolist()
            weights = None if batch.preset is None else batch.preset[row, :length].tolist()
            if removal == "mask":
                ids[place] = 1
            else:
                del ids[place]
                if weights is not None:
                    del weights[place]
                    weights = [weight / sum(weights) for weight in weights]
            if not ids:
                found[row, place] = model.bias().softmax(-1)
                continue
            given = None if weights is None else torch.tensor([weights], dtype=model.decoder.weight.dtype)
            alone = Batch(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool), np.array([0]), preset=given)
            found[row, place] = model(alone)[0][0].softmax(-1)
    return found


@pytest.mark.parametrize("removal", ["remove", "mask"])
@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_and_alignment_equals_the_twin(encoder: str, alignment: str, removal: str) -> None:
    model = made_model(OtherModel, encoder=encoder, alignment=alignment, classes=3)
    batch = made_batch(RAGGED, width=15)
    found = removed_probabilities(model, batch, removal=removal, max_padded=40)
    assert (found - twin(model, batch, removal)).abs().max() <= 1e-10
    assert (found[~batch.mask] == 0).all()


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("encoder", ["average", "cnn", "transformer", "bilstm"])
def test_every_projection_equals_the_twin(encoder: str, projection: str) -> None:
    model = made_model(encoder=encoder, projection=projection, scale=2.0)
    batch = made_batch(RAGGED, seed=1, preset=projection == "preset")
    found = removed_probabilities(model, batch, tolerance=0)
    assert found.dtype == torch.float64
    # a default of float32 makes the uniform weights
    assert (found - twin(model, batch)).abs().max() <= (1e-6 if projection == "uniform" else 1e-10)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("alignment", [*ALIGNMENTS, "deep:1"])
@pytest.mark.parametrize("projection", ["softmax", "entmax"])
def test_bilstm_from_states_equals_the_twin(alignment: str, projection: str, classes: int) -> None:
    batch = made_batch([*RAGGED, 40], seed=2)
    for scale in (1.0, 3.0):
        model = made_model(alignment=alignment, projection=projection, classes=classes, scale=scale)
        wanted = twin(model, batch)
        assert (removed_probabilities(model, batch, tolerance=0) - wanted).abs().max() <= 1e-10
        assert (removed_probabilities(model, batch) - wanted).abs().max() <= 1e-6
        found = removed_probabilities(model.float(), batch)
        assert found.dtype == torch.float32
        assert (found - wanted).abs().max() <= 1e-5


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 14), min_size=1, max_size=6),
    st.integers(0, 2**20),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([1, 5, 768]),
    st.sampled_from([10, 60, 16_384]),
)
def test_both_ways_agree(lengths: list[int], seed: int, scale: float, rows: int, max_padded: int) -> None:
    batch = made_batch(lengths, seed)
    plain, other = (made_model(kind, seed=seed, scale=scale) for kind in (Classifier, OtherModel))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lstm_erasure, "ROWS", rows)
        from_states = removed_probabilities(plain, batch, tolerance=0, max_padded=max_padded)
    whole = removed_probabilities(other, batch, max_padded=max_padded)
    assert (from_states - whole).abs().max() <= 1e-10


def test_an_alignment_of_ones_own_is_called_as_it_is() -> None:
    class Squared(torch.nn.Module):
        def forward(self, hidden: Tensor, query: Tensor | None = None) -> Tensor:
            return (hidden[..., 1:] * hidden[..., :-1]).sum(-1)

    model, batch = made_model(scale=2.0), made_batch(RAGGED)
    model.alignment = Squared()
    assert (removed_probabilities(model, batch, tolerance=0) - twin(model, batch)).abs().max() <= 1e-10


def count_steps(model: Any, batch: Batch, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Tensor]:
    """LSTM steps of single states, and the result."""
    steps, advance = [], lstm_replay.advance

    def counted(gates: Tensor, *states: Tensor) -> None:
        steps.append(len(gates))
        advance(gates, *states)

    with monkeypatch.context() as patch:
        for module in (lstm_replay, lstm_erasure, lstm_sums):
            patch.setattr(module, "advance", counted)
        found = removed_probabilities(model, batch, tolerance=tolerance)
    return sum(steps), found


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_states_that_are_as_they_were_are_not_run_on(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model, lengths = made_model(scale=scale), [90, 3, 60, 75, 80]
    batch = made_batch(lengths, seed=3)
    all_steps, exact = count_steps(model, batch, -1.0, monkeypatch)  # never stops, not even at the same bits
    # both intact runs, and for each removal every other token once, in one direction
    assert all_steps == sum(2 * n + n * (n - 1) for n in lengths)
    some, found = count_steps(model, batch, 1e-6, monkeypatch)
    fewer, roughly = count_steps(model, batch, 1e-3, monkeypatch)
    assert fewer < some < 0.9 * all_steps
    assert (found - exact).abs().max() <= 1e-5
    assert 1e-12 < (roughly - exact).abs().max() <= 1e-2


def test_short_texts() -> None:
    model = made_model()
    nothing_left = model.bias().softmax(-1)
    found = removed_probabilities(model, made_batch([1, 1]))
    assert torch.equal(found, nothing_left.expand(2, 1, 2))
    pair = made_batch([2])
    either = [removed_probabilities(model, pair)[0, place] for place in (0, 1)]
    for place, kept in ((0, 1), (1, 0)):
        alone = Batch(pair.ids[:, [kept]], pair.mask[:, [kept]], pair.rows)
        assert (either[place] - model(alone)[0][0].softmax(-1)).abs().max() <= 1e-12


def test_nothing_left_of_a_model_without_a_bias_is_a_guess() -> None:
    class Bare:
        sites = ("token",)
        encode = staticmethod(lambda batch: Encoded(torch.ones(*batch.mask.shape, 1), batch.mask))
        attend = staticmethod(lambda encoded: {"token": encoded.mask / encoded.mask.sum(1, keepdim=True)})
        decode = staticmethod(lambda encoded, weights: torch.tensor([1.0, 0.0, 2.0]).expand(len(encoded.mask), 3))

    found = removed_probabilities(Bare(), made_batch([1, 3]))
    assert torch.equal(found[0, 0], torch.full((3,), 1 / 3))
    assert torch.equal(found[1, 0], torch.tensor([1.0, 0.0, 2.0]).softmax(-1))


@pytest.mark.parametrize("kind", [Classifier, OtherModel])
def test_padding_and_company_change_nothing(kind: type[Classifier]) -> None:
    model = made_model(kind, scale=2.0)
    batch = made_batch(RAGGED)
    wider = made_batch(RAGGED, width=20)
    wider = replace(wider, ids=torch.where(wider.mask, torch.nn.functional.pad(batch.ids, (0, 7)), 0))
    together = removed_probabilities(model, batch)
    assert (removed_probabilities(model, wider)[:, :13] - together).abs().max() <= 1e-12
    for row, length in enumerate(RAGGED):
        alone = Batch(batch.ids[row : row + 1, :length], batch.mask[row : row + 1, :length], batch.rows[:1])
        # a removal may be stopped later in the company of others
        assert (removed_probabilities(model, alone)[0] - together[row, :length]).abs().max() <= 1e-6


@pytest.mark.parametrize("kind", [Classifier, OtherModel])
def test_texts_of_the_same_length(kind: type[Classifier]) -> None:
    model, batch = made_model(kind), made_batch([9] * 5)
    assert (removed_probabilities(model, batch, tolerance=0) - twin(model, batch)).abs().max() <= 1e-10


def test_all_given_weight_on_the_token_that_goes() -> None:
    batch = made_batch([3])
    batch = replace(batch, preset=torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64))
    for kind in (Classifier, OtherModel):
        model = made_model(kind, projection="preset")
        kept = Batch(batch.ids[:, [0, 2]], batch.mask[:, [0, 2]], batch.rows, preset=torch.full((1, 2), 0.5).double())
        wanted = model(kept)[0][0].softmax(-1)
        assert (removed_probabilities(model, batch)[0, 1] - wanted).abs().max() <= 1e-12


def test_by_hand() -> None:
    """Three tokens, one hidden unit h = tanh(e), uniform weights, logit = 2·mean(h) + 0.5."""
    model = made_model(encoder="average", projection="uniform")
    model.encoder.affine = torch.nn.Linear(1, 1).double()
    model.decoder = torch.nn.Linear(1, 1).double()
    for parameter, value in (
        (model.encoder.affine.weight, 1.0),
        (model.encoder.affine.bias, 0.0),
        (model.decoder.weight, 2.0),
        (model.decoder.bias, 0.5),
    ):
        parameter.data.fill_(value)
    # tanh of these is 0.6, −0.2 and 0.8; <unk> has 0.4
    embeddings = [0.0, math.atanh(0.4), math.atanh(0.6), math.atanh(-0.2), math.atanh(0.8)]
    model.embedding = torch.nn.Embedding.from_pretrained(torch.tensor(embeddings, dtype=torch.float64)[:, None])
    batch = Batch(torch.tensor([[2, 3, 4, 0]]), torch.tensor([[True, True, True, False]]), np.array([0]))

    def probability(logit: float) -> float:
        return 1 / (1 + math.exp(-logit))

    intact = probability(2 * 0.4 + 0.5)  # (0.6 − 0.2 + 0.8) / 3 = 0.4
    without = [probability(2 * mean + 0.5) for mean in (0.3, 0.7, 0.2)]
    unknown = [probability(2 * mean / 3 + 0.5) for mean in (1.0, 1.8, 0.8)]
    found = removed_probabilities(model, batch)
    assert found[0, :3, 1].tolist() == pytest.approx(without, abs=1e-7)
    assert removed_probabilities(model, batch, removal="mask")[0, :3, 1].tolist() == pytest.approx(unknown, abs=1e-7)
    importance = leave_one_out(torch.tensor([[1 - intact, intact]], dtype=torch.float64), found, batch.mask)
    # the half of both classes' changes is the change of one
    assert importance[0].tolist() == pytest.approx([*(abs(intact - p) for p in without), 0.0], abs=1e-7)
    assert importance[0, 1] == pytest.approx(0.0841, abs=1e-4)  # σ(1.9) − σ(1.3) = 0.8699 − 0.7858


def test_modes_are_left_as_they_were_and_the_result_is_an_ordinary_tensor() -> None:
    model = made_model(projection="gumbel-softmax").train()
    model.alignment.eval()
    batch = made_batch(RAGGED)
    found = removed_probabilities(model, batch)
    assert model.training
    assert model.encoder.training
    assert not model.alignment.training
    assert torch.equal(found, removed_probabilities(model.eval(), batch))
    found += 1  # an inference tensor would refuse
    assert not found.is_inference()


def test_a_broken_model_gets_its_mode_back() -> None:
    model = made_model(OtherModel, projection="preset").train()
    with pytest.raises(InputError, match="need weights"):
        removed_probabilities(model, made_batch([3]))
    assert model.training


@pytest.mark.parametrize("sharpness", [10.0, 100.0, 1000.0])
def test_weights_that_sit_on_one_token(sharpness: float) -> None:
    """Without it little is left of the sums, and what is left must still be right."""
    model, batch = made_model(scale=3.0).float(), made_batch([12] * 8, seed=5)
    with torch.no_grad():
        model.alignment.outer.weight.mul_(sharpness)
        largest = model.attend(model.encode(batch))["token"].max()
    assert largest > 0.9
    wanted = removed_probabilities(model.double(), batch, tolerance=0)
    assert (removed_probabilities(model.float(), batch) - wanted).abs().max() <= 1e-5


def test_short_and_long_texts_take_ways_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = made_model(scale=2.0), made_batch([70, 12, 66, 90], seed=4)
    by_sums = removed_probabilities(model, batch)
    monkeypatch.setattr(lstm_erasure, "LONG", 1000)
    assert (removed_probabilities(model, batch) - by_sums).abs().max() <= 1e-6


def test_unknown_removal() -> None:
    with pytest.raises(InputError, match="did you mean 'remove'"):
        removed_probabilities(made_model(), made_batch([3]), removal="removed")


def test_additive_is_what_its_split_says() -> None:
    model = made_model()
    assert isinstance(model.alignment, Additive)
    hidden = torch.randn(5, 2 * HIDDEN, dtype=torch.float64)
    weight, bias, finish = lstm_replay._first_layer(model)
    assert (finish(hidden @ weight.T + bias) - model.alignment(hidden)).abs().max() <= 1e-12
