"""A pretrained encoder whose sinks do not count: they stay where they are, and the others share the weight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import corpus_with, save_with_sink
from tiny_folders import bert_folder
from tiny_tokenizers import SENTENCES

import attentest
from attentest.importance.erasure import left_probabilities, removed_probabilities
from attentest.models.pretrained.model import Pretrained
from attentest.models.pretrained.sinks import Sinks
from attentest.models.pretrained.view import View
from attentest.text.aside import set_aside
from attentest.text.batches import Batch, batch_of_sequences, make_batch
from attentest.text.prepare import TokenizedCorpus
from attentest.training.take import take_pretrained
from attentest.trials import hold, make_trial, subject_of
from attentest.trials.reading import read
from attentest.trials.sinks import judged_without_sinks, look_for_sinks, texts_for_sinks

transformers = pytest.importorskip("transformers")
CLOSE = 1e-5  # float32 of another batch of the same texts


@pytest.fixture(scope="module")
def with_sink(tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """For reading only."""
    place = tmp_path_factory.mktemp("sink")
    return attentest.open_run(take_pretrained(corpus_with("the"), save_with_sink(place / "theirs"), place / "run").path)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """Of pairs, with token types; for reading only."""
    place = tmp_path_factory.mktemp("pairs")
    texts = {"text": list(SENTENCES), "second": list(reversed(SENTENCES)), "label": ["a", "b"] * 5}
    corpus = attentest.load({**texts, "split": ["test"] * 10}, name="pairs", second="second", split="split")
    labels: dict[str, Any] = {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}}
    folder = bert_folder(place / "theirs", initializer_range=0.3, **labels)
    return attentest.open_run(take_pretrained(corpus, folder, place / "run").path)


def model_of(run: attentest.Run) -> Pretrained:
    assert isinstance(run.model, Pretrained)
    return run.model


def some(data: TokenizedCorpus, count: int = 10) -> np.ndarray:
    return np.arange(min(count, len(data.rows)))


def sinks_of(run: attentest.Run) -> Sinks:
    """The most frequent piece and the first place, whatever weight they have: what follows is the same."""
    return Sinks((int(np.bincount(run.test_data().sequences.ids).argmax()),), first=True)


@pytest.fixture(params=["texts", "pairs"])
def either(request: pytest.FixtureRequest, with_sink: attentest.Run, pairs: attentest.Run) -> attentest.Run:
    return with_sink if request.param == "texts" else pairs


def test_a_network_made_to_have_a_sink_has_it_found(with_sink: attentest.Run) -> None:
    found = look_for_sinks(with_sink)
    assert (found.texts, found.enough) == (40, True)
    (sink,) = found.sinks
    assert (sink.name, sink.place, sink.stands) == ("the", None, 1)
    assert with_sink.vocabulary.tokens[sink.piece or 0] == "the"
    assert sink.weight > 0.9
    shares = [row for n, row in enumerate(with_sink.shares) if n in texts_for_sinks(120)]
    held = [max(row) for row in shares]  # the word has most weight in each of these texts
    assert sink.weight == pytest.approx(np.mean(held), abs=CLOSE)
    assert sink.times == pytest.approx(np.sum(held) / sum(1 / len(row) for row in shares), rel=1e-4)


def test_one_without_has_none(encoder_run: attentest.Run, with_sink: attentest.Run) -> None:
    few = look_for_sinks(encoder_run)
    assert (few.texts, few.enough, few.sinks) == (6, False, [])
    assert look_for_sinks(with_sink.seen(View(site="encoder.0"))).enough
    seen = with_sink.seen(View(sinks=Sinks.of(look_for_sinks(with_sink).found)))
    assert look_for_sinks(seen).sinks == []  # without its sink it has no other


@pytest.mark.parametrize(("texts", "looked_at"), [(1, 0), (12, 6), (60, 30), (100, 40), (1000, 200), (5000, 400)])
def test_other_texts_than_those_that_are_judged_first(texts: int, looked_at: int) -> None:
    rows = texts_for_sinks(texts)
    assert len(rows) == len(set(rows.tolist())) == looked_at
    first = np.random.default_rng(0).permutation(np.arange(texts))[: texts - looked_at]  # as `subject_of` takes them
    assert not set(first.tolist()) & set(rows.tolist())


def test_texts_that_sinks_were_found_on_are_not_judged_without_them(with_sink: attentest.Run) -> None:
    whole = judged_without_sinks(subject_of(with_sink))
    assert len(whole.rows) == whole.signature["texts"] == 80
    assert not set(whole.rows.tolist()) & set(texts_for_sinks(120).tolist())
    some = subject_of(with_sink, texts=50)
    assert np.array_equal(judged_without_sinks(some).rows, some.rows)


def test_items_are_the_other_tokens(either: attentest.Run) -> None:
    sinks = sinks_of(either)
    usual, seen = either.test_data(), either.seen(View(sinks=sinks)).test_data()
    for row in range(len(usual.rows)):
        own = usual.sequences[row]
        kept = [n for n, token in enumerate(own) if n > 0 and token not in sinks.pieces]
        assert seen.sequences[row].tolist() == own[kept].tolist()
        assert seen.aside is not None
        begin, end = seen.sequences.offsets[row : row + 2]
        assert seen.aside.places[begin:end].tolist() == kept
        if usual.sentences is not None:
            assert seen.sentences is not None
            numbers = usual.sentences[usual.sequences.offsets[row] :][: len(own)]
            assert seen.sentences[begin:end].tolist() == numbers[kept].tolist()


def test_rationales_follow_their_tokens(with_sink: attentest.Run) -> None:
    usual, seen = with_sink.test_data(), with_sink.seen(View(sinks=sinks_of(with_sink))).test_data()
    assert usual.rationale is not None
    assert seen.rationale is not None
    assert seen.aside is not None
    for row in range(len(usual.rows)):
        marks = usual.rationale[usual.sequences.offsets[row] : usual.sequences.offsets[row + 1]]
        begin, end = seen.sequences.offsets[row : row + 2]
        assert seen.rationale[begin:end].tolist() == marks[seen.aside.places[begin:end]].tolist()


def test_a_text_of_sinks_alone_keeps_them(with_sink: attentest.Run) -> None:
    data = with_sink.test_data()
    whole = np.isin(data.sequences.ids, data.sequences[0])
    seen = set_aside(data, whole)
    assert seen.sequences[0].tolist() == data.sequences[0].tolist()
    assert seen.aside is not None
    assert len(seen.aside.sequences[0]) == 0
    assert min(seen.sequences.lengths) > 0


def test_the_network_reads_the_same(either: attentest.Run) -> None:
    """Sinks are put back where they were: no logit changes, and own weights given back change nothing."""
    usual, seen = either.test_data(), either.seen(View(sinks=sinks_of(either)))
    model, data = model_of(seen), seen.test_data()
    with torch.no_grad():
        expected = model_of(either).whole(make_batch(usual, some(usual)))
        batch = make_batch(data, some(data))
        assert (model.whole(batch) - expected).abs().max() <= CLOSE
        encoded = model.encode(batch)
        assert (model.decode(encoded, model.attend(encoded)) - expected).abs().max() <= CLOSE


def test_weights_are_those_of_the_others_and_sum_to_one(either: attentest.Run) -> None:
    sinks, usual = sinks_of(either), either.test_data()
    seen = either.seen(View(sinks=sinks))
    data = seen.test_data()
    assert data.aside is not None
    with torch.no_grad():
        whole = read(either.model, make_batch(usual, some(usual)))
        without = read(seen.model, make_batch(data, some(data)))
    for row in some(data):
        begin, end = data.sequences.offsets[row : row + 2]
        kept = data.aside.places[begin:end]
        by_head = whole.weights[row][:, kept]
        expected = by_head / by_head.sum(-1, keepdim=True)
        assert (without.weights[row][:, : len(kept)] - expected).abs().max() <= CLOSE
        assert float(without.attention[row].sum()) == pytest.approx(1, abs=CLOSE)


def test_only_the_others_change(either: attentest.Run) -> None:
    """Uniform weights, against the same by hand in the whole network."""
    sinks, usual = sinks_of(either), either.test_data()
    seen = either.seen(View(sinks=sinks))
    data = seen.test_data()
    batch, whole = make_batch(data, some(data)), make_batch(usual, some(usual))
    inputs = model_of(either).layout.lay_out(whole)
    is_sink = torch.isin(whole.ids, torch.tensor(sinks.pieces))
    is_sink[:, 0] = True
    items = whole.mask & ~is_sink

    def by_hand(_site: str, weights: torch.Tensor, _allowed: torch.Tensor) -> torch.Tensor:
        changed = weights.clone()
        for text in range(len(whole)):
            places = inputs.places[text][items[text]]
            rows = changed[text, :, 0]  # [CLS] decides
            rows[:, places] = rows[:, places].mean(-1, keepdim=True)
        return changed

    site = either.model.sites[-1]
    with torch.no_grad():
        encoded = seen.model.encode(batch)
        own = seen.model.attend(encoded)[site]
        uniform = (batch.mask / batch.mask.sum(1, keepdim=True)).unsqueeze(1).expand_as(own)
        found = seen.model.decode(encoded, {site: uniform})
        variants = model_of(seen).decode_variants(encoded, torch.stack((own, uniform), 1))
        expected = model_of(either).changed(whole, by_hand, [site])
    assert (found - expected).abs().max() <= CLOSE
    assert (variants[:, 1] - expected).abs().max() <= CLOSE
    assert (variants[:, 0] - seen.model.decode(encoded, {site: own})).abs().max() <= CLOSE


def without(run: attentest.Run, row: int, gone: set[int]) -> torch.Tensor:
    """Probabilities for a text without these of its tokens, each text for itself."""
    data = run.test_data()
    begin, end = data.sequences.offsets[row : row + 2]
    kept = [n for n in range(end - begin) if n not in gone]
    numbers = None if data.sentences is None else [data.sentences[begin:end][kept]]
    ids = data.sequences.ids[begin:end][kept]
    batch = batch_of_sequences([ids], sentences=numbers)
    return model_of(run).whole(batch).softmax(-1)[0]


def test_sinks_stay_in_texts_without_a_token(either: attentest.Run) -> None:
    seen = either.seen(View(sinks=sinks_of(either)))
    data = seen.test_data()
    assert data.aside is not None
    batch = make_batch(data, some(data, 3))
    found = removed_probabilities(seen.model, batch)
    with torch.no_grad():
        for row in range(3):
            places = data.aside.places[data.sequences.offsets[row] : data.sequences.offsets[row + 1]]
            for item, place in enumerate(places):
                assert (found[row, item] - without(either, row, {int(place)})).abs().max() <= CLOSE


def test_sinks_stay_in_texts_of_which_some_tokens_are_left(with_sink: attentest.Run) -> None:
    seen = with_sink.seen(View(sinks=sinks_of(with_sink)))
    data = seen.test_data()
    assert data.aside is not None
    batch = make_batch(data, some(data, 4))
    kept = batch.mask & (torch.arange(batch.mask.shape[1]) % 2 == 0)
    found = left_probabilities(seen.model, batch, torch.arange(4), kept)
    with torch.no_grad():
        for row in range(4):
            places = data.aside.places[data.sequences.offsets[row] : data.sequences.offsets[row + 1]]
            gone = {int(place) for item, place in enumerate(places) if item % 2}
            assert (found[row] - without(with_sink, row, gone)).abs().max() <= CLOSE


def test_of_a_text_without_its_only_item_the_sinks_are_left(with_sink: attentest.Run) -> None:
    """In a batch with longer texts, whose sinks take more places."""
    usual = with_sink.test_data()
    first = usual.sequences[0]
    seen = with_sink.seen(View(sinks=Sinks(tuple({*first.tolist()} - {int(first[2])}))))
    data = seen.test_data()
    batch = make_batch(data, np.array([1, 0, 2]))
    assert len(data.sequences[0]) == 1
    model, _ = model_of(seen).at_site(seen.model.sites[-1], batch)
    found = removed_probabilities(model, batch)[1, 0]
    with torch.no_grad():
        expected = without(with_sink, 0, {2})
        alone = model.decode_empty(model.encode(batch)).softmax(-1)[1]
    assert (found - expected).abs().max() <= CLOSE
    assert (alone - expected).abs().max() <= CLOSE


def test_padding_and_batches_change_nothing(either: attentest.Run) -> None:
    seen = either.seen(View(sinks=sinks_of(either)))
    data = seen.test_data()
    with torch.no_grad():
        together = read(seen.model, make_batch(data, some(data)))
        for row in some(data):
            alone = read(seen.model, make_batch(data, np.array([row])))
            length = int(alone.lengths)
            assert (together.attention[row, :length] - alone.attention[0]).abs().max() <= CLOSE
            assert (together.logits[row] - alone.logits[0]).abs().max() <= CLOSE


def test_a_batch_keeps_its_sinks_wherever_it_goes(with_sink: attentest.Run) -> None:
    data = with_sink.seen(View(sinks=sinks_of(with_sink))).test_data()
    batch = make_batch(data, some(data))
    chosen = torch.tensor([3, 1, 3])
    for made in (batch.take(chosen), batch.select(chosen)):
        assert isinstance(made, Batch)
        assert made.places is not None
        assert made.places.shape == made.ids.shape
        found = model_of(with_sink).layout.lay_out(made).input_ids
        expected = model_of(with_sink).layout.lay_out(make_batch(with_sink.test_data(), np.array([3, 1, 3]))).input_ids
        width = expected.shape[1]
        assert torch.equal(found[:, :width], expected)


@pytest.mark.parametrize("trial", ["uniform", "erasure", "correlation", "rationale", "permutation", "removal"])
def test_trials_run_on_it(trial: str, with_sink: attentest.Run) -> None:
    sinks = Sinks.of(look_for_sinks(with_sink).found)
    subject = replace(subject_of(with_sink.seen(View(sinks=sinks)), texts=25), folder=None)
    (finding,) = hold([make_trial(trial)], subject)
    assert len(finding.table) == 25
    assert subject.place_of(trial) == f"{trial}-without-sinks"
    (usual,) = hold([make_trial(trial)], replace(subject_of(with_sink, texts=25), folder=None))
    assert finding.summary != usual.summary
