"""Translation models: cached steps are forced decoding, padding and batches change nothing, formulas have twins."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from tiny_translators import KINDS, SOURCE, TARGET, sentences, targets, tiny
from torch import Tensor

from attentest.translation.interventions import Intervention, Recorder, unchanged
from attentest.translation.model import Translator, make_translator
from attentest.translation.recurrent import Bahdanau, Luong
from attentest.translation.search import forced_decoding, shifted
from attentest.translation.settings import TranslationModel
from attentest.translation.transformer import Transformer

EXACT = 1e-12  # float64: other orders of summation move the last digits of numbers around 1


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> Translator:
    return tiny(request.param)


def test_steps_with_caches_are_forced_decoding(model: Translator) -> None:
    ids, mask, _ = sentences()
    inputs = shifted(targets())
    memory = model.encode(ids, mask)
    whole = model.forced(memory, inputs)
    state = model.begin(memory)
    for number in range(inputs.shape[1]):
        output, state = model.step(memory, state, inputs[:, number], number)
        assert (output - whole[:, number]).abs().max() < EXACT


def test_a_prefix_is_decoded_the_same_alone(model: Translator) -> None:
    """What comes later reaches no step: the uncached way to decode is to run every prefix from its start."""
    ids, mask, _ = sentences()
    inputs = shifted(targets())
    memory = model.encode(ids, mask)
    whole = model.forced(memory, inputs)
    for length in range(1, inputs.shape[1]):
        assert (model.forced(memory, inputs[:, :length]) - whole[:, :length]).abs().max() < EXACT


def test_batch_order_and_padding_change_no_score_and_no_weight(model: Translator) -> None:
    ids, mask, texts = sentences()
    wanted = targets()
    for kind in (None, "random", "permuted", "dropped", "uniform"):
        steps_of = (lambda texts: unchanged) if kind is None else Intervention(kind, seed=3).steps
        together = forced_decoding(model, ids, mask, wanted, texts, steps_of)
        order = torch.tensor([3, 0, 4, 2, 1])
        turned = forced_decoding(model, ids[order], mask[order], wanted[order], texts[order], steps_of)
        for place in range(len(ids)):
            one = slice(place, place + 1)
            keys, queries = int(mask[place].sum()), int((wanted[place] != 0).sum())
            alone = forced_decoding(
                model, ids[one, :keys], mask[one, :keys], wanted[one, :queries], texts[one], steps_of
            )
            there = int((order == place).nonzero())
            assert (alone.scores[0] - together.scores[place, :queries]).abs().max() < EXACT
            assert (alone.scores[0] - turned.scores[there, :queries]).abs().max() < EXACT
            for site, weights in alone.weights.items():
                part = together.weights[site][place, :, : weights.shape[2], : weights.shape[3]]
                assert (part - weights[0]).abs().max() < EXACT, (kind, site)


def test_weights_are_shares_of_what_may_be_seen(model: Translator) -> None:
    ids, mask, texts = sentences()
    found = forced_decoding(model, ids, mask, targets(), texts)
    assert tuple(found.weights) == model.sites
    for site, weights in found.weights.items():
        assert weights.shape[1] == model.heads[site]
        assert torch.allclose(weights.sum(-1), torch.ones((), dtype=weights.dtype))
        if site.startswith("decoder"):
            assert not weights.triu(1).any()
        else:
            assert not (weights * ~mask[:, None, None]).any()


def test_an_identity_changes_nothing_and_uniform_weights_move_the_output_at_every_site(model: Translator) -> None:
    ids, mask, texts = sentences()
    own = forced_decoding(model, ids, mask, targets(), texts)
    copied = forced_decoding(
        model, ids, mask, targets(), texts, lambda _: lambda _: lambda site, weights, allowed: weights.clone()
    )
    assert torch.equal(own.scores, copied.scores)
    for site in model.sites:
        moved = forced_decoding(model, ids, mask, targets(), texts, Intervention("uniform", [site]).steps)
        assert (moved.scores - own.scores).abs().max() > 1e-3, site


def test_gradients_reach_every_parameter(model: Translator) -> None:
    ids, mask, _ = sentences()
    wanted = targets()
    logits = model.project(model.forced(model.encode(ids, mask), shifted(wanted)))
    F.cross_entropy(logits[wanted != 0], wanted[wanted != 0]).backward()
    without = [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert without == []


def gru(cell: torch.nn.Module, gates: Tensor, state: Tensor) -> Tensor:
    """Cho et al. 2014, gate by gate, as torch's GRU has them."""
    own = cell.hidden(state)  # type: ignore[operator]
    (r, z, n), (ar, az, an) = own.chunk(3, -1), gates.chunk(3, -1)
    reset, update = torch.sigmoid(r + ar), torch.sigmoid(z + az)
    return (1 - update) * torch.tanh(an + reset * n) + update * state


def encoded(model: Bahdanau | Luong, ids: Tensor) -> tuple[Tensor, Tensor]:
    """One sentence, token by token, by torch's own cells."""
    found = []
    for directions, order in ((model.encoder.forwards, 1), (model.encoder.backwards, -1)):
        (rnn,) = directions
        assert isinstance(rnn, torch.nn.GRU)
        cell = torch.nn.GRUCell(rnn.input_size, rnn.hidden_size).double()
        cell.load_state_dict({name.removesuffix("_l0"): value for name, value in rnn.state_dict().items()})
        state, states = torch.zeros(1, rnn.hidden_size, dtype=torch.float64), []
        for token in ids if order > 0 else ids.flip(0):
            state = cell(model.source(token)[None], state)
            states.append(state[0])
        found.append((torch.stack(states[::order]), state[0]))
    (ahead, last), (back, first) = found
    return torch.cat((ahead, back), -1), torch.cat((last, first))


def test_bahdanau_by_a_plain_twin() -> None:
    model = tiny("bahdanau")
    assert isinstance(model, Bahdanau)
    ids, mask, _ = sentences()
    inputs = shifted(targets())
    found = model.forced(model.encode(ids, mask), inputs)
    for place in (0, 1):
        hidden, last = encoded(model, ids[place, mask[place]])
        state = torch.tanh(model.first(last))
        for number, token in enumerate(inputs[place]):
            scores = torch.stack([model.outer(torch.tanh(model.query(state) + model.key(h)))[0] for h in hidden])
            context = (scores.softmax(0)[:, None] * hidden).sum(0)
            vector = model.target(token)
            state = gru(model.cells[0], model.enter(vector) + model.context(context), state)
            read = torch.tanh(model.leave(torch.cat((state, context, vector))))
            assert (read - found[place, number]).abs().max() < EXACT


@pytest.mark.parametrize("score", ["general", "dot"])
def test_luong_by_a_plain_twin(score: str) -> None:
    torch.manual_seed(3)
    settings = TranslationModel(model="luong", score=score, dimension=6, hidden=8)  # type: ignore[arg-type]
    model = make_translator(settings, SOURCE, TARGET).double().eval()
    assert isinstance(model, Luong)
    ids, mask, _ = sentences()
    inputs = shifted(targets())
    found = model.forced(model.encode(ids, mask), inputs)
    for place in (0, 1):
        hidden, last = encoded(model, ids[place, mask[place]])
        state, read = torch.tanh(model.first(last)), torch.zeros(6, dtype=torch.float64)
        for number, token in enumerate(inputs[place]):
            state = gru(model.cells[0], model.enter(model.target(token)) + model.feed(read), state)
            scores = torch.stack([state @ (model.key(h) if score == "general" else h) for h in hidden])
            context = (scores.softmax(0)[:, None] * hidden).sum(0)
            read = torch.tanh(model.leave(torch.cat((context, state))))
            assert (read - found[place, number]).abs().max() < EXACT


def test_the_transformer_by_torchs_own_layers() -> None:
    model = tiny("transformer")
    assert isinstance(model, Transformer)
    ids, mask, _ = sentences()
    inputs = shifted(targets())
    found = model.forced(model.encode(ids, mask), inputs)

    def places(length: int) -> Tensor:
        angles = [[p / 10_000 ** (2 * (i // 2) / 8) for i in range(8)] for p in range(length)]
        rows = [[math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(row)] for row in angles]
        return torch.tensor(rows, dtype=torch.float64)

    def attention(own: torch.nn.Module, queries: Tensor, source: Tensor, **masks: Tensor) -> Tensor:
        theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double().eval()
        parts = own.query.weight, own.source.weight  # type: ignore[union-attr]
        theirs.in_proj_weight.data = torch.cat(parts)  # type: ignore[arg-type]
        theirs.in_proj_bias.data = torch.cat((own.query.bias, own.source.bias))  # type: ignore[union-attr, arg-type]
        theirs.out_proj.load_state_dict(own.leave.state_dict())  # type: ignore[union-attr]
        return theirs(queries, source, source, need_weights=False, **masks)[0]  # type: ignore[no-any-return]

    states = model.source(ids) * 8**0.5 + places(ids.shape[1])
    for layer in model.encoder:
        normed = layer.norm_attention(states)  # type: ignore[operator]
        states = states + attention(layer.attention, normed, normed, key_padding_mask=~mask)  # type: ignore[arg-type]
        states = states + layer.wide(layer.norm_wide(states))  # type: ignore[operator]
    source = model.norm_encoder(states)
    length = inputs.shape[1]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    states = model.target(inputs) * 8**0.5 + places(length)
    for layer in model.decoder:
        normed = layer.norm_attention(states)  # type: ignore[operator]
        states = states + attention(layer.attention, normed, normed, attn_mask=later)  # type: ignore[arg-type]
        asked = layer.norm_across(states)  # type: ignore[operator]
        states = states + attention(layer.across, asked, source, key_padding_mask=~mask)  # type: ignore[arg-type]
        states = states + layer.wide(layer.norm_wide(states))  # type: ignore[operator]
    assert (model.norm_decoder(states) - found).abs().max() < EXACT


def test_sites_have_their_names() -> None:
    assert tiny("bahdanau").sites == ("cross",)
    layers = "encoder.0", "encoder.1", "decoder.0", "across.0", "decoder.1", "across.1"
    assert tiny("transformer").sites == layers
    assert tiny("transformer").source_sites == ("across.0", "across.1")


def test_recorded_steps_are_those_of_forced_decoding(model: Translator) -> None:
    ids, mask, texts = sentences()
    wanted = targets()
    steps_of = Intervention("random", seed=1).steps
    recorder = Recorder(steps_of(texts))
    memory = model.encode(ids, mask, recorder)
    state = model.begin(memory)
    for number, tokens in enumerate(shifted(wanted).T):
        _, state = model.step(memory, state, tokens, number, recorder)
    whole = forced_decoding(model, ids, mask, wanted, texts, steps_of)
    for site, weights in recorder.weights().items():
        if not site.startswith("encoder"):  # whose queries all are recorded at once
            assert (weights - whole.weights[site]).abs().max() < EXACT
