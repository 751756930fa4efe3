"""The trial exchange, against a text-by-text twin, by hand, and on models whose answer is known."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.coverage.texts import of_exchanges
from word_model import WordModel

import attentest
from attentest.corpora import build_corpus
from attentest.errors import InputError
from attentest.text import TextSettings, tokenize_corpus
from attentest.text.batches import batch_of_sequences, make_batch
from attentest.text.exchanged import exchanged
from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import Sequences
from attentest.trials import Subject, hold, make_trial, subject_of
from attentest.trials.exchange import NOBODY, over_pairs, partners_of
from attentest.trials.rankings import random_ranks, ranks_by
from attentest.trials.reading import read
from attentest.trials.scores import ScoreSettings

SMALL = {"dimension": 16, "hidden": 8, "epochs": 6, "lr": 0.01}
GAINED = "probability gained"


@pytest.fixture(scope="module")
def harder() -> attentest.Run:
    """Distractors, texts of several lengths, three classes."""
    return attentest.train(attentest.load("planted", rows=300, difficulty=0.5, classes=3), **SMALL)  # type: ignore[arg-type]


def texts_of(data: TokenizedCorpus) -> list[list[int]]:
    return [data.sequences.ids[a:b].tolist() for a, b in pairwise(data.sequences.offsets)]


@pytest.fixture
def four() -> TokenizedCorpus:
    """Four texts of one to four tokens, ids 10 to 19, with a weight for each token."""
    corpus = build_corpus("four", {"text": ["a", "a b", "a b c", "a b c d"] * 3, "label": ["x", "y"] * 6})
    data = tokenize_corpus(corpus, TextSettings())
    sequences = Sequences(np.arange(10, 20), np.array([0, 1, 3, 6, 10]))
    some = np.arange(4)
    return replace(
        data, sequences=sequences, rows=some, labels=some % 2, split=data.split[:4], preset=np.arange(10) / 10
    )


def test_tokens_take_the_places_of_others(four: TokenizedCorpus) -> None:
    # text 3 (16 to 19) gets tokens 0 and 1 of text 1 (11, 12) at 1 and 3; text 1 gets the last of text 2 at 0
    places, taken = np.array([[1, 3], [0, -1], [-1, -1]]), np.array([[0, 1], [2, -1], [-1, -1]])
    mixed = exchanged(four, np.array([3, 1, 0]), np.array([1, 2, 1]), places, taken)
    assert texts_of(mixed) == [[16, 11, 18, 12], [15, 12], [10]]
    assert mixed.rows.tolist() == [3, 1, 0]
    assert mixed.labels.tolist() == [1, 1, 0]
    assert mixed.preset is not None
    assert mixed.preset.tolist() == pytest.approx([0.6, 0.7, 0.8, 0.9, 0.1, 0.2, 0])  # of the places, not the tokens


def test_sentences_take_the_places_of_others_with_all_their_tokens(four: TokenizedCorpus) -> None:
    # text 2 is (13, 14)(15), text 3 is (16)(17, 18)(19)
    split = replace(four, sentences=np.array([0, 0, 0, 0, 0, 1, 0, 1, 1, 2]), preset=None)
    mixed = exchanged(
        split, np.array([2, 3]), np.array([3, 2]), np.array([[1], [0]]), np.array([[1], [0]]), whole_sentences=True
    )
    assert texts_of(mixed) == [[13, 14, 17, 18], [13, 14, 17, 18, 19]]
    assert mixed.sentences is not None
    assert mixed.sentences.tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 2]
    words = exchanged(split, np.array([2]), np.array([3]), np.array([[2]]), np.array([[0]]))
    assert texts_of(words) == [[13, 14, 16]]
    assert words.sentences is not None
    assert words.sentences.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("decided", "pairs"),
    [
        ([2, 0, 1, 0, 2, 0], 3),
        ([0, 1, 0, 1, 0], 2),
        ([0, 0, 0, 0, 1, 2], 2),  # two of the four have nobody
        ([0, 0, 0], 0),
        ([3], 0),
        ([0, 1, 2] * 7, 10),
    ],
)
def test_texts_that_are_decided_differently_are_pairs(decided: list[int], pairs: int) -> None:
    told, seen = np.array(decided), set()
    for seed in range(40):
        partners = partners_of(told, np.arange(len(told)), seed)
        there = np.flatnonzero(partners != NOBODY)
        assert len(there) == 2 * pairs
        assert (partners[partners[there]] == there).all()
        assert (told[partners[there]] != told[there]).all()
        seen |= {(text, int(partners[text])) for text in there}
        back = partners_of(told[::-1], np.arange(len(told))[::-1], seed)[::-1]  # the order of texts does not matter
        assert np.where(back == NOBODY, NOBODY, len(told) - 1 - back).tolist() == partners.tolist()
    if set(decided) == {0, 1}:  # each may be the partner of each that is decided differently
        assert len(seen) == sum(one != other for one in decided for other in decided)


def test_pairs_are_what_figures_are_means_of() -> None:
    pair, values = np.array([3, np.nan, 0, 3, 0, 7]), np.array([0.2, 9.0, 0.5, 0.4, 0.1, 0.6])
    assert over_pairs(pair, values).tolist() == pytest.approx([0.3, 0.3, 0.6])
    assert over_pairs(np.array([np.nan]), np.array([np.nan])).tolist() == []


def test_intervals_cover_what_other_texts_would_give() -> None:
    found = of_exchanges(0.3, 60, 400, seed=3)
    assert found.covered >= 0.93 - 2 * (0.95 * 0.05 / 400) ** 0.5, found  # two standard errors of a share


def by_hand(margins: list[float], scores: list[float], texts: list[str]) -> Subject:
    """A model of single words; the margins and scores are of the words a, b, c, …"""
    corpus = build_corpus("words", {"text": texts, "label": ["x", "y"] * (len(texts) // 2)})
    data = tokenize_corpus(corpus, TextSettings(min_frequency=1))
    ids = data.vocabulary.ids("abcdef"[: len(margins)])
    of_id = np.zeros((2, len(data.vocabulary)))
    of_id[:, ids] = margins, scores
    model = WordModel(of_id[0].tolist(), of_id[1].tolist())
    return Subject(model, data, np.arange(len(data.rows)))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_gains_by_hand() -> None:
    # Words a and b have the margins 6 and −6, all others 0; they have the score 20, and so all the weight.
    scores = [20.0, 20.0, 0.0, 0.0, 0.0, 0.0]
    subject = by_hand([6.0, -6.0, 0.0, 0.0, 0.0, 0.0], scores, ["c a d f", "e c b f"] * 10)
    (finding,) = hold([make_trial("exchange", fractions=0.1)], subject)
    moved = sigmoid(6) - sigmoid(-6)
    for name in ("attention", "leave-one-out"):  # a and b change places
        assert finding.table[f"{GAINED}, {name}"].to_pylist() == pytest.approx([moved] * 20, abs=1e-6)
        assert finding.summary[f"decisions that follow, {name}"].value == 1
    assert finding.summary["position"].value == pytest.approx(1)
    # a random token takes the place of a random one: 1 in 16 puts the donor's word where the own one was, 3 in 16
    # beside it (the weights then cancel: the margin is 0) and 3 in 16 put another in its place (the margin is 0, too)
    expected = (moved + 6 * (0.5 - sigmoid(-6))) / 16
    drawn = np.array(finding.table[f"{GAINED}, random"].to_pylist())
    assert drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / math.sqrt(20))  # four standard errors


def test_attention_on_words_that_go_along_carries_nothing_over() -> None:
    # The words d and e stand in the texts of one class only and have most of the weight, but no say.
    subject = by_hand([60.0, -60.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0, 3.0], ["c a d c", "e c b c"] * 10)
    (finding,) = hold([make_trial("exchange", fractions=0.1)], subject)
    assert finding.table[f"{GAINED}, attention"].to_pylist() == pytest.approx([0] * 20, abs=1e-6)
    assert finding.summary["position"].value <= 0
    assert finding.summary[f"{GAINED}, leave-one-out"].value > 0.8


def probabilities(subject: Subject, ids: list[int]) -> np.ndarray:
    with torch.no_grad():
        encoded = subject.model.encode(batch_of_sequences([np.array(ids)]))
        return subject.model.decode(encoded, subject.model.attend(encoded))[0].softmax(-1).numpy()


def order_of(subject: Subject, row: int, name: str, seed: int) -> list[int]:
    """The places of a text's tokens by a ranking, as read alone."""
    reading = read(subject.model, make_batch(subject.data, np.array([row])))
    settings = ScoreSettings(seed=seed)
    with torch.no_grad():
        drawn = name.startswith("random ")
        ranks = random_ranks(reading, seed, int(name.split()[1])) if drawn else ranks_by(reading, name, settings)
    return [int(place) for place in ranks[0].argsort()]


def test_the_same_as_text_by_text(harder: attentest.Run) -> None:
    subject = replace(subject_of(harder, texts=25), folder=None)
    fractions, draws, seed = (0.1, 0.4), 2, 3
    trial = make_trial("exchange", fractions=fractions, draws=draws, seed=seed, measures="gradient-input")
    (finding,) = hold([trial], subject)
    texts = {int(row): subject.data.sequences[row].tolist() for row in subject.rows}
    before = {row: probabilities(subject, ids) for row, ids in texts.items()}
    decided = {row: int(found.argmax()) for row, found in before.items()}
    rows = sorted(texts)
    partners = partners_of(np.array([decided[row] for row in rows]), np.array(rows), seed)
    pairs = []
    for number, (row, found) in enumerate(zip(rows, finding.table.to_pylist(), strict=True)):
        if partners[number] == NOBODY:
            assert all(math.isnan(found[f"{GAINED}, {name}"]) for name in ("attention", "random"))
            continue
        donor = rows[partners[number]]
        pairs.append((min(row, donor), found))
        for name in ("attention", "leave-one-out", "gradient-input", "random"):
            orders = [f"random {draw}" for draw in range(draws)] if name == "random" else [name]
            means, follows = [], []
            for fraction in fractions:
                gains = []
                for order in orders:
                    count = min(
                        max(1, min(math.ceil(fraction * len(texts[one]) - 1e-9), len(texts[one]) - 1))
                        for one in (row, donor)
                    )
                    to, of = (sorted(order_of(subject, one, order, seed)[:count]) for one in (row, donor))
                    ids = list(texts[row])
                    for place, taken in zip(to, of, strict=True):
                        ids[place] = texts[donor][taken]
                    after = probabilities(subject, ids)
                    gains.append(float(after[decided[donor]] - before[row][decided[donor]]))
                    follows.append(float(after.argmax() == decided[donor]))
                means.append(np.mean(gains))
                wanted = pytest.approx(means[-1], abs=1e-5)  # float32 in batches of other shapes
                assert found[f"{GAINED}, {name}, {100 * fraction:g} %"] == wanted
            assert found[f"{GAINED}, {name}"] == pytest.approx(np.mean(means), abs=1e-5)
            assert found[f"decisions that follow, {name}"] == pytest.approx(np.mean(follows))
    assert len(pairs) > 10
    for name in ("attention", "random"):
        figure = finding.summary[f"{GAINED}, {name}"]
        assert figure.value == pytest.approx(np.mean([found[f"{GAINED}, {name}"] for _, found in pairs]))
        assert figure.n == len(pairs)


def test_the_order_of_texts_changes_nothing(harder: attentest.Run) -> None:
    subject = replace(subject_of(harder, texts=25), folder=None)
    order = np.random.default_rng(0).permutation(len(subject.rows))
    found = [
        hold([make_trial("exchange")], replace(subject, rows=rows))[0] for rows in (subject.rows, subject.rows[order])
    ]
    for name in found[0].table.column_names:
        one, other = (finding.table[name].to_pylist() for finding in found)
        # batches of other shapes round differently
        assert one == (pytest.approx(other, abs=1e-5, nan_ok=True) if isinstance(other[0], float) else other), name


def test_texts_that_are_decided_alike_have_nothing_to_exchange(harder: attentest.Run) -> None:
    subject = subject_of(attentest.open_run(harder.path), texts=30)
    with torch.no_grad():
        subject.model.get_parameter("decoder.weight").zero_()  # type: ignore[attr-defined]
    (finding,) = hold([make_trial("exchange")], replace(subject, folder=None))
    assert finding.summary["position"].n == 0
    assert math.isnan(finding.summary["position"].value)
    assert any("no text that is decided differently is left" in note for note in finding.notes)


def undecided(run: attentest.Run) -> Subject:
    """With no class ahead of the others on average, so that decisions differ, which those of one epoch hardly do."""
    subject = replace(subject_of(attentest.open_run(run.path)), folder=None)
    model = subject.model
    with torch.no_grad():
        encoded = model.encode(make_batch(subject.data, subject.rows))
        logits = model.decode(encoded, model.attend(encoded)).mean(0)
        bias = model.get_parameter("decoder.bias")  # type: ignore[attr-defined]
        bias -= logits[-len(bias) :]  # a binary model has one, that of the second class
    return subject


def test_pairs() -> None:
    asked = attentest.train(attentest.load("babi1-generated", rows=120), epochs=1, dimension=8, hidden=4)
    (finding,) = hold([make_trial("exchange")], undecided(asked))
    assert finding.summary["position"].n > 0


def test_sentences_are_exchanged_as_a_whole() -> None:
    generator = np.random.default_rng(0)
    texts = [
        " ".join(f"{' '.join(generator.choice(list('abcdefgh'), generator.integers(1, 5)))}." for _ in range(count))
        for count in generator.integers(1, 6, 100)
    ]
    corpus = build_corpus("sentences", {"text": texts, "label": ["x", "y"] * 50})
    settings: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4, "min_frequency": 1}
    subject = undecided(attentest.train(corpus, structure="hierarchical", **settings))
    model, data = subject.model, subject.data
    (finding,) = hold([make_trial("exchange", fractions=0.01, seed=5)], replace(subject, site="sentence"))
    heaviest, decided, before = [], [], []
    for row in subject.rows:
        reading = read(model, make_batch(data, np.array([row])), "sentence")
        heaviest.append(int(reading.attention[0].argmax()))
        decided.append(int(reading.predicted[0]))
        before.append(reading.probabilities[0].detach().numpy())
    donors = partners_of(np.array(decided), subject.rows, seed=5)
    assert data.sentences is not None
    numbers = [data.sentences[a:b] for a, b in pairwise(data.sequences.offsets)]
    changed = 0
    for row, (donor, found) in enumerate(zip(donors, finding.table.to_pylist(), strict=True)):
        parts = [data.sequences[row][numbers[row] == number] for number in range(numbers[row].max() + 1)]
        if len(parts) == 1 or donor == NOBODY:
            continue  # its only sentence is the text
        parts[heaviest[row]] = data.sequences[donor][numbers[donor] == heaviest[donor]]
        sentences = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        with torch.no_grad():
            encoded = model.encode(batch_of_sequences([np.concatenate(parts)], sentences=[sentences]))
            after = model.decode(encoded, model.attend(encoded)).softmax(-1)[0].numpy()
        wanted = after[decided[donor]] - before[row][decided[donor]]
        assert found[f"{GAINED}, attention"] == pytest.approx(wanted, abs=1e-5)  # float32 in batches of other shapes
        changed += 1
    assert changed > 5


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="fractions is empty"):
        make_trial("exchange", fractions=())
    with pytest.raises(InputError, match="importance measure"):
        make_trial("exchange", measures="nonsense")


def test_charts_come_from_the_table_alone(harder: attentest.Run) -> None:
    finding = attentest.trial("exchange", harder, texts=30)
    assert list(finding.charts) == ["probability gained by share of tokens", "decisions that follow"]
