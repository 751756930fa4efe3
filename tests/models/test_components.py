"""Encoders, alignments, projections, every two together: the protocol; padding, batch and order change nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from all_pairs import over_pairs
from torch import Tensor
from torch.nn import functional as F

from attentest.errors import InputError
from attentest.models import ALIGNMENTS, ENCODERS, PROJECTIONS, AttentionModel, Classifier, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.vocabulary import PAD

WORDS, DIMENSION, HIDDEN = 40, 6, 8
ENCODER_CHOICES = [(name, "softmax") for name in ENCODERS] + [("transformer", "sparsemax"), ("transformer", "entmax")]
ROUNDING = 1e-6  # of gradients here, whose terms are at most about 1 and sum up in float32
PARAMETERS = {"sparsegen": ["sparsegen:0.5", "sparsegen:-3"], "entmax": ["entmax", "entmax:1.3"]}
PROJECTION_CHOICES = [spec for name in PROJECTIONS for spec in PARAMETERS.get(name, [name])]
CLASS_COUNTS = (2, 4)
MODELS: dict[str, Collection[Any]] = {
    "encoder, self_projection": ENCODER_CHOICES,
    "alignment": ALIGNMENTS,
    "projection": PROJECTION_CHOICES,
}

every_encoder = pytest.mark.parametrize(("encoder", "self_projection"), ENCODER_CHOICES)
every_alignment = pytest.mark.parametrize("alignment", ALIGNMENTS)
every_projection = pytest.mark.parametrize("projection", PROJECTION_CHOICES)
both_class_counts = pytest.mark.parametrize("classes", CLASS_COUNTS)


def make_model(
    encoder: str, self_projection: str, alignment: str, projection: str, classes: int, seed: int = 0, sharp: float = 1
) -> Classifier:
    """A random model; a sharp one has weights far from uniform and logits far from 0."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        vectors = torch.randn(WORDS, DIMENSION)  # the vector of padding too, so that it would show
        settings = ModelSettings(encoder, alignment, projection, HIDDEN, self_projection=self_projection)
        model = Classifier(settings, vectors, classes).eval()
        for name, parameter in model.named_parameters():
            if name.startswith(("alignment.", "decoder.")):
                parameter.data *= sharp
    return model


def make_texts(seed: int, count: int = 7, longest: int = 20) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Texts of 1 to `longest` tokens, one of a single token among them, and preset weights for each."""
    generator = np.random.default_rng(seed)
    lengths = [*generator.integers(2, longest + 1, count - 1), 1]
    generator.shuffle(lengths)
    ids = [generator.integers(1, WORDS, n) for n in lengths]
    return ids, [generator.dirichlet(np.ones(n)).astype(np.float32) for n in lengths]


def make_batch(
    texts: tuple[list[np.ndarray], list[np.ndarray]], rows: list[int] | None = None, extra: int = 0
) -> Batch:
    """Those rows side by side, with `extra` columns of padding."""
    rows = list(range(len(texts[0]))) if rows is None else rows
    batch = batch_of_sequences([texts[0][i] for i in rows])
    preset = torch.zeros(batch.ids.shape)
    for place, i in enumerate(rows):
        preset[place, : len(texts[1][i])] = torch.from_numpy(texts[1][i])
    return replace(
        batch,
        ids=F.pad(batch.ids, (0, extra), value=PAD),
        mask=F.pad(batch.mask, (0, extra), value=False),
        preset=F.pad(preset, (0, extra)),
        labels=torch.tensor([i % 2 for i in rows]),
    )


def run(model: Classifier, batch: Batch) -> tuple[Tensor, list[Tensor]]:
    """Logits, and the weights of the real tokens of each text."""
    with torch.no_grad():
        logits, weights = model(batch)
    return logits, [row[real] for row, real in zip(weights["token"], batch.mask, strict=True)]


def largest_deviation(model: Classifier, texts: tuple[list[np.ndarray], list[np.ndarray]]) -> float:
    """The most that padding, batch size or order change any logit, probability or weight."""
    count = len(texts[0])
    logits, weights = run(model, make_batch(texts))
    shuffled = np.random.default_rng(count).permutation(count).tolist()
    ways = [
        ([shuffled], 0),
        ([list(range(count))], 45),
        ([[i] for i in range(count)], 0),
        ([shuffled[:3], shuffled[3:]], 2),
    ]
    worst = 0.0
    for batches, extra in ways:
        for rows in batches:
            found, found_weights = run(model, make_batch(texts, rows, extra))
            worst = max(
                worst,
                float((found - logits[rows]).abs().max()),
                float((found.softmax(-1) - logits[rows].softmax(-1)).abs().max()),
                *(float((found_weights[k] - weights[i]).abs().max()) for k, i in enumerate(rows)),
            )
    return worst


@over_pairs(MODELS | {"classes": CLASS_COUNTS})
def test_padding_batch_size_and_order_change_nothing(
    encoder: str, self_projection: str, alignment: str, projection: str, classes: int
) -> None:
    plain = make_model(encoder, self_projection, alignment, projection, classes, seed=1)
    assert largest_deviation(plain, make_texts(10)) <= 1e-6
    # a sharp model magnifies the rounding of float32; in float64 nothing but a leak could show
    sharp = make_model(encoder, self_projection, alignment, projection, classes, seed=2, sharp=5).double()
    assert largest_deviation(sharp, make_texts(11)) <= 1e-12


@over_pairs(MODELS | {"classes": CLASS_COUNTS})
def test_follows_the_protocol(
    encoder: str, self_projection: str, alignment: str, projection: str, classes: int
) -> None:
    model = make_model(encoder, self_projection, alignment, projection, classes)
    batch = make_batch(make_texts(3), extra=2)
    assert isinstance(model, AttentionModel)
    encoded = model.encode(batch)
    weights = model.attend(encoded)
    logits = model.decode(encoded, weights)
    assert list(weights) == list(model.sites) == ["token"]
    assert torch.equal(encoded.mask, batch.mask)
    assert encoded.hidden.shape[:2] == batch.ids.shape
    assert logits.shape == (len(batch), classes)
    assert torch.isfinite(logits).all()
    token = weights["token"]
    assert token.shape == batch.ids.shape
    assert (token >= 0).all()
    assert (token[~batch.mask] == 0).all()
    assert (token.sum(1) - 1).abs().max() <= 1e-6
    together, same = model(batch)
    assert torch.equal(together, logits)
    assert torch.equal(same["token"], token)


@every_encoder
@both_class_counts
def test_decode_is_affine_in_the_weights(encoder: str, self_projection: str, classes: int) -> None:
    """decode(α) = α @ token_logits + bias, for any α at all."""
    model = make_model(encoder, self_projection, "additive", "softmax", classes).double()
    batch = make_batch(make_texts(4), extra=2)
    with torch.no_grad():
        encoded = model.encode(batch)
        token_logits, bias = model.token_logits(encoded), model.bias()
        assert token_logits.shape == (*batch.ids.shape, classes)
        assert bias.shape == (classes,)
        generator = torch.Generator().manual_seed(5)
        for _ in range(5):
            any_weights = torch.randn(batch.ids.shape, generator=generator, dtype=torch.float64)
            wanted = torch.einsum("bt,btc->bc", any_weights, token_logits) + bias
            assert torch.allclose(model.decode(encoded, {"token": any_weights}), wanted, atol=1e-12, rtol=0)


@every_encoder
def test_two_classes_have_one_logit_against_zero(encoder: str, self_projection: str) -> None:
    model = make_model(encoder, self_projection, "additive", "softmax", 2)
    batch = make_batch(make_texts(5))
    with torch.no_grad():
        encoded = model.encode(batch)
        weights = model.attend(encoded)
        logits = model.decode(encoded, weights)
        context = torch.stack([w @ h for w, h in zip(weights["token"], encoded.hidden, strict=True)])
        single = (context @ model.decoder.weight[0]) + model.decoder.bias
    assert model.decoder.out_features == 1
    assert (logits[:, 0] == 0).all()
    assert torch.allclose(logits[:, 1], single, atol=1e-6)
    assert torch.allclose(logits.softmax(-1)[:, 1], torch.sigmoid(single), atol=1e-6)
    assert (model.token_logits(encoded)[..., 0] == 0).all()
    assert model.bias()[0] == 0


def is_sparse(projection: str) -> bool:
    return projection.startswith(("sparse", "entmax", "hard"))


@over_pairs(MODELS)
def test_gradients_reach_every_parameter(encoder: str, self_projection: str, alignment: str, projection: str) -> None:
    # of this seed every layer of ReLUs is on for some tokens and off for others; where they are on for all or for none,
    # a bias adds the same to every score and its gradient is nothing but rounding, which differs between CPUs
    model = make_model(encoder, self_projection, alignment, projection, 2, seed=4).train()
    batch = make_batch(make_texts(6, count=12))
    torch.manual_seed(0)
    assert batch.labels is not None
    F.cross_entropy(model(batch)[0], batch.labels, reduction="sum").backward()
    for name, parameter in model.named_parameters():
        if name.startswith("alignment.") and not model.projection.needs_scores:
            assert parameter.grad is None, name
        elif name.startswith("embedding."):
            assert parameter.grad is not None, name
            gradient = parameter.grad.coalesce()
            assert gradient.indices()[0].tolist() == sorted(set(batch.ids[batch.mask].tolist()))
            reached = gradient.values().abs().amax(1) > 0
            # without context, only tokens with weight are heard
            assert reached.any() if is_sparse(projection) else reached.all()
        else:
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            # a key's bias adds the same to every score of a query, and projections see only differences
            assert (parameter.grad.abs().max() > ROUNDING) == (not name.endswith("key.bias")), name


@every_encoder
@every_projection
def test_eval_mode_is_deterministic_and_draws_nothing(encoder: str, self_projection: str, projection: str) -> None:
    model = make_model(encoder, self_projection, "additive", projection, 4)
    batch = make_batch(make_texts(7))
    before = torch.get_rng_state()
    (first, _), (second, _) = model(batch), model(batch)
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)
    model.train()
    third, fourth = model(batch)[0], model(batch)[0]
    assert torch.equal(third, fourth) == (projection not in ("gumbel-softmax", "shuffled"))


def test_gumbel_noise_reaches_self_attention_in_training_only() -> None:
    model = make_model("transformer", "gumbel-softmax", "additive", "softmax", 2)
    batch = make_batch(make_texts(8))
    assert torch.equal(model(batch)[0], model(batch)[0])
    model.train()
    assert not torch.equal(model(batch)[0], model(batch)[0])


def test_weights_are_the_projection_of_the_alignment() -> None:
    model = make_model("bilstm", "softmax", "additive", "sparsemax", 2)
    batch = make_batch(make_texts(9))
    with torch.no_grad():
        encoded = model.encode(batch)
        wanted = model.projection(model.alignment(encoded.hidden), batch.mask)
        assert torch.equal(model.attend(encoded)["token"], wanted)


def test_preset_weights_of_the_batch_are_used_and_needed() -> None:
    model = make_model("average", "softmax", "additive", "preset", 2)
    batch = make_batch(make_texts(9))
    assert batch.preset is not None
    assert torch.equal(model(batch)[1]["token"], batch.preset)
    with pytest.raises(InputError, match="this batch has none"):
        model(replace(batch, preset=None))


def test_vectors_given_are_copied_and_padding_is_not_trained() -> None:
    vectors = torch.randn(WORDS, DIMENSION, generator=torch.Generator().manual_seed(0))
    model = Classifier(ModelSettings(hidden=HIDDEN), vectors, 2)
    assert torch.equal(model.embedding.weight, vectors)
    model.embedding.weight.data.zero_()
    assert vectors.abs().sum() > 0
    assert model.embedding.padding_idx == PAD


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"encoder": "bilstn"}, "Unknown encoder 'bilstn'; did you mean 'bilstm'?"),
        ({"alignment": "dott"}, "did you mean 'dot'"),
        ({"projection": "softmaks"}, "did you mean 'softmax'"),
        ({"projection": "entmax:0"}, "from 1 to 4"),
        ({"self_projection": "uniform"}, "Unknown self_projection 'uniform'"),
        ({"self_projection": "preset"}, "Unknown self_projection 'preset'"),
        ({"hidden": 1}, "hidden is 1; it must be at least 2."),
    ],
)
def test_settings_that_cannot_be_used_are_refused_at_once(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        ModelSettings(**wrong)
    assert message in str(error.value)


@every_encoder
@every_alignment
def test_the_smallest_model_works(encoder: str, self_projection: str, alignment: str) -> None:
    settings = ModelSettings(encoder, alignment, "softmax", 2, self_projection=self_projection)
    model = Classifier(settings, torch.randn(5, 1), 3).eval()
    logits, weights = run(model, batch_of_sequences([np.array([1]), np.array([4, 2, 3])]))
    assert logits.shape == (2, 3)
    assert weights[0].tolist() == [1]


def test_dropout_is_of_word_vectors_and_in_training_only() -> None:
    torch.manual_seed(0)
    vectors = torch.rand(50, 40) + 1  # none is 0
    model = Classifier(ModelSettings("average", dropout=0.3, hidden=4), vectors, 2)
    ids = torch.arange(1, 50).unsqueeze(0)
    assert torch.equal(model.eval().embed(ids)[0], vectors[1:])
    found = model.train().embed(ids)[0]
    kept = found != 0
    assert (~kept).float().mean() == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / found.numel()) ** 0.5)  # four deviations
    assert torch.allclose(found[kept], vectors[1:][kept] / 0.7)  # so that the mean stays
    without = Classifier(ModelSettings("average", hidden=4), vectors, 2).train()
    assert torch.equal(without.embed(ids)[0], vectors[1:])
