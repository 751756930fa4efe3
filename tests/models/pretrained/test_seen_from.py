"""A network seen from its layers, next to plain runs of the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from networks import CAUSAL, CLASSES, LAYERS, PAD, REACHED, WORDS, classifier, logits
from torch import Tensor

from attentest.errors import InputError
from attentest.importance import erasure
from attentest.importance.erasure import removed_probabilities
from attentest.importance.gradients import hidden_gradients, input_gradients
from attentest.models.pretrained.explanations import EXPLANATIONS
from attentest.models.pretrained.layers import states_of
from attentest.models.pretrained.layout import Layout, Side
from attentest.models.pretrained.model import Pretrained
from attentest.models.pretrained.replaced import look, replaced
from attentest.models.pretrained.view import View
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.pieces import Frame
from attentest.trials.reading import Reading, read

EXACT = 1e-5  # sums in float32, taken in another order
# both routes, with layers that can be used again and without
SOME = ("Bert", "ModernBert", "Albert", "GPT2", "DebertaV2", "XLNet")
BEFORE, AFTER = 1, 2  # special tokens


def batch_of(*lengths: int) -> Batch:
    drawn = np.random.default_rng(0)
    return batch_of_sequences([drawn.integers(3, WORDS, length) for length in lengths])


def layout(side: Side = "right") -> Layout:
    single = Frame((BEFORE,), (), (AFTER,), (0, 0, 0))
    pair = Frame((BEFORE,), (AFTER,), (AFTER,), (0, 0, 0, 0, 0))
    return Layout(single, pair, PAD, longest=40, side=side)


def pretrained(architecture: str, side: Side = "right", projection: str = "softmax", **view: Any) -> Pretrained:
    # the head of a ModernBERT that reads the first token reads padding on the left
    pooling: dict[str, Any] = {"classifier_pooling": "mean"} if (architecture, side) == ("ModernBert", "left") else {}
    network, laid = classifier(architecture, **pooling), layout(side)
    return Pretrained(network, laid, range(CLASSES), projection=projection, view=View(**view))


@torch.no_grad()
def reading_of(model: Pretrained, batch: Batch, site: str | None = None) -> Reading:
    return read(model, batch, site)


def random_rows(reading: Reading, variants: int = 3) -> Tensor:
    shape = (len(reading.batch), variants, *reading.weights.shape[1:])
    drawn = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    drawn = drawn * reading.mask.view(len(reading.batch), *[1] * (len(shape) - 2), -1)
    return drawn / drawn.sum(-1, keepdim=True)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("architecture", REACHED)
def test_seen_from_any_layer_it_gives_what_the_network_gives(architecture: str, side: Side) -> None:
    model, batch = pretrained(architecture, side), batch_of(3, 9, 5, 1)
    plain = logits(model.network, model.layout.lay_out(batch).arguments)
    with torch.no_grad():
        assert (model.whole(batch) - plain).abs().max() <= EXACT * max(1.0, float(plain.abs().max()))
    for site in model.sites:
        reading = reading_of(model, batch, site)
        assert (reading.logits - plain).abs().max() <= EXACT * max(1.0, float(plain.abs().max()))
        assert torch.allclose(reading.attention.sum(1), torch.ones(len(batch)), atol=1e-5)
        assert not reading.attention[~reading.mask].any()


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("architecture", ["GPT2", "Llama"])
def test_a_text_that_ends_in_the_id_of_padding(architecture: str, side: Side) -> None:
    """The head reads the last token with another id, and not the last one of the text."""
    bare = replace(layout(side), single=Frame((), (), (), (0,)))
    model = Pretrained(classifier(architecture), bare, range(CLASSES))
    assert model.about.row_alone
    batch = batch_of_sequences([np.array(ids) for ids in ([7, 8, 9, PAD], [5, 6], [4, 11, PAD, PAD, 12, PAD])])
    plain = logits(model.network, bare.lay_out(batch).arguments)
    reading = reading_of(model, batch)
    with torch.no_grad():
        for found in (model.whole(batch), model(batch)[0], reading.logits):
            assert (found - plain).abs().max() <= EXACT
        variants = model.decode_variants(reading.encoded, reading.weights.unsqueeze(1))
        assert (variants.squeeze(1) - plain).abs().max() <= EXACT
    inputs = bare.lay_out(batch)
    own = model.look(inputs.arguments, [model.sites[-1]])[model.sites[-1]].weights
    even = reading.mask / reading.lengths.unsqueeze(1)
    changed = reading.decode(even[:, None, None].expand(-1, 1, own.shape[1], -1)).squeeze(1)
    for text, place in enumerate((2, 1, 4)):  # of the last token with another id, in the text
        places = inputs.places[text, : int(reading.lengths[text])]
        shown = own[text, :, places[place]][:, places]
        assert (reading.weights[text, :, : len(places)] - shown).abs().max() <= EXACT
        assert (changed[text] - plain[text]).abs().max() > EXACT


class LastByMask(torch.nn.Module):
    """A head that reads the last token of the mask, whatever its id is."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = classifier("GPT2").transformer, torch.nn.Linear(16, CLASSES)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        last = attention_mask.cumsum(1).argmax(1)
        found: Tensor = self.head(states[torch.arange(len(states)), last])
        return found


def test_a_head_that_reads_the_last_token_by_the_mask() -> None:
    bare = replace(layout(), single=Frame((), (), (), (0,)))
    model = Pretrained(LastByMask().eval(), bare, range(CLASSES))
    assert (model.about.decision, model.about.skips_padding) == ("last", False)
    assert pretrained("GPT2").about.skips_padding
    batch = batch_of_sequences([np.array(ids) for ids in ([7, 8, 9, PAD], [5, 6])])
    reading = reading_of(model, batch)
    assert reading.encoded.decision.tolist() == [3, 1]  # type: ignore[attr-defined]
    with torch.no_grad():
        assert (reading.logits - model.network(**bare.lay_out(batch).arguments)).abs().max() <= EXACT


@pytest.mark.parametrize("head", [None, 1])
@pytest.mark.parametrize("architecture", SOME)
def test_given_weights_do_what_they_do_in_the_whole_network(architecture: str, head: int | None) -> None:
    """Against weights that a loop puts together, text by text, in an untouched run of the whole."""
    model, batch = pretrained(architecture, head=head), batch_of(3, 6, 5)
    inputs = model.layout.lay_out(batch)
    for site in model.sites:
        reading = reading_of(model, batch, site)
        variants = random_rows(reading)
        found = reading.decode(variants)
        for number, given in enumerate(variants.unbind(1)):
            with torch.no_grad(), replaced(model.network, putting_in(reading, given, inputs, head), [site]):
                expected = model.network(**inputs.arguments).logits
            assert (found[:, number] - expected).abs().max() <= EXACT * max(1.0, float(expected.abs().max()))
            assert (expected - reading.logits).abs().max() > 1e-4  # these weights are not idle


def putting_in(reading: Reading, given: Tensor, inputs: Any, head: int | None) -> Any:
    one_row = given.dim() == 3

    def change(_site: str, weights: Tensor, _allowed: Tensor) -> Tensor:
        new = weights.clone()
        heads = range(weights.shape[1]) if head is None else [head]
        for text in range(len(weights)):
            places = inputs.places[text][reading.mask[text]]
            queries = [int(reading.encoded.decision[text])] if one_row else range(weights.shape[2])  # type: ignore[attr-defined]
            for nth, of_head in enumerate(heads):
                for query in queries:
                    row = given[text, nth] if one_row else given[text, nth, query]
                    mass = weights[text, of_head, query, places].sum()
                    new[text, of_head, query, places] = row[: len(places)] * mass
        return new

    return change


@pytest.mark.parametrize("architecture", SOME[:-1])  # XLNet itself sees padding on the right
def test_padding_changes_nothing(architecture: str) -> None:
    model, batch = pretrained(architecture), batch_of(3, 12, 5)
    for site in (model.sites[0], model.sites[-1]):
        together = reading_of(model, batch, site)
        alone = reading_of(model, batch.select(torch.tensor([0])), site)
        assert (together.logits[0] - alone.logits[0]).abs().max() <= EXACT * max(1.0, float(alone.logits.abs().max()))
        assert torch.allclose(together.attention[0, :3], alone.attention[0], atol=1e-5)


def test_rows_of_the_deciding_token_alone_are_those_of_the_whole() -> None:
    model, batch = pretrained("Bert"), batch_of(3, 9, 5)
    slow = Pretrained(model.network, model.layout, range(CLASSES), replace(model.about, row_alone=False))
    reading = reading_of(model, batch)
    variants = random_rows(reading, 40)
    assert model.about.row_alone
    assert torch.allclose(reading.decode(variants), reading_of(slow, batch).decode(variants), atol=1e-5)
    some = torch.tensor([2, 0])
    assert torch.allclose(reading.decode(variants[some], some), reading.decode(variants)[some], atol=1e-5)


@pytest.mark.parametrize("architecture", ["Bert", "DistilBert", "GPT2", "Llama"])
def test_training_with_the_deciding_token_alone_has_the_gradients_of_the_whole(architecture: str) -> None:
    model, batch = pretrained(architecture), batch_of(3, 9, 5)
    model.network.double()
    slow = Pretrained(model.network, model.layout, range(CLASSES), replace(model.about, row_alone=False))
    assert model.about.row_alone

    sizes: list[int] = []
    assert model.about.stack is not None
    model.about.stack[-1].register_forward_hook(lambda layer, given, output: sizes.append(states_of(output).shape[1]))

    def trained(one: Pretrained) -> list[Any]:
        outputs, weights = one(batch)
        loss = outputs.log_softmax(-1)[:, 1].sum() + (weights[one.sites[-1]] ** 2).sum()
        parameters = [parameter for parameter in one.parameters() if parameter.requires_grad]
        return [outputs, *torch.autograd.grad(loss, parameters, allow_unused=True)]

    moved = 0
    for ours, theirs in zip(trained(model), trained(slow), strict=True):
        assert (ours is None or not ours.any()) if theirs is None else torch.allclose(ours, theirs, rtol=0, atol=1e-6)
        moved += theirs is not None
    assert moved > 20
    assert sizes == [1, 11]  # tokens in the last layer


def test_what_fits_the_caches_is_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = pretrained("Bert"), batch_of(3, 9, 5)
    expected = removed_probabilities(model, batch)
    monkeypatch.setattr(erasure, "CACHED", 20)
    read: list[int] = []
    whole = model.whole

    def seen(some: Batch) -> Tensor:
        read.append(some.mask.numel())
        return whole(some)

    monkeypatch.setattr(model, "whole", seen)
    assert torch.allclose(removed_probabilities(model, batch), expected, rtol=0, atol=1e-6)
    assert max(read) <= 20


@pytest.mark.parametrize("architecture", sorted(CAUSAL & set(REACHED)))
def test_the_last_token_of_a_causal_network_decides(architecture: str) -> None:
    assert pretrained(architecture).about.decision == "last"


def test_gradients_by_inputs_and_states_are_those_of_the_whole_network() -> None:
    model, batch = pretrained("Bert"), batch_of(3, 7)
    inputs = model.layout.lay_out(batch)
    embedded = model.embeddings(inputs.input_ids).detach().requires_grad_()
    output = model.network(inputs_embeds=embedded, attention_mask=inputs.attention_mask).logits.softmax(-1)
    (expected,) = torch.autograd.grad(output.max(-1).values.sum(), embedded)
    found = input_gradients(model, batch).gradient
    places = inputs.places.unsqueeze(-1).expand_as(found)
    real = batch.mask.unsqueeze(-1)
    assert torch.allclose(found * real, expected.gather(1, places) * real, atol=1e-6)
    first = model.at_site("encoder.0", batch)[0]
    by_states = hidden_gradients(first, batch).gradient * real
    held = hidden_gradients(first, batch, through_attention=False).gradient * real
    assert by_states.abs().sum() > 0
    assert (by_states - held).abs().max() > 1e-6


def test_what_is_seen_leaves_no_trace() -> None:
    model, batch = pretrained("Bert"), batch_of(3, 7)
    network: Any = model.network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    reading = reading_of(model, batch, "encoder.1")
    reading.decode(random_rows(reading))
    input_gradients(model, batch)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    hooks = [h for m in network.modules() for h in (*m._forward_hooks.values(), *m._forward_pre_hooks.values())]
    assert not hooks
    assert network.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_explanations_by_name_are_shares_of_the_items(name: str) -> None:
    model, batch = pretrained("Bert", weights=name), batch_of(3, 7, 5)
    reading = reading_of(model, batch)
    assert torch.allclose(reading.attention.sum(1), torch.ones(3), atol=1e-5)
    assert not reading.attention[~reading.mask].any()
    assert bool((reading.attention >= 0).all())
    plain = reading_of(pretrained("Bert"), batch)
    assert torch.equal(plain.weights, reading.weights)  # what is changed is the same, whatever is shown
    assert torch.allclose(plain.attention, reading.attention, atol=1e-6) == (name == "row")


def test_rollout_is_of_the_layers_up_to_the_site_and_of_the_head_that_is_looked_at_there() -> None:
    model, batch = pretrained("Bert", weights="rollout", head=1), batch_of(3, 7, 5)
    inputs = model.layout.lay_out(batch)
    eager = classifier("Bert")
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        found = eager(**inputs.arguments, output_attentions=True).attentions
    lower, upper = found[0].mean(1), found[1][:, 1]
    half = torch.eye(lower.shape[-1])
    row = ((upper + half) / 2 @ ((lower + half) / 2))[:, 0]
    shares = row.gather(1, inputs.places) * batch.mask
    expected = shares / shares.sum(1, keepdim=True)
    assert torch.allclose(reading_of(model, batch, "encoder.1").attention, expected, atol=EXACT)


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_explanations_of_one_head_are_its_own(name: str) -> None:
    batch = batch_of(3, 7, 5)
    first, second, both = (
        reading_of(pretrained("Bert", weights=name, head=head), batch).attention for head in (0, 1, None)
    )
    assert torch.allclose(first.sum(1), torch.ones(3), atol=EXACT)
    assert not torch.allclose(first, second, atol=1e-3)
    assert torch.allclose(both, first, atol=1e-3) <= (name == "gradient")  # of a head whose products are all negative


def test_values_of_a_uniform_projection_are_those_under_uniform_weights() -> None:
    model, batch = pretrained("Bert", projection="uniform"), batch_of(3, 7, 5)
    with torch.no_grad():
        weights, values, allowed = model.values_at(batch, "encoder.2")
        _, own, _ = pretrained("Bert").values_at(batch, "encoder.2")
    assert torch.allclose(weights, allowed / allowed.sum(-1, keepdim=True))
    assert values is not None
    assert own is not None
    assert float((values - own).abs().max()) > 1e-3


@pytest.mark.parametrize("site", ["encoder.0", "encoder.2"])
def test_attention_is_the_mean_over_heads_of_what_they_have_on_the_items(site: str) -> None:
    model, batch = pretrained("Bert"), batch_of(3, 7, 5)
    inputs = model.layout.lay_out(batch)
    with torch.no_grad():
        weights = look(model.network, inputs.arguments, [site])[site].weights
    found = reading_of(model, batch, site).attention
    for text, length in enumerate((3, 7, 5)):
        real = inputs.attention_mask[text].bool()
        rows = weights[text, :, :1] if site == model.sites[-1] else weights[text][:, real]
        items = rows.mean((0, 1))[inputs.places[text, :length]]
        assert torch.allclose(found[text, :length], items / items.sum(), atol=1e-6)


def test_a_head_that_is_not_there_and_weights_with_no_name_are_refused() -> None:
    with pytest.raises(InputError, match="heads of this model are 0 to 1"):
        pretrained("Bert", head=2)
    with pytest.raises(InputError, match="rollout"):
        pretrained("Bert", weights="rolout")


def test_a_uniform_projection_has_uniform_weights_in_every_layer() -> None:
    model, batch = pretrained("Bert", projection="uniform"), batch_of(3, 7, 5)
    inputs = model.layout.lay_out(batch)

    def even(_site: str, weights: Tensor, allowed: Tensor) -> Tensor:
        return allowed / allowed.sum(-1, keepdim=True)

    with torch.no_grad(), replaced(model.network, even):
        expected = model.network(**inputs.arguments).logits
    assert len(model.sites) == LAYERS
    for site in model.sites:
        reading = reading_of(model, batch, site)
        assert torch.allclose(reading.logits, expected, atol=1e-5)
        with torch.no_grad():  # at one site nothing changes, and the others stay uniform
            assert torch.allclose(model.changed(batch, lambda *_: None, [site]), expected, atol=1e-5)
    with torch.no_grad():
        trained, shown = model(batch)
    assert torch.allclose(trained, expected, atol=1e-5)
    even_items = batch.mask / batch.mask.sum(1, keepdim=True)
    assert torch.allclose(shown[model.sites[-1]], even_items, atol=1e-6)
    assert float((expected - logits(model.network, inputs.arguments)).abs().max()) > 1e-3


@pytest.mark.parametrize("projection", ["softmax", "uniform"])
def test_leave_one_out_is_that_of_texts_without_the_piece(projection: str) -> None:
    model, batch = pretrained("Bert", projection=projection), batch_of(1, 5)
    seen, _ = model.at_site(model.sites[-1], batch)
    found = removed_probabilities(seen, batch)
    texts = [batch.ids[1, :5].numpy()[np.arange(5) != place] for place in range(5)]
    for place, text in enumerate(texts):
        alone = reading_of(model, batch_of_sequences([text]))
        assert torch.allclose(found[1, place], alone.probabilities[0], atol=1e-5)
    nothing = {"input_ids": torch.tensor([[BEFORE, AFTER]]), "attention_mask": torch.ones(1, 2, dtype=torch.long)}
    if projection == "softmax":
        assert torch.allclose(found[0, 0], logits(model.network, nothing).softmax(-1)[0], atol=1e-5)


@pytest.mark.parametrize("architecture", ["Bert", "DebertaV2", "GPT2"])
def test_a_pair_whose_text_lost_all_its_pieces_is_read_in_the_frame_of_a_pair(architecture: str) -> None:
    model = pretrained(architecture)
    batch = batch_of_sequences(
        [np.array([7, 8, 9, 11, 12]), np.array([5, 6])], sentences=[np.array([0, 0, 0, 1, 1]), np.array([0, 1])]
    )
    seen, _ = model.at_site(model.sites[-1], batch)
    with torch.no_grad():
        found = seen.decode_empty(seen.encode(batch))
        for row, left in enumerate(([11, 12], [6])):
            ids = torch.tensor([[BEFORE, AFTER, *left, AFTER]])
            by_hand = logits(model.network, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
            assert torch.allclose(found[row], by_hand[0], atol=EXACT)
            alone = torch.tensor([[BEFORE, AFTER]])  # the frame of a single text
            single = logits(model.network, {"input_ids": alone, "attention_mask": torch.ones_like(alone)})
            assert not torch.allclose(found[row], single[0], atol=1e-3)


def test_a_pair_without_a_first_text_has_the_token_types_of_a_pair() -> None:
    torch.manual_seed(0)
    pair = Frame((BEFORE,), (AFTER,), (AFTER,), (0, 0, 0, 1, 1))
    typed = replace(layout(), pair=pair, typed=True)
    model = Pretrained(classifier("Bert", type_vocab_size=2), typed, range(CLASSES))
    batch = batch_of_sequences([np.array([7, 8, 11])], sentences=[np.array([0, 0, 1])])
    seen, _ = model.at_site(model.sites[-1], batch)
    ids, types = torch.tensor([[BEFORE, AFTER, 11, AFTER]]), torch.tensor([[0, 0, 1, 1]])
    inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        assert torch.allclose(seen.decode_empty(seen.encode(batch)), logits(model.network, inputs), atol=EXACT)


@pytest.mark.parametrize("architecture", SOME)
def test_states_hang_on_the_embeddings_that_were_given(architecture: str) -> None:
    model, batch = pretrained(architecture), batch_of(3, 7)
    site, _ = model.at_site(model.sites[-1], batch)
    embedded = site.embed(batch.ids).detach().requires_grad_()
    hidden = site.encode_embedded(embedded, batch).hidden
    (slopes,) = torch.autograd.grad(hidden[:, 0].pow(3).sum(), embedded)
    assert bool(slopes[:, 0].any())
