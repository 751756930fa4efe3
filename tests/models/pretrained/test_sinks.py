"""Which tokens are sinks: by hand, and against a plain twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from attentest.models.pretrained.sinks import FEWEST, OFTEN, STANDS, TIMES, Sink, Sinks, enough_texts, find_sinks
from attentest.text.sequences import Sequences

THE, DOT = 3, 4  # word pieces; those from 10 on stand in few texts


def laid_out(texts: Sequence[Sequence[int]]) -> Sequences:
    return Sequences(np.concatenate(texts).astype(np.int32), np.cumsum([0, *map(len, texts)]))


def found(
    texts: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], predicted: Sequence[int] | None = None
) -> list[Sink]:
    classes = np.zeros(len(texts), int) if predicted is None else np.array(predicted)
    return find_sinks(laid_out(texts), np.concatenate(weights), classes)


def twin(texts: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], predicted: Sequence[int]) -> set[object]:
    """The definition, text by text and token by token."""
    classes = [one for one in set(predicted) if list(predicted).count(one) >= FEWEST]

    def draws(held: Sequence[tuple[float, float]]) -> bool:
        """Weight and even share in each text."""
        often = sum(weight > even for weight, even in held) >= OFTEN * len(held)
        return often and sum(weight for weight, _ in held) >= TIMES * sum(even for _, even in held)

    kinds: set[object] = set()
    for kind in {token for text in texts for token in text}:
        good = []
        for one in classes:
            own = [n for n, told in enumerate(predicted) if told == one]
            held = [
                (sum(w for w, token in zip(weights[n], texts[n], strict=True) if token == kind),
                 texts[n].count(kind) / len(texts[n]))
                for n in own if kind in texts[n]
            ]  # fmt: skip
            good.append(len(held) >= STANDS * len(own) and draws(held))
        if classes and all(good):
            kinds.add(kind)
    places: set[object] = set()
    for name, place in (("first", 0), ("last", -1)):
        good = []
        for one in classes:
            own = [n for n, told in enumerate(predicted) if told == one and texts[n][place] not in kinds]
            held = [(weights[n][place], 1 / len(texts[n])) for n in own]
            good.append(len(held) >= FEWEST and draws(held))
        if classes and all(good):
            places.add(name)
    return kinds | places


def as_names(sinks: Sequence[Sink]) -> set[object]:
    return {sink.place if sink.piece is None else sink.piece for sink in sinks}


def test_a_piece_that_always_has_three_times_its_share_is_a_sink() -> None:
    """Five tokens: the share is .2, and three times that is .6."""
    texts = [[10 + n, THE, 40 + n, 70 + n, 99 + n] for n in range(FEWEST)]
    (sink,) = found(texts, [[0.1, 0.61, 0.09, 0.1, 0.1]] * FEWEST)
    assert (sink.piece, sink.place) == (THE, None)
    assert (sink.stands, sink.weight, sink.times) == pytest.approx((1, 0.61, 3.05))
    assert found(texts, [[0.1, 0.59, 0.11, 0.1, 0.1]] * FEWEST) == []


def test_two_of_a_kind_in_a_text_hold_together() -> None:
    """Two of eight: .25 is their share, and .75 three times that."""
    texts = [[DOT, 10 + n, DOT, *range(100 * n + 200, 100 * n + 205)] for n in range(FEWEST)]
    even = [0.25 / 6] * 5
    (sink,) = found(texts, [[0.35, 0.25 / 6, 0.4, *even]] * FEWEST)
    assert sink.piece == DOT
    assert (sink.weight, sink.times) == pytest.approx((0.75, 3))


def test_a_word_of_few_texts_is_none_however_heavy_it_is() -> None:
    """It may decide them: here it stands in less than half of the texts."""
    texts = [[10 + n, THE if n % 5 < 2 else 500 + n, 40 + n, 70 + n] for n in range(2 * FEWEST)]
    weights = [[0.03, 0.9, 0.04, 0.03] if THE in text else [0.25] * 4 for text in texts]
    assert found(texts, weights) == []


def test_a_word_of_one_class_is_none() -> None:
    """It stands in all texts that are predicted to be of one class, and in none of the other."""
    classes = [n % 2 for n in range(2 * FEWEST)]
    texts = [[10 + n, THE if told else 500 + n, 40 + n, 70 + n] for n, told in enumerate(classes)]
    weights = [[0.03, 0.9, 0.04, 0.03] if told else [0.25] * 4 for told in classes]
    assert as_names(found(texts, weights, [1] * len(texts))) == {THE}  # as if all were of one class
    assert found(texts, weights, classes) == []


def test_a_word_that_a_few_texts_look_at_is_none() -> None:
    """On average it has far more than its share, but in two thirds of the texts less."""
    texts = [[10 + n, 200 + n, THE, 300 + n, *range(400 + 9 * n, 409 + 9 * n)] for n in range(3 * FEWEST)]
    weights = [[0.01, 0.01, 0.88, *[0.01] * 10] if n % 3 == 0 else [0.08, 0.08, 0.04, *[0.08] * 10] for n in range(60)]
    assert found(texts, weights) == []


@pytest.mark.parametrize(("place", "name"), [(0, "first"), (3, "last")])
def test_a_place_is_a_sink_whatever_stands_there(place: int, name: str) -> None:
    texts = [[4 * n + 10, 4 * n + 11, 4 * n + 12, 4 * n + 13] for n in range(FEWEST)]
    weights = [0.05] * 4
    weights[place] = 0.85
    (sink,) = found(texts, [weights] * FEWEST)
    assert (sink.piece, sink.place) == (None, name)
    assert sink.times == pytest.approx(3.4)
    sequences = laid_out(texts)
    assert np.flatnonzero(Sinks.of([sink]).among(sequences)).tolist() == list(range(place, len(sequences.ids), 4))


def test_a_place_is_not_told_again_where_a_piece_explains_it() -> None:
    texts = [[10 + n, 200 + n, 300 + n, DOT] for n in range(FEWEST)]
    assert as_names(found(texts, [[0.05, 0.05, 0.05, 0.85]] * FEWEST)) == {DOT}


def test_even_weights_have_no_sink() -> None:
    texts = [[THE, 10 + n, DOT] for n in range(FEWEST)]
    assert found(texts, [[1 / 3] * 3] * FEWEST) == []


def test_few_texts_tell_nothing() -> None:
    texts = [[10 + n, THE, 40 + n, 70 + n, 99 + n] for n in range(FEWEST - 1)]
    assert found(texts, [[0.1, 0.6, 0.1, 0.1, 0.1]] * (FEWEST - 1)) == []
    assert not enough_texts(np.zeros(FEWEST - 1, int))
    assert not enough_texts(np.arange(100))
    assert enough_texts(np.zeros(FEWEST, int))


@pytest.mark.parametrize("seed", range(12))
def test_as_a_plain_twin_finds_them(seed: int) -> None:
    generator = np.random.default_rng(seed)
    favours = generator.uniform(0, 4, 8)
    texts = [generator.integers(0, 8, generator.integers(1, 12)).tolist() for _ in range(150)]
    scores = [np.exp(favours[text] + generator.normal(0, 0.7, len(text))) for text in texts]
    for one in scores:
        one[0] *= np.exp(2 * (seed % 3))
    weights = [(one / one.sum()).tolist() for one in scores]
    predicted = generator.integers(0, 2 + seed % 2, 150).tolist()
    assert as_names(found(texts, weights, predicted)) == twin(texts, weights, predicted)


def test_the_twins_meet_sinks_of_both_kinds() -> None:
    """So that the comparison above is one of something."""
    generator = np.random.default_rng(0)
    texts = [[int(one) for one in generator.integers(10, 60, 9)] + [DOT] for _ in range(60)]
    weights = [[0.4, *[0.02] * 8, 0.44] for _ in texts]
    told = [0, 1] * 30
    assert as_names(found(texts, weights, told)) == twin(texts, weights, told) == {DOT, "first"}
