"""Greedy and beam search, next to plain twins that know neither caches nor batches."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from tiny_translators import KINDS, LENGTHS, sentences, tiny

from attentest.translation import search
from attentest.translation.interventions import Intervention, unchanged
from attentest.translation.model import Translator
from attentest.translation.search import FORBIDDEN, Hypothesis, StepsOf, beam_search, forced_decoding, greedy
from attentest.translation.tokens import END, START

EXACT = 1e-9  # of sums of some dozens of log-probabilities, in float64
WEIGHTS: dict[str, StepsOf] = {
    "own": lambda texts: unchanged,
    **{kind: Intervention(kind, seed=5).steps for kind in ("uniform", "random", "permuted", "dropped")},
}


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> Translator:
    return tiny(request.param, seed=4)


@torch.no_grad()
def next_scores(
    model: Translator, ids: torch.Tensor, text: int, before: tuple[int, ...], steps_of: StepsOf
) -> list[float]:
    """Log-probabilities after a prefix, all of it run again for one sentence alone."""
    steps = steps_of(np.array([text]))
    memory = model.encode(ids[None], torch.ones(1, len(ids), dtype=torch.bool), steps)
    outputs = model.forced(memory, torch.tensor([[START, *before]]), steps)
    return model.project(outputs[0, -1]).log_softmax(-1).tolist()


def plain_beam(
    model: Translator, ids: torch.Tensor, text: int, limit: int, beam: int, penalty: float, steps_of: StepsOf
) -> Hypothesis:
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    done: list[Hypothesis] = []
    while True:
        ways = []
        for before, score in live:
            for token, added in enumerate(next_scores(model, ids, text, before, steps_of)):
                if token not in FORBIDDEN:
                    ways.append((score + added, before, token))
        ways.sort(key=lambda way: -way[0])
        done += [Hypothesis(before, score, True) for score, before, token in ways[:beam] if token == END]
        live = [((*before, token), score) for score, before, token in ways if token != END][:beam]
        if len(done) >= beam or len(live[0][0]) == limit:
            break
    done = done or [Hypothesis(tokens, score, False) for tokens, score in live]
    return max(done, key=lambda one: one.normalised(penalty))


def same(one: Hypothesis, other: Hypothesis) -> bool:
    return one.tokens == other.tokens and one.ended == other.ended and abs(one.score - other.score) < EXACT


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_beam_of_one_is_greedy(model: Translator, weights: str) -> None:
    inputs = sentences()
    found = greedy(model, *inputs, WEIGHTS[weights])
    assert all(map(same, found, beam_search(model, *inputs, WEIGHTS[weights], beam=1)))
    assert max(len(one.tokens) for one in found) > 1


@pytest.mark.parametrize("weights", ["own", "random"])
@pytest.mark.parametrize(("beam", "penalty"), [(2, 1.0), (3, 0.6)])
def test_beams_by_a_plain_twin(
    model: Translator, beam: int, penalty: float, weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "most_tokens", lambda lengths: lengths + 3)
    ids, mask, texts = sentences()
    found = beam_search(model, ids, mask, texts, WEIGHTS[weights], beam=beam, penalty=penalty)
    for place, length in enumerate(LENGTHS):
        own = ids[place, :length]
        twin = plain_beam(model, own, int(texts[place]), length + 3, beam, penalty, WEIGHTS[weights])
        assert same(found[place], twin), (found[place], twin)


def test_a_beam_that_holds_everything_finds_the_best_of_all(model: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three words and the end, at most three tokens: every translation is written down and scored."""
    limit = 3
    monkeypatch.setattr(search, "most_tokens", lambda lengths: 0 * lengths + limit)
    small = tiny(next(kind for kind in KINDS if type(tiny(kind)) is type(model)), seed=9, target=7)
    ids, mask, texts = sentences((4, 2))
    found = beam_search(small, ids, mask, texts, beam=200)
    for place in range(2):
        every = []
        for length in range(limit):  # with the end, at most `limit` tokens
            for words in product((4, 5, 6), repeat=length):
                targets = torch.tensor([[*words, END]])
                one = slice(place, place + 1)
                scored = forced_decoding(small, ids[one], mask[one], targets, texts[one])
                every.append(Hypothesis(words, float(scored.scores.sum()), True))
        assert len(every) == 1 + 3 + 9
        assert same(found[place], max(every, key=lambda one: one.normalised(1.0)))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_batch_order_and_padding_change_no_translation(model: Translator, weights: str) -> None:
    ids, mask, texts = sentences()
    order = np.array([2, 4, 0, 3, 1])
    for find in (greedy, beam_search):
        together = find(model, ids, mask, texts, WEIGHTS[weights])
        turned = find(model, ids[order], mask[order], texts[order], WEIGHTS[weights])
        assert all(same(together[place], one) for place, one in zip(order, turned, strict=True))
        for place, length in enumerate(LENGTHS):
            one = slice(place, place + 1)
            (alone,) = find(model, ids[one, :length], mask[one, :length], texts[one], WEIGHTS[weights])
            assert same(together[place], alone)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_forced_decoding_gives_the_scores_of_the_search(model: Translator, weights: str) -> None:
    ids, mask, texts = sentences()
    for find in (greedy, beam_search):
        found = find(model, ids, mask, texts, WEIGHTS[weights])
        rows = [torch.tensor([*one.tokens, *([END] if one.ended else [])]) for one in found]
        targets = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        forced = forced_decoding(model, ids, mask, targets, texts, WEIGHTS[weights])
        for one, score in zip(found, forced.scores.sum(1), strict=True):
            assert abs(one.score - float(score)) < EXACT


def test_forced_decoding_in_float32_gives_the_scores_of_the_steps(model: Translator) -> None:
    model = model.float()
    ids, mask, texts = sentences()
    found = greedy(model, ids, mask, texts)
    rows = [torch.tensor([*one.tokens, *([END] if one.ended else [])]) for one in found]
    forced = forced_decoding(model, ids, mask, torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), texts)
    for one, score in zip(found, forced.scores.sum(1), strict=True):
        # a float32 log-probability is right to about 1e-6, and a translation has up to 24 of them
        assert abs(one.score - float(score)) < 1e-5 * max(1, len(one.tokens))


def test_neither_padding_nor_start_nor_unknown_words_are_chosen(model: Translator) -> None:
    with torch.no_grad():
        model.bias[list(FORBIDDEN)] = 50.0
    for find in (greedy, beam_search):
        assert not {token for one in find(model, *sentences()) for token in one.tokens} & {*FORBIDDEN, END}


def test_a_translation_without_an_end_is_cut_at_its_own_length(model: Translator) -> None:
    with torch.no_grad():
        model.bias[END] = -1e4
    for find in (greedy, beam_search):
        found = find(model, *sentences())
        assert [len(one.tokens) for one in found] == [2 * length + 10 for length in LENGTHS]
        assert not any(one.ended for one in found)


def test_longer_translations_win_with_a_larger_penalty() -> None:
    short, long = Hypothesis((5,), -2.0, True), Hypothesis((5, 6, 7), -3.0, True)
    assert short.normalised(0) > long.normalised(0)
    assert (short.normalised(1), long.normalised(1)) == (-1.0, -0.75)
