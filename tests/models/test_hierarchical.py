"""Hierarchical attention against plain loops over documents and sentences, and numbers worked by hand."""

from __future__ import annotations

import math
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
from attentest.models import (
    ALIGNMENTS,
    ENCODERS,
    PROJECTIONS,
    AttentionModel,
    Classifier,
    Hierarchical,
    ModelSettings,
    make_model,
    sentence_layout,
)
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.vocabulary import PAD

WORDS, DIMENSION, HIDDEN = 40, 6, 8
LEARNED = [name for name in PROJECTIONS if name not in ("preset", "random")]
# the lengths of the sentences of each document
DOCUMENTS = {
    "one sentence": [[5], [1], [3]],
    "many sentences": [[4, 1, 7], [2], [1, 1, 1, 1, 1, 9], [3, 5]],
}
MODELS: dict[str, Collection[Any]] = {"encoder": ENCODERS, "alignment": ALIGNMENTS, "projection": LEARNED}
every_encoder = pytest.mark.parametrize("encoder", ENCODERS)
every_document = pytest.mark.parametrize("documents", DOCUMENTS.values(), ids=DOCUMENTS)


def make_han(encoder: str = "bilstm", classes: int = 2, sharp: float = 1.0, **parts: Any) -> Hierarchical:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        settings = ModelSettings(encoder, hidden=HIDDEN, structure="hierarchical", **parts)
        model = make_model(settings, torch.randn(WORDS, DIMENSION), classes).eval()
        assert isinstance(model, Hierarchical)
        for name, parameter in model.named_parameters():
            if name.startswith(("alignment.", "decoder.")):
                parameter.data *= sharp
    return model


def make_batch(documents: list[list[int]], rows: list[int] | None = None, extra: int = 0) -> Batch:
    """Random words; `rows` of the documents, with `extra` columns of padding."""
    generator = np.random.default_rng(sum(map(sum, documents)))
    ids = [generator.integers(1, WORDS, sum(lengths)) for lengths in documents]
    sentences = [np.repeat(np.arange(len(lengths)), lengths) for lengths in documents]
    rows = list(range(len(documents))) if rows is None else rows
    batch = batch_of_sequences([ids[i] for i in rows], sentences=[sentences[i] for i in rows])
    assert batch.sentences is not None
    return replace(
        batch,
        ids=F.pad(batch.ids, (0, extra), value=PAD),
        mask=F.pad(batch.mask, (0, extra)),
        sentences=F.pad(batch.sentences, (0, extra)),
    )


def by_loops(
    model: Hierarchical, batch: Batch, given: Tensor | None = None, uniform_sentences: bool = False
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Logits, word weights and sentence weights, one sentence of one document at a time."""
    assert batch.sentences is not None
    logits, word_weights, sentence_weights = [], [], []
    for at in range(len(batch)):
        vectors, of_words = [], []
        real = batch.mask[at]
        for number in batch.sentences[at][real].unique().tolist():
            inside = real & (batch.sentences[at] == number)
            every = torch.ones(1, int(inside.sum()), dtype=torch.bool)
            states = model.encoder["word"](model.embedding(batch.ids[at][inside])[None], every)
            weights = model.projection(model.alignment["word"](states), every)[0].to(states.dtype)
            if given is not None:
                weights = given[at][inside]
            of_words.append(weights)
            vectors.append((weights[:, None] * states[0]).sum(0))
        every = torch.ones(1, len(vectors), dtype=torch.bool)
        states = model.encoder["sentence"](torch.stack(vectors)[None], every)
        weights = model.projection(model.alignment["sentence"](states), every)[0].to(states.dtype)
        if uniform_sentences:
            weights = torch.full_like(weights, 1 / len(weights))
        output = model.decoder((weights[:, None] * states[0]).sum(0))
        logits.append(F.pad(output, (1, 0)) if len(output) == 1 else output)
        word_weights.append(torch.cat(of_words))
        sentence_weights.append(weights)
    return torch.stack(logits), word_weights, sentence_weights


def largest_difference(found: list[Tensor], wanted: list[Tensor]) -> float:
    assert [len(f) for f in found] == [len(w) for w in wanted]
    return max(float((f - w).abs().max()) for f, w in zip(found, wanted, strict=True))


def real_weights(weights: dict[str, Tensor], batch: Batch, model: Hierarchical) -> tuple[list[Tensor], list[Tensor]]:
    there = model.part_mask(model.encode(batch))
    words = [row[real] for row, real in zip(weights["word"], batch.mask, strict=True)]
    return words, [row[real] for row, real in zip(weights["sentence"], there, strict=True)]


@over_pairs(MODELS | {"documents": DOCUMENTS.values()})
@torch.no_grad()
def test_equals_loops_over_documents_and_sentences(
    encoder: str, alignment: str, projection: str, documents: list[list[int]]
) -> None:
    for classes in (2, 3):
        model = make_han(encoder, classes, alignment=alignment, projection=projection, sharp=3).double()
        batch = make_batch(documents, extra=3)
        assert isinstance(model, AttentionModel)
        encoded = model.encode(batch)
        weights = model.attend(encoded)
        logits = model.decode(encoded, weights)
        wanted, words, sentences = by_loops(model, batch)
        found_words, found_sentences = real_weights(dict(weights), batch, model)
        assert list(weights) == list(model.sites) == ["word", "sentence"]
        assert (logits - wanted).abs().max() <= 1e-12
        assert largest_difference(found_words, words) <= 1e-12
        assert largest_difference(found_sentences, sentences) <= 1e-12
        assert (weights["word"][~batch.mask] == 0).all()
        assert (model(batch)[0] - logits).abs().max() <= 1e-12
        assert weights["sentence"].sum(1).tolist() == pytest.approx([1] * len(batch))
        assert model.shares(encoded, weights).sum(1).tolist() == pytest.approx([1] * len(batch))


@every_encoder
@every_document
@torch.no_grad()
def test_other_weights_at_one_site_reach_the_other(encoder: str, documents: list[list[int]]) -> None:
    model = make_han(encoder, sharp=3).double()
    batch = make_batch(documents)
    encoded = model.encode(batch)
    own = model.attend(encoded)
    drawn = torch.rand(batch.mask.shape, dtype=torch.float64) * batch.mask
    assert (model.decode(encoded, {"word": drawn}) - by_loops(model, batch, drawn)[0]).abs().max() <= 1e-12
    there = model.part_mask(encoded)
    uniform = there / there.sum(1, keepdim=True).double()
    wanted = by_loops(model, batch, uniform_sentences=True)[0]
    assert (model.decode(encoded, {"sentence": uniform}) - wanted).abs().max() <= 1e-12
    assert (model.decode(encoded, {"sentence": uniform, "word": own["word"]}) - wanted).abs().max() <= 1e-12
    assert (model.decode(encoded, {}) - model.decode(encoded, own)).abs().max() <= 1e-12


@every_encoder
@torch.no_grad()
def test_variants_of_word_weights_equal_one_call_each(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_han(encoder, 3).double()
    batch = make_batch(DOCUMENTS["many sentences"])
    encoded = model.encode(batch)
    variants = torch.rand(len(batch), 5, batch.mask.shape[1], dtype=torch.float64) * batch.mask.unsqueeze(1)
    wanted = torch.stack([model.decode(encoded, {"word": w}) for w in variants.unbind(1)], 1)
    for at_once in (16_000_000, 2 * encoded.hidden.numel()):
        monkeypatch.setattr("attentest.models.hierarchical._NUMBERS_AT_ONCE", at_once)
        assert (model.decode_variants(encoded, variants) - wanted).abs().max() <= 1e-12
    chosen = torch.tensor([3, 1])
    first = int(batch.mask[chosen].sum(1).max())
    found = model.decode_variants(encoded, variants[chosen, :, :first], chosen)
    assert (found - wanted[chosen]).abs().max() <= 1e-12


@over_pairs(MODELS)
@torch.no_grad()
def test_padding_batch_size_and_order_change_nothing(encoder: str, alignment: str, projection: str) -> None:
    documents = [*DOCUMENTS["many sentences"], *DOCUMENTS["one sentence"]]
    for model, most in (
        (make_han(encoder, alignment=alignment, projection=projection), 1e-6),
        (make_han(encoder, alignment=alignment, projection=projection, sharp=5).double(), 1e-12),
    ):
        whole = make_batch(documents)
        logits, weights = model(whole)
        words, sentences = real_weights(weights, whole, model)
        for rows, extra in (([3, 0, 6, 1, 5, 2, 4], 0), (list(range(7)), 30), ([2], 0), ([5, 1], 2)):
            batch = make_batch(documents, rows, extra)
            found, found_weights = model(batch)
            assert (found - logits[rows]).abs().max() <= most
            found_words, found_sentences = real_weights(found_weights, batch, model)
            assert largest_difference(found_words, [words[i] for i in rows]) <= most
            assert largest_difference(found_sentences, [sentences[i] for i in rows]) <= most


@torch.no_grad()
def test_sentences_of_any_length_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_han(sharp=3).double()
    batch = make_batch([[1, 30, 2, 2], [4], [1, 1, 17]])
    wanted = model(batch)[0]
    for short, parts in ((1, 1), (1, 9), (4, 2), (1000, 1)):
        monkeypatch.setattr(sentence_layout, "_SHORT", short)
        monkeypatch.setattr(sentence_layout, "_PARTS", parts)
        assert (model(batch)[0] - wanted).abs().max() <= 1e-12


def test_five_hundred_sentences_among_short_documents_take_little_memory() -> None:
    model = make_han()
    laid_out: list[int] = []
    for site in model.sites:
        model.encoder[site].register_forward_pre_hook(lambda _, given: laid_out.append(given[1].numel()))
    # one sentence of 900 words and 500 of 2: side by side they would be 500 × 900 for each of 32 documents
    batch = make_batch([[2] * 500, [900], *[[3]] * 30])
    logits, _ = model(batch)
    assert logits.isfinite().all()
    assert max(laid_out) <= 32 * 500
    logits.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def hand_model() -> Hierarchical:
    """Words a = (1, 0), b = (0, 1), c = (2, 0) attended by (ln 3, 0), sentences by (0, 4 ln 3)."""
    vectors = torch.tensor([[0, 0], [0, 0], [1, 0], [0, 1], [2, 0]], dtype=torch.float32)
    model = Hierarchical(ModelSettings("none", "dot", structure="hierarchical"), vectors, 2).eval()
    with torch.no_grad():
        model.get_parameter("alignment.word.outer.weight").copy_(torch.tensor([[math.log(3), 0]]))
        model.get_parameter("alignment.sentence.outer.weight").copy_(torch.tensor([[0, 4 * math.log(3)]]))
        model.decoder.weight.copy_(torch.tensor([[2.0, -4.0]]))
        model.decoder.bias.fill_(0.5)
    return model


@torch.no_grad()
def test_a_document_by_hand() -> None:
    # "a b" has scores ln 3 and 0: weights ¾ and ¼, vector (¾, ¼); "c" is (2, 0). The sentences' scores are ln 3 and 0:
    # weights ¾ and ¼ again, context (.5625 + .5, .1875), logit 2 · 1.0625 − 4 · .1875 + .5 = 1.875
    model = hand_model()
    batch = batch_of_sequences([np.array([2, 3, 4])], sentences=[np.array([0, 0, 1])])
    encoded = model.encode(batch)
    weights = model.attend(encoded)
    assert weights["word"][0].tolist() == pytest.approx([0.75, 0.25, 1])
    assert weights["sentence"][0].tolist() == pytest.approx([0.75, 0.25])
    assert model.shares(encoded, weights)[0].tolist() == pytest.approx([0.5625, 0.1875, 0.25])
    assert model.decode(encoded, weights)[0].tolist() == pytest.approx([0, 1.875], abs=1e-6)
    # uniform words: (½, ½) has the score 2 ln 3, weights .9 and .1, context (.65, .45), logit 1.3 − 1.8 + .5 = 0
    assert float(model.decode(encoded, {"word": torch.tensor([[0.5, 0.5, 1]])})[0, 1]) == pytest.approx(0, abs=1e-6)
    # uniform sentences: context (1.375, .125), logit 2.75 − .5 + .5
    assert float(model.decode(encoded, {"sentence": torch.tensor([[0.5, 0.5]])})[0, 1]) == pytest.approx(2.75)


@every_encoder
@pytest.mark.parametrize("classes", [2, 3])
@torch.no_grad()
def test_seen_from_the_sentences_it_is_a_classifier(encoder: str, classes: int) -> None:
    model = make_han(encoder, classes, sharp=3).double()
    batch = make_batch(DOCUMENTS["many sentences"], extra=2)
    encoded = model.encode(batch)
    own = model.attend(encoded)
    seen, sentences = model.at_site("sentence", batch)
    assert type(seen) is Classifier
    assert not seen.training
    read = seen.encode(sentences)
    assert read.mask.sum(1).tolist() == [3, 1, 6, 2]
    assert (seen.attend(read)["token"] - own["sentence"]).abs().max() <= 1e-12
    any_weights = torch.rand(read.mask.shape, dtype=torch.float64) * read.mask
    wanted = model.decode(encoded, {"sentence": any_weights})
    by_tokens = (any_weights.unsqueeze(1) @ seen.token_logits(read)).squeeze(1) + seen.bias()
    assert (by_tokens - wanted).abs().max() <= 1e-12
    assert (seen.bias() - model.bias()).abs().max() == 0
    assert model.at_site("word", batch) == (model, batch)
    with pytest.raises(InputError, match="Unknown site 'sentense'; did you mean 'sentence'"):
        model.at_site("sentense", batch)


def test_every_parameter_learns() -> None:
    model = make_han(sharp=2).train()
    batch = make_batch(DOCUMENTS["many sentences"])
    model(batch)[0][:, 1].square().sum().backward()
    for name, parameter in model.named_parameters():
        gradient = parameter.grad.to_dense() if parameter.grad is not None else torch.zeros(1)
        assert (gradient != 0).any(), name


def test_a_batch_without_sentences_is_refused() -> None:
    with pytest.raises(InputError, match="needs the sentence of each token"):
        make_han().encode(replace(make_batch(DOCUMENTS["one sentence"]), sentences=None))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"structure": "hierarchicl"}, "Unknown structure 'hierarchicl'; did you mean 'hierarchical'?"),
        ({"structure": "hierarchical", "projection": "preset"}, "use `structure='flat'`"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        ModelSettings(**wrong)
    assert message in str(error.value)


@torch.no_grad()
def test_without_an_encoder_the_embeddings_are_attended() -> None:
    model = Classifier(ModelSettings("none"), torch.randn(WORDS, DIMENSION), 2)
    batch = make_batch(DOCUMENTS["one sentence"])
    assert torch.equal(model.encode(batch).hidden, model.embedding(batch.ids))
    assert not list(model.encoder.parameters())
