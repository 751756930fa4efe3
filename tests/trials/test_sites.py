"""Trials at the sites of a hierarchical model: its sentences as tokens of a flat one, its words within sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import quick
import torch
from dotted import dotted_corpus
from torch import Tensor

import attentest
from attentest.importance.erasure import leave_one_out, removed_probabilities
from attentest.interventions import (
    PERMUTED_SENTENCES,
    RANDOM_SENTENCES,
    permuted,
    random_weights,
    softmax_within,
    sums_within,
    uniform_weights,
)
from attentest.models import Hierarchical
from attentest.text.batches import Batch
from attentest.trials import Subject, hold, make_trial, subject_of
from attentest.trials.importance_sets import first_flip
from attentest.trials.reading import Reading, read, readings
from attentest.trials.reduced_weights import renormalised, without
from attentest.trials.scores import ScoreSettings, score

QUICK = quick.QUICK | {"adversary": {"steps": 10}}
every_site = pytest.mark.parametrize("site", ["sentence", "word"])


@pytest.fixture(scope="module", params=["bilstm", "cnn", "none"])
def trained(request: pytest.FixtureRequest) -> attentest.Run:
    return attentest.train(
        dotted_corpus(), epochs=10, lr=0.03, dimension=12, hidden=8, encoder=request.param, structure="hierarchical"
    )


def exact_reading(run: attentest.Run, site: str | None = None, texts: int = 12) -> Reading:
    """In float64, so that only a mistake could show."""
    subject = subject_of(run, texts=texts)
    model = attentest.open_run(run.path).model.double()
    with torch.no_grad():
        return next(readings(model, subject.data, subject.rows, site=site))


@every_site
@pytest.mark.parametrize("name", quick.ON_RUNS)
def test_every_trial_gives_a_whole_finding_at_every_site(trained: attentest.Run, name: str, site: str) -> None:
    finding = attentest.trial(name, trained, site=site, texts=25, **QUICK.get(name, {}))
    assert finding.table.num_rows == 25
    assert finding.answer.endswith(".")
    assert finding.signature["site"] == site
    assert Path(finding.files["table"]).parent.name == (name if site == "sentence" else f"{name}-word")
    items = finding.table["sentences" if site == "sentence" else "tokens"].to_pylist()
    data = subject_of(trained, texts=25)
    counts = replace(data, site=site).lengths
    assert items == counts.tolist()
    assert max(finding.table["max_attention"].to_pylist()) <= 1 + 1e-5
    for label, estimate in finding.summary.items():
        assert quick.is_whole(label, estimate), label
    assert finding.svg().startswith("<svg")


@every_site
@pytest.mark.parametrize(
    "name", [n for n in quick.ON_RUNS if n not in ("information", "exchange")]
)  # these are about all texts together
def test_batches_and_order_change_nothing(trained: attentest.Run, name: str, site: str) -> None:
    subject = replace(subject_of(trained, texts=16, site=site), folder=None)
    (whole,) = hold([make_trial(name, **QUICK.get(name, {}))], subject)
    (half,) = hold([make_trial(name, **QUICK.get(name, {}))], replace(subject, rows=subject.rows[::-2]))
    there = {row["id"]: row for row in whole.table.to_pylist()}
    for row in half.table.to_pylist():
        for key in set(row) - {"influence on hidden states"}:  # who is in the sample hangs on who is there
            value, expected = row[key], there[row["id"]][key]
            near = pytest.approx(expected, abs=5e-5, nan_ok=True) if isinstance(value, float) else expected
            assert value == near, key


def test_the_last_site_is_examined_unless_another_is_named(trained: attentest.Run) -> None:
    finding = attentest.trial("uniform", trained, texts=5)
    assert finding.signature["site"] == "sentence"
    subject = subject_of(trained, texts=5)
    assert attentest.trial("uniform", subject, site="word").signature["site"] == "word"
    with pytest.raises(attentest.InputError, match="Unknown site 'sentense'; did you mean 'sentence'"):
        attentest.trial("uniform", trained, site="sentense")
    with pytest.raises(attentest.InputError, match="Unknown site 'token'; choose from: sentence, word"):
        attentest.trial("uniform", trained, site="token")


def test_a_flat_model_has_one_site(own_run: attentest.Run) -> None:
    finding = attentest.trial("uniform", own_run, site="token", texts=5)
    assert finding.signature["site"] == "token"
    assert Path(finding.files["table"]).parent.name == "uniform"
    with pytest.raises(attentest.InputError, match="Unknown site 'word'"):
        attentest.trial("uniform", own_run, site="word")


@torch.no_grad()
def test_sentences_are_decoded_exactly_as_the_model_would(trained: attentest.Run) -> None:
    reading = exact_reading(trained)
    subject = subject_of(trained, texts=12)
    model = attentest.open_run(trained.path).model.double()
    assert isinstance(model, Hierarchical)
    batch = next(readings(model, subject.data, subject.rows, site="word")).batch
    encoded = model.encode(batch)
    own = model.attend(encoded)["sentence"]
    assert torch.equal(reading.mask, model.part_mask(encoded))
    assert (reading.weights - own).abs().max() <= 1e-12
    assert (reading.logits - model.decode(encoded, {})).abs().max() <= 1e-12
    variants = torch.rand(len(batch), 7, reading.mask.shape[1], dtype=torch.float64) * reading.mask.unsqueeze(1)
    variants = variants / variants.sum(-1, keepdim=True)
    assert reading.margins is not None
    wanted = torch.stack([model.decode(encoded, {"sentence": w}) for w in variants.unbind(1)], 1)
    found = reading.decode(variants)
    assert (found.softmax(-1) - wanted.softmax(-1)).abs().max() <= 1e-12


@torch.no_grad()
def test_a_sentence_left_out_is_truly_removed(trained: attentest.Run) -> None:
    reading = exact_reading(trained)
    words = exact_reading(trained, "word").batch
    model = attentest.open_run(trained.path).model.double()
    assert isinstance(model, Hierarchical)
    found = score(reading, "leave-one-out", ScoreSettings(tolerance=0))
    assert words.sentences is not None
    for text, sentence in reading.mask.nonzero().tolist():
        kept = words.mask[text] & (words.sentences[text] != sentence)
        left = (
            model.bias()[None]
            if not kept.any()
            else model(
                Batch(
                    words.ids[text][kept][None],
                    torch.ones(1, int(kept.sum()), dtype=torch.bool),
                    words.rows[:1],
                    sentences=words.sentences[text][kept][None],
                )
            )[0]
        )
        moved = (left.softmax(-1)[0] - reading.probabilities[text]).abs().sum() / 2
        assert float(found[text, sentence]) == pytest.approx(float(moved), abs=1e-9)


@torch.no_grad()
def test_a_word_left_out_is_truly_removed(trained: attentest.Run) -> None:
    reading = exact_reading(trained, "word", texts=4)
    assert reading.batch.sentences is not None
    found = leave_one_out(reading.probabilities, removed_probabilities(reading.model, reading.batch), reading.mask)
    for text, token in reading.mask.nonzero().tolist():
        kept = reading.mask[text].clone()
        kept[token] = False
        one = Batch(
            reading.batch.ids[text][kept][None],
            torch.ones(1, int(kept.sum()), dtype=torch.bool),
            reading.rows[:1],
            sentences=reading.batch.sentences[text][kept][None],
        )
        moved = (reading.model(one)[0].softmax(-1)[0] - reading.probabilities[text]).abs().sum() / 2  # type: ignore[operator]
        assert float(found[text, token]) == pytest.approx(float(moved), abs=1e-9)


def sentences_of(reading: Reading) -> Iterator[tuple[int, Tensor]]:
    """(text, the places of a sentence) for every sentence."""
    assert reading.within is not None
    for text, (numbers, real) in enumerate(zip(reading.within, reading.mask, strict=True)):
        for number in numbers[real].unique().tolist():
            yield text, (real & (numbers == number)).nonzero().squeeze(1)


@torch.no_grad()
def test_word_weights_are_changed_within_their_sentences(trained: attentest.Run) -> None:
    reading = exact_reading(trained, "word")
    given = (reading.mask, reading.rows, 3)
    uniform = uniform_weights(reading.mask, torch.float64, reading.within)
    drawn = random_weights(*given, torch.float64, reading.within)
    shuffled = permuted(reading.weights, *given, reading.within)
    scores = torch.randn(len(reading.mask), 2, reading.mask.shape[1], dtype=torch.float64)
    scores = scores.masked_fill(~reading.mask.unsqueeze(1), -1e4)
    soft = softmax_within(scores, reading.within)
    for text, places in sentences_of(reading):
        assert uniform[text, places].tolist() == pytest.approx([1 / len(places)] * len(places))
        assert float(drawn[text, places].sum()) == pytest.approx(1)
        assert sorted(shuffled[text, places].tolist()) == sorted(reading.weights[text, places].tolist())
        assert (soft[text, :, places] - scores[text, :, places].softmax(-1)).abs().max() <= 1e-12
    for weights in (uniform, drawn, shuffled, soft[:, 0]):
        assert (weights[~reading.mask] == 0).all()
    assert not torch.equal(shuffled, reading.weights)


@torch.no_grad()
def test_weights_of_words_and_sentences_are_replaced_at_once(trained: attentest.Run) -> None:
    """Vashishth et al. 2019, Table 1: text by text, with sentences and their states made by hand."""
    reading = exact_reading(trained, "word")
    model, trial = reading.model, make_trial("uniform", all_sites=True, seed=3)
    found = trial.examine(reading)  # type: ignore[attr-defined]
    assert isinstance(model, Hierarchical)
    given = (reading.mask, reading.rows, 3)
    words = {
        "uniform": uniform_weights(reading.mask, torch.float64, reading.within),
        "random": random_weights(*given, torch.float64, reading.within),
        "permuted": permuted(reading.weights, *given, reading.within),
    }
    own = model.attend(reading.encoded)["sentence"]
    for text in range(len(reading.batch)):
        groups = [places for at, places in sentences_of(reading) if at == text]
        count, row = len(groups), reading.rows[text : text + 1]
        there = torch.ones(1, count, dtype=torch.bool)
        above = {
            "uniform": torch.full((count,), 1 / count, dtype=torch.float64),
            "random": random_weights(there, row, 3, torch.float64, purpose=RANDOM_SENTENCES)[0],
            "permuted": permuted(own[text : text + 1, :count], there, row, 3, purpose=PERMUTED_SENTENCES)[0],
        }
        assert sorted(above["permuted"].tolist()) == sorted(own[text, :count].tolist())
        for name, weights in words.items():
            vectors = torch.stack([weights[text, at] @ reading.encoded.hidden[text, at] for at in groups])
            states = model.encoder["sentence"](vectors.unsqueeze(0), there)[0]
            logits = model.decoder(above[name] @ states)
            probability = torch.cat((torch.zeros(1), logits)).softmax(-1)
            moved = float((probability - reading.probabilities[text]).abs().sum() / 2)
            assert found[f"tvd_{name}"][text] == pytest.approx(moved, abs=1e-9)


def test_all_sites_need_the_site_of_words(trained: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match="`all_sites` is for the site word"):
        attentest.trial("uniform", trained, texts=5, all_sites=True)


@torch.no_grad()
def test_removal_renormalises_within_the_sentence(trained: attentest.Run) -> None:
    reading = exact_reading(trained, "word")
    every = torch.arange(reading.mask.shape[1]).expand(len(reading.batch), -1)
    found = without(reading, every)
    for text, places in sentences_of(reading):
        for item in places.tolist():
            wanted = reading.weights[text].clone()
            wanted[item] = 0
            if len(places) > 1:
                wanted[places] /= wanted[places].sum()
            elif int(reading.lengths[text]) == 1:
                wanted[item] = 1  # nothing is left of the text
            assert (found[text, item] - wanted).abs().max() <= 1e-12


@torch.no_grad()
def test_words_go_one_after_the_other_as_in_a_loop(trained: attentest.Run) -> None:
    reading = exact_reading(trained, "word", texts=6)
    model = reading.model
    scores = torch.rand(reading.mask.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = first_flip(reading, scores)
    for text in range(len(reading.batch)):
        length = int(reading.lengths[text])
        order = scores[text, :length].argsort(descending=True)
        wanted = math.nan
        for gone in range(1, length):
            left = reading.weights[text : text + 1].clone()
            left[0, order[:gone]] = 0
            sums = sums_within(left, reading.within[text : text + 1])  # type: ignore[index]
            left = torch.where(sums > 0, left / sums, 0)
            one = reading.encoded.take(torch.tensor([text]))
            if int(model.decode(one, {"word": left}).argmax()) != int(reading.predicted[text]):
                wanted = gone
                break
        assert float(found[text]) == pytest.approx(wanted, nan_ok=True)


@torch.no_grad()
def test_the_rest_of_a_text_by_hand() -> None:
    """Sentences (.5, .5) and (1): a word goes, the second sentence goes, all go."""
    reading = Reading(
        None,  # type: ignore[arg-type]
        Batch(torch.ones(1, 3, dtype=torch.long), torch.ones(1, 3, dtype=torch.bool), np.arange(1)),
        None,  # type: ignore[arg-type]
        torch.tensor([[0.5, 0.5, 1.0]]),
        torch.zeros(1, 2),
        within=torch.tensor([[0, 0, 1]]),
    )
    left = torch.tensor([[[0.0, 0.5, 1.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]])
    assert renormalised(reading, left)[0].tolist() == [[0, 1, 1], [0.5, 0.5, 0], [0.5, 0.5, 1]]
    other = torch.tensor([[[1.0, 0.0, 1.0]]])
    # JSD of (½, ½) and (1, 0) is .2158 nats, of the second sentence 0; the mean is half of it
    assert float(reading.apart(other, reading.weights.unsqueeze(1))) == pytest.approx(0.21576 / 2, abs=1e-4)
    apart = replace(reading, weights=torch.tensor([[1.0, 0.0, 1.0, 0.0]]), within=torch.tensor([[0, 0, 1, 1]]))
    # two sentences with nothing in common: ln 2 each, and so on average
    far = apart.apart(torch.tensor([[[0.0, 1.0, 0.0, 1.0]]]), apart.weights.unsqueeze(1))
    assert float(far) == pytest.approx(np.log(2), abs=1e-6)


def test_importance_of_words_equals_finite_differences(trained: attentest.Run) -> None:
    reading = exact_reading(trained, "word", texts=3)
    model: Hierarchical = reading.model  # type: ignore[assignment]
    gradient = score(reading, "attention-gradient", ScoreSettings())
    step = 1e-6
    with torch.no_grad():
        for text, token in reading.mask.nonzero().tolist()[:20]:
            outputs = []
            for sign in (1, -1):
                moved = reading.weights.clone()
                moved[text, token] += sign * step
                logits = model.decode(reading.encoded, {"word": moved})
                outputs.append(float(logits.softmax(-1)[text, reading.predicted[text]]))
            assert float(gradient[text, token]) == pytest.approx((outputs[0] - outputs[1]) / (2 * step), abs=1e-7)


@every_site
def test_measures_that_captum_gives(trained: attentest.Run, site: str) -> None:
    pytest.importorskip("captum")
    subject = replace(subject_of(trained, texts=3, site=site), folder=None)
    if site == "word":
        with pytest.raises(attentest.InputError, match="lime: these cover the sites token and sentence"):
            attentest.trial("correlation", subject, measures="lime")
        return
    finding = attentest.trial(
        "correlation", subject, measures="lime,integrated-gradients,leave-one-out-mask", samples=20
    )
    assert "τ attention – lime" in finding.summary


def test_integrated_gradients_of_words_add_up(trained: attentest.Run) -> None:
    pytest.importorskip("captum")
    from attentest.importance.attribution import integrated_gradients

    reading = exact_reading(trained, "word", texts=3)
    model: Hierarchical = reading.model  # type: ignore[assignment]
    found = integrated_gradients(model, reading.batch, steps=300).signed.sum(1)
    with torch.no_grad():
        zeros = model.encode_embedded(torch.zeros_like(model.embed(reading.batch.ids)), reading.batch)
        start = model.decode(zeros, {}).softmax(-1)
    places = reading.predicted.unsqueeze(1)
    wanted = (reading.probabilities.gather(1, places) - start.gather(1, places)).squeeze(1)
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=5e-3)


def test_the_reason_of_a_sentence_is_that_of_its_words(trained: attentest.Run) -> None:
    subject = replace(subject_of(trained, texts=12), folder=None)
    finding = attentest.trial("rationale", subject)
    attention = {row["id"]: row for row in trained.attention.to_pylist()}
    for row in finding.table.to_pylist():
        told = attention[row["id"]]
        marked = {s for s, mark in zip(told["sentence"], told["rationale"], strict=True) if mark}
        weights = told["sentence_weight"]
        assert row["heaviest_in_rationale"] == (int(np.argmax(weights)) in marked)
        assert row["weight_on_rationale"] == pytest.approx(sum(weights[s] for s in marked), abs=1e-5)
        assert row["rationale_share"] == pytest.approx(len(marked) / len(weights))


def test_a_single_sentence_has_nothing_to_remove(trained: attentest.Run) -> None:
    subject: Subject = subject_of(trained)
    alone = subject.rows[subject.lengths == 1]
    assert len(alone) >= 1
    single = replace(subject, rows=alone, folder=None)
    for name in ("permutation", "removal", "uniform"):
        table = attentest.trial(name, single).table
        column = {"permutation": "median_tvd", "removal": "js_heaviest", "uniform": "tvd_random"}[name]
        assert table[column].to_pylist() == pytest.approx([0] * len(alone), abs=1e-6)


@torch.no_grad()
def test_documents_are_read_at_the_last_site(trained: attentest.Run) -> None:
    words = exact_reading(trained, "word")
    assert (read(words.model, words.batch).logits - words.logits).abs().max() <= 1e-12
    assert (read(words.model, words.batch).weights.sum(1) - 1).abs().max() <= 1e-12
    assert (words.attention.sum(1) - 1).abs().max() <= 1e-12
