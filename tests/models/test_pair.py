"""Models of two texts: against a twin that reads one pair at a time, and whatever padding and batch there is."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from all_pairs import over_pairs
from torch import Tensor

import attentest
from attentest.importance.erasure import removed_probabilities
from attentest.models import ALIGNMENTS, ENCODERS, ModelSettings, make_model
from attentest.models.pair import PairClassifier, PairReader, QueryPairClassifier
from attentest.text.batches import Batch, batch_of_sequences

WORDS, DIMENSION, HIDDEN, CLASSES = 30, 6, 8, 3
PAIRS = [((4, 9, 2, 7), (5, 3)), ((11,), (8, 8, 2, 12, 6)), ((3, 14, 15, 9, 2, 6), (5,))]
DECODERS = ("context", "context+query")


def make(classes: int = CLASSES, answers: Tensor | None = None, **settings: Any) -> PairReader:
    torch.manual_seed(0)
    vectors = torch.randn(WORDS, DIMENSION)
    chosen = ModelSettings(hidden=HIDDEN, **settings)
    model = make_model(chosen, vectors, classes, kind="pair", answers=answers).double().eval()
    assert isinstance(model, PairReader)
    return model


def batch_of(pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> Batch:
    return batch_of_sequences([np.array(a) for a, _ in pairs], [np.array(b) for _, b in pairs])


def lstm_by_steps(
    rnn: Any, inputs: Tensor, start: tuple[Tensor, Tensor] | None
) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
    """Gate by gate, as the formulas stand in the books."""
    size = rnn.hidden_size
    h, c = start or (torch.zeros(size, dtype=torch.double), torch.zeros(size, dtype=torch.double))
    states = []
    for x in inputs:
        gates = rnn.weight_ih_l0 @ x + rnn.bias_ih_l0 + rnn.weight_hh_l0 @ h + rnn.bias_hh_l0
        i, f, g, o = (
            gates[:size].sigmoid(),
            gates[size : 2 * size].sigmoid(),
            gates[2 * size : 3 * size].tanh(),
            gates[3 * size :].sigmoid(),
        )
        c = f * c + i * g
        h = o * c.tanh()
        states.append(h)
    return states, (h, c)


def bilstm_by_steps(
    encoder: Any, inputs: Tensor, start: tuple[Any, ...] | None = None
) -> tuple[Tensor, Tensor, tuple[Any, ...]]:
    ahead, ended = lstm_by_steps(encoder.forwards, inputs, start and start[0])
    back, began = lstm_by_steps(encoder.backwards, inputs.flip(0), start and start[1])
    hidden = torch.stack([torch.cat((a, b)) for a, b in zip(ahead, back[::-1], strict=True)])
    return hidden, torch.cat((ended[0], began[0])), (ended, began)


@torch.no_grad()
def twin(model: Any, text: tuple[int, ...], second: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Logits and weights of one pair by the papers' formulas, for a BiLSTM and softmax."""
    x, y = (model.embedding.weight[list(ids)] for ids in (text, second))
    hidden, _, finals = bilstm_by_steps(model.encoder, x)
    _, query, _ = bilstm_by_steps(model.second_encoder, y, finals if model.settings.pairing == "conditional" else None)
    align, name = model.alignment, model.settings.alignment
    scores = []
    for h in hidden:
        if name == "additive":  # VA eq. 2
            inner = align.inner.weight @ h + align.inner.bias + align.query.weight @ query
            scores.append((align.outer.weight[0] * inner.tanh()).sum())
        elif name in ("dot", "scaled-dot"):  # WE eq. 1
            scores.append((h * query).sum() / (len(h) ** 0.5 if name == "scaled-dot" else 1))
        else:  # WE eq. 3 and 4 with two layers
            inner = (align.inner[0].weight @ h + align.inner[0].bias + align.query.weight @ query).clamp(min=0)
            inner = (align.inner[2].weight @ inner + align.inner[2].bias).clamp(min=0)
            scores.append((align.outer.weight[0] * inner).sum())
    shares = torch.stack(scores).exp()
    alpha = shares / shares.sum()
    context = sum(a * h for a, h in zip(alpha, hidden, strict=True))
    decoder = model.decoder
    if model.settings.decoder == "context":
        logits = decoder.weight @ context + decoder.bias
    else:
        inner = decoder.context.weight @ context + decoder.context.bias + decoder.query.weight @ query
        logits = decoder.outer.weight @ inner.tanh() + decoder.outer.bias
    return torch.cat((torch.zeros(1), logits)) if len(logits) == 1 else logits, alpha


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("pairing", ["independent", "conditional"])
@pytest.mark.parametrize(("alignment", "decoder"), list(product(ALIGNMENTS, DECODERS)))
def test_equals_the_formulas_one_pair_at_a_time(alignment: str, decoder: str, pairing: str, classes: int) -> None:
    model = make(classes, alignment=alignment, decoder=decoder, pairing=pairing)
    logits, weights = model(batch_of(PAIRS))
    for place, (text, second) in enumerate(PAIRS):
        wanted, alpha = twin(model, text, second)
        assert (logits[place] - wanted).abs().max() <= 1e-12
        assert (weights["token"][place, : len(text)] - alpha).abs().max() <= 1e-12


@over_pairs(
    {
        "encoder": ENCODERS,
        "alignment": ALIGNMENTS,
        "projection": ["softmax", "sparsemax", "entmax", "sparsegen:0.5", "uniform"],
        "decoder": DECODERS,
    }
)
def test_padding_of_both_texts_changes_nothing(encoder: str, alignment: str, projection: str, decoder: str) -> None:
    model = make(encoder=encoder, alignment=alignment, projection=projection, decoder=decoder)
    with torch.no_grad():
        logits, weights = model(batch_of(PAIRS))
        for place, pair in enumerate(PAIRS):
            alone, own = model(batch_of([pair]))
            length = len(pair[0])
            assert (logits[place] - alone[0]).abs().max() <= 1e-12
            assert (weights["token"][place, :length] - own["token"][0]).abs().max() <= 1e-12
            assert (weights["token"][place, length:] == 0).all()
            assert weights["token"][place].sum() == pytest.approx(1)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_the_second_text_acts_through_attention_alone_unless_the_decoder_sees_it(encoder: str, decoder: str) -> None:
    model = make(encoder=encoder, decoder=decoder)
    one, other = model.encode(batch_of([((4, 9, 2), (5, 3))])), model.encode(batch_of([((4, 9, 2), (8, 1, 6))]))
    weights = {"token": torch.tensor([[0.2, 0.5, 0.3]]).double()}
    same = bool((model.decode(one, weights) - model.decode(other, weights)).abs().max() <= 1e-12)
    assert same == (decoder == "context")
    assert (model.attend(one)["token"] - model.attend(other)["token"]).abs().max() > 1e-6


@pytest.mark.parametrize("decoder", DECODERS)
def test_weights_act_on_what_is_found_once(decoder: str) -> None:
    model = make(decoder=decoder)
    encoded = model.encode(batch_of(PAIRS))
    drawn = torch.rand(3, 5, 6, dtype=torch.double) * encoded.mask.unsqueeze(1)
    variants = drawn / drawn.sum(-1, keepdim=True)
    wanted = torch.stack([model.decode(encoded, {"token": w}) for w in variants.unbind(1)], 1)
    if isinstance(model, PairClassifier):
        found = variants @ model.token_logits(encoded) + model.bias()
    else:
        assert isinstance(model, QueryPairClassifier)
        found = model.finish(variants @ model.values(encoded), encoded)
    assert (found - wanted).abs().max() <= 1e-12


@pytest.mark.parametrize("decoder", DECODERS)
def test_answers_that_a_text_does_not_have_get_no_probability(decoder: str) -> None:
    model = make(answers=torch.tensor([9, 11, 14]), decoder=decoder)
    logits, _ = model(batch_of(PAIRS))
    possible = logits.softmax(-1) > 0
    assert possible.tolist() == [[True, False, False], [False, True, False], [True, False, True]]
    if isinstance(model, PairClassifier):
        encoded = model.encode(batch_of(PAIRS))
        weights = model.attend(encoded)["token"]
        found = (weights.unsqueeze(1) @ model.token_logits(encoded)).squeeze(1) + model.bias()
        assert torch.equal(found.softmax(-1) > 0, possible)
        assert (found.softmax(-1) - logits.softmax(-1)).abs().max() <= 1e-6


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(attentest.InputError, match="needs the encoder bilstm"):
        ModelSettings(encoder="cnn", pairing="conditional")
    with pytest.raises(attentest.InputError, match="'context'"):
        ModelSettings(decoder="contxt")
    with pytest.raises(attentest.InputError, match="needs pairs of texts"):
        make_model(ModelSettings(decoder="context+query"), torch.randn(WORDS, DIMENSION), 2)
    with pytest.raises(attentest.InputError, match="'context\\+mean' needs single texts"):
        make_model(ModelSettings(decoder="context+mean"), torch.randn(WORDS, DIMENSION), 2, kind="pair")


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("answers", [None, torch.tensor([9, 11, 14])])
def test_without_its_only_token_a_text_leaves_the_question(decoder: str, answers: Tensor | None) -> None:
    model, batch = make(answers=answers, decoder=decoder), batch_of([((11,), (8, 8, 2)), ((4, 9), (5,))])
    with torch.no_grad():
        encoded = model.encode(batch)
        wanted = model.decode(encoded, {"token": torch.zeros(2, 2, dtype=torch.double)}).softmax(-1)[0]
        assert (removed_probabilities(model, batch)[0, 0] - wanted).abs().max() <= 1e-12


def test_a_text_without_any_answer_is_decided_by_the_bias() -> None:
    model: Any = make(answers=torch.tensor([20, 21, 22]))
    encoded = model.encode(batch_of(PAIRS))
    weights = model.attend(encoded)
    found = (weights["token"].unsqueeze(1) @ model.token_logits(encoded)).squeeze(1) + model.bias()
    assert (model.decode(encoded, weights).softmax(-1) - found.softmax(-1)).abs().max() <= 1e-6
