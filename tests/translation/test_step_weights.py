"""Weights that stand in for a model's own at every step: their definitions, worked by hand, and what keys them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_translators import KINDS, sentences, targets, tiny

from attentest.errors import InputError
from attentest.translation.interventions import Intervention, chosen_sites, one_after_other
from attentest.translation.search import beam_search, forced_decoding, greedy

OWN = torch.tensor([[[[0.5, 0.3, 0.2, 0.0]]], [[[0.6, 0.4, 0.0, 0.0]]]])
ALLOWED = torch.tensor([[[[True, True, True, False]]], [[[True, True, False, False]]]])
TEXTS = np.array([4, 9])


def new(kind: str, first: int = 0, site: str = "cross", seed: int = 0) -> torch.Tensor:
    found = Intervention(kind, seed=seed).steps(TEXTS)(first)(site, OWN, ALLOWED)
    assert found is not None
    return found


def test_uniform_and_dropped_by_hand() -> None:
    third = 1 / 3
    assert torch.allclose(new("uniform"), torch.tensor([[[[third, third, third, 0]]], [[[0.5, 0.5, 0, 0]]]]))
    assert torch.allclose(new("dropped"), torch.tensor([[[[0, 0.6, 0.4, 0]]], [[[0, 1.0, 0, 0]]]]))


def test_the_only_weight_of_a_row_stays() -> None:
    one = torch.ones(1, 1, 1, 1)
    found = Intervention("dropped").steps(np.array([0]))(0)("decoder.0", one, one.bool())
    assert found is not None
    assert torch.equal(found, one)


def test_permuted_weights_are_the_same_in_another_order() -> None:
    found = torch.stack([new("permuted", first) for first in range(50)])
    assert torch.equal(found.sort(-1).values, OWN.sort(-1).values.expand_as(found))
    assert len({tuple(row[0, 0, 0].tolist()) for row in found}) == 6  # all orders of three, in 50 steps
    assert not (found * ~ALLOWED).any()


def test_random_weights_are_shares() -> None:
    found = new("random")
    assert torch.allclose(found.sum(-1), torch.ones(()))
    assert not (found * ~ALLOWED).any()


@pytest.mark.parametrize("kind", ["random", "permuted"])
def test_chance_is_keyed_by_seed_site_and_step(kind: str) -> None:
    steps = [
        torch.cat([new(kind, first + 10 * k, site, seed) for k in range(5)])
        for first, site, seed in (
            (0, "cross", 0),
            (1, "cross", 0),
            (0, "across.0", 0),
            (0, "cross", 1),
            (0, "cross", 0),
        )
    ]
    assert torch.equal(steps[0], steps[4])
    assert all(not torch.equal(steps[0], other) for other in steps[1:4])


def test_a_block_of_steps_is_the_steps_one_by_one() -> None:
    weights = torch.rand(2, 3, 4, 5).softmax(-1)
    allowed = torch.ones_like(weights, dtype=torch.bool)
    for kind in ("random", "permuted", "dropped", "uniform"):
        steps = Intervention(kind, seed=2).steps(TEXTS)
        block = steps(7)("across.1", weights, allowed)
        assert block is not None
        for query in range(4):
            one = slice(query, query + 1)
            alone = steps(7 + query)("across.1", weights[:, :, one], allowed[:, :, one])
            assert alone is not None
            assert torch.equal(block[:, :, one], alone)


@pytest.mark.parametrize("kind", KINDS)
def test_given_weights_take_the_place_of_the_models_own(kind: str) -> None:
    model = tiny(kind)
    ids, mask, texts = sentences()
    texts = np.arange(len(ids))
    random = forced_decoding(model, ids, mask, targets(), texts, Intervention("random", seed=1).steps)
    rows = {place: {site: weights[place] for site, weights in random.weights.items()} for place in range(len(ids))}
    again = forced_decoding(model, ids, mask, targets(), texts, Intervention("given", given=rows).steps)
    assert (again.scores - random.scores).abs().max() < 1e-12  # float64
    own = forced_decoding(model, ids, mask, targets(), texts)
    none = forced_decoding(model, ids, mask, targets(), texts, Intervention("given", given={0: {}}).steps)
    assert torch.equal(own.scores, none.scores)


@pytest.mark.parametrize("kind", KINDS)
def test_own_weights_given_again_change_no_search(kind: str) -> None:
    model = tiny(kind)
    ids, mask, texts = sentences()
    own = greedy(model, ids, mask, texts)
    longest = max(len(one.tokens) for one in own) + 1
    wanted = torch.tensor([[*one.tokens, 3, *[0] * (longest - len(one.tokens) - 1)] for one in own])
    weights = forced_decoding(model, ids, mask, wanted, texts).weights
    rows = {int(text): {site: every[n] for site, every in weights.items()} for n, text in enumerate(texts)}
    steps_of = Intervention("given", given=rows).steps
    again = greedy(model, ids, mask, texts, steps_of)
    assert [one.tokens for one in again] == [one.tokens for one in own]
    assert [one.score for one in again] == pytest.approx([one.score for one in own], abs=1e-9)  # float64
    assert len(beam_search(model, ids, mask, texts, steps_of, beam=3)) == len(ids)
    # alone as among longer ones
    alone = greedy(model, ids[1:2, :3], mask[1:2, :3], texts[1:2], steps_of)
    assert alone[0].tokens == own[1].tokens


def test_given_weights_must_fit() -> None:
    rows = {text: {"cross": torch.ones(2, 1, 1)} for text in TEXTS.tolist()}
    with pytest.raises(InputError, match="2 heads"):
        Intervention("given", given=rows).steps(TEXTS)(0)("cross", OWN, ALLOWED)
    beyond = {int(TEXTS[0]): {"cross": torch.eye(9)[None, -1:]}}
    with pytest.raises(InputError, match="tokens that are not there"):
        Intervention("given", given=beyond).steps(TEXTS)(0)("cross", OWN, ALLOWED)


def test_one_head_and_one_site_alone_are_changed() -> None:
    model = tiny("transformer")
    ids, mask, texts = sentences()
    own = forced_decoding(model, ids, mask, targets(), texts).weights
    steps_of = Intervention("uniform", ["across.0"], head=1).steps
    found = forced_decoding(model, ids, mask, targets(), texts, steps_of).weights
    assert torch.equal(found["encoder.1"], own["encoder.1"])
    assert torch.equal(found["across.0"][:, 0], own["across.0"][:, 0])
    assert not torch.equal(found["across.0"][:, 1], own["across.0"][:, 1])
    assert not torch.equal(found["across.1"], own["across.1"])  # above it


def test_changes_follow_one_another() -> None:
    uniform, dropped = (Intervention(kind).steps(TEXTS) for kind in ("uniform", "dropped"))
    found = one_after_other(uniform, dropped)(0)("cross", OWN, ALLOWED)
    assert found is not None
    assert torch.allclose(found[1], torch.tensor([[[0.0, 1.0, 0.0, 0.0]]]))
    assert one_after_other()(0)("cross", OWN, ALLOWED) is None


def test_names_of_sites() -> None:
    sites = tiny("transformer").sites
    assert chosen_sites(["across", "encoder.1"], sites) == ("across.0", "across.1", "encoder.1")
    with pytest.raises(InputError, match="did you mean 'across'"):
        chosen_sites(["acros"], sites)


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'uniform'"):
        Intervention("unifrom")
    with pytest.raises(InputError, match="go together"):
        Intervention("given")
