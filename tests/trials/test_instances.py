"""Texts under other weights, against a twin that reads each text alone and decodes with the model itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from divergence import divergence
from dotted import dotted_corpus
from hand_model import HandModel, reading_of

import attentest
from attentest.corpora.build import build_corpus
from attentest.text.batches import make_batch
from attentest.trials import Subject, subject_of
from attentest.trials import instances as module
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.instances import ADVERSARIAL, ORIGINAL, PERMUTED, SHOWN, instances

TEXTS, STEPS = 6, 150  # of the search, which takes 500 by itself
SMALL: dict[str, Any] = {"epochs": 2, "dimension": 12, "hidden": 8, "lr": 0.03}
MODELS: dict[str, dict[str, Any]] = {
    "single": {},
    "pair": {"corpus": "babi1-generated", "decoder": "context"},
    "pair, query": {"corpus": "babi1-generated", "decoder": "context+query", "projection": "sparsemax"},
    "four classes": {"classes": 4},
    "sentences": {"structure": "hierarchical"},
}


@pytest.fixture(scope="module", autouse=True)
def shorter_search() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "InstanceAdversary", partial(InstanceAdversary, steps=STEPS))
        yield


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest) -> attentest.Run:
    settings = dict(MODELS[request.param])
    name, classes = settings.pop("corpus", "planted"), settings.pop("classes", None)
    more = {"classes": classes} if classes else {}
    corpus = dotted_corpus(120) if "structure" in settings else attentest.load(name, rows=120, **more)
    return attentest.train(corpus, **SMALL, **settings)


@pytest.fixture(scope="module")
def found(trained: attentest.Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = instances(subject_of(trained), texts=TEXTS).to_pylist()
    return rows


def by_text(rows: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    for id in dict.fromkeys(row["id"] for row in rows):
        yield id, {row["variant"]: row for row in rows if row["id"] == id}


def alone(subject: Subject, id: str) -> tuple[Any, Any, Any]:
    """The model's own encoding of one text, its weights, and its output."""
    row = subject.data.corpus.table["id"].to_pylist().index(id)
    with torch.no_grad():
        encoded = subject.model.encode(make_batch(subject.data, np.array([row])))
        weights = subject.model.attend(encoded)
        return encoded, weights, subject.model.decode(encoded, weights)[0].softmax(-1).numpy()


def test_every_text_has_its_variants_in_the_order_of_the_corpus(trained: attentest.Run, found: list[Any]) -> None:
    ids = [id for id, _ in by_text(found)]
    places = [trained.predictions["id"].to_pylist().index(id) for id in ids]
    assert len(ids) == TEXTS
    assert places == sorted(places)
    assert [row["variant"] for row in found] == [ORIGINAL, PERMUTED, ADVERSARIAL] * TEXTS


def test_original_weights_and_predictions_are_the_runs(trained: attentest.Run, found: list[Any]) -> None:
    said = {row["id"]: row for row in trained.predictions.to_pylist()}
    weighed = {row["id"]: row for row in trained.attention.to_pylist()}
    weight = "sentence_weight" if trained.is_hierarchical else "weight"
    for id, variants in by_text(found):
        row = variants[ORIGINAL]
        assert row["weight"] == pytest.approx(weighed[id][weight], abs=1e-5)
        assert row["predicted"] == said[id]["predicted"]
        assert row["probability"] == pytest.approx(max(said[id]["probability"]), abs=1e-5)
        assert (row["tvd"], row["jsd"]) == pytest.approx((0, 0), abs=1e-5)
        for other in variants.values():
            about = ("text", "label") + (("second",) if trained.kind == "pair" else ())
            assert [other[key] for key in about] == [said[id][key] for key in about]


def test_permuted_weights_are_a_permutation(found: list[Any]) -> None:
    moved = 0
    for _, variants in by_text(found):
        own, shuffled = variants[ORIGINAL]["weight"], variants[PERMUTED]["weight"]
        assert sorted(shuffled) == pytest.approx(sorted(own), abs=1e-6)
        moved += shuffled != own
    assert moved > 3


def test_what_is_said_of_each_variant_is_what_the_model_decodes(trained: attentest.Run, found: list[Any]) -> None:
    subject = subject_of(trained)
    site = subject.chosen_site
    for id, variants in by_text(found):
        encoded, weights, own = alone(subject, id)
        for row in variants.values():
            given = torch.tensor([row["weight"]])
            assert given.sum() == pytest.approx(1, abs=1e-4)
            with torch.no_grad():
                output = subject.model.decode(encoded, {site: given})[0].softmax(-1).numpy()
            assert row["probability"] == pytest.approx(output.max(), abs=1e-4)
            assert row["predicted"] == subject.classes[int(output.argmax())]
            assert row["tvd"] == pytest.approx(np.abs(output - own).sum() / 2, abs=1e-4)
            assert row["jsd"] == pytest.approx(divergence(given[0].numpy(), weights[site][0].numpy()), abs=1e-4)


def test_adversaries_are_those_of_the_trial(trained: attentest.Run, found: list[Any]) -> None:
    trial = {row["id"]: row for row in attentest.trial("adversary", trained, steps=STEPS).table.to_pylist()}
    bound = 0.05 if trained.kind == "pair" else 0.01  # JW: more for answers to questions
    some = 0
    for id, variants in by_text(found):
        row, reported = variants[ADVERSARIAL], trial[id]
        if math.isnan(reported["max_jsd"]):  # no candidate was within the constraint
            assert row["weight"] == variants[ORIGINAL]["weight"]
            continue
        some += 1
        assert row["tvd"] <= bound + 2e-5
        assert row["jsd"] == pytest.approx(reported["max_jsd"], abs=1e-4)
        assert row["tvd"] == pytest.approx(reported["tvd"], abs=1e-4)
    assert some > 2


def test_spans_cut_the_items_out_of_the_text(trained: attentest.Run, found: list[Any]) -> None:
    weighed = {row["id"]: row for row in trained.attention.to_pylist()}
    for id, variants in by_text(found):
        row, tokens = variants[ADVERSARIAL], weighed[id]
        cut = [row["text"][a:b] for a, b in zip(row["start"], row["end"], strict=True)]
        assert len(cut) == len(row["weight"])
        if not trained.is_hierarchical:
            assert [piece.lower() for piece in cut] == [token.lower() for token in tokens["token"]]
            continue
        words = [token.lower() for token in tokens["token"]]
        expected = [[w for w, n in zip(words, tokens["sentence"], strict=True) if n == s] for s in range(len(cut))]
        assert [piece.lower().split() for piece in cut] == expected
        assert all(end <= start for end, start in zip(row["end"], row["start"][1:], strict=False))


def test_marks_of_the_rationale(trained: attentest.Run, found: list[Any]) -> None:
    weighed = {row["id"]: row for row in trained.attention.to_pylist()}
    marked = 0
    for id, variants in by_text(found):
        marks = weighed[id]["rationale"]
        if trained.is_hierarchical:  # a sentence with some of the reason
            numbers = weighed[id]["sentence"]
            marks = [max(m for m, n in zip(marks, numbers, strict=True) if n == s) for s in range(max(numbers) + 1)]
        for row in variants.values():
            assert row["rationale"] == (marks if any(marks) else None)
        marked += any(marks)
    assert marked > 3


def test_batches_change_nothing(trained: attentest.Run, found: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "tokens_at_once", lambda subject, works: 1)  # each text for itself
    again = instances(subject_of(trained), texts=TEXTS).to_pylist()
    for row, other in zip(again, found, strict=True):
        same = {key: value for key, value in row.items() if not isinstance(value, float) and key != "weight"}
        assert same == {key: other[key] for key in same}
        for key in ("weight", "probability", "tvd", "jsd"):
            assert row[key] == pytest.approx(other[key], abs=2e-3 if trained.kind == "pair" else 2e-4), key


def test_a_sample_of_all_texts_unless_there_are_fewer(run: attentest.Run) -> None:
    subject = subject_of(run)
    assert len(subject.rows) > SHOWN
    table = instances(subject)
    assert table.num_rows == 3 * SHOWN
    assert table.equals(instances(subject))
    assert not table.equals(instances(subject, seed=1))
    few = replace(subject, rows=subject.rows[5:9])
    assert instances(few)["id"].to_pylist()[::3] == subject.ids(few.rows)


def test_words_within_sentences_keep_their_sentences_share() -> None:
    """Sparse weights, of which many are 0: what is shuffled onto such a word still counts as its sentence does."""
    run = attentest.train(dotted_corpus(120), **SMALL | {"epochs": 8}, structure="hierarchical", projection="sparsemax")
    subject = subject_of(run, site="word")
    weighed = {row["id"]: row for row in run.attention.to_pylist()}
    shares = dict(zip(run.attention["id"].to_pylist(), run.shares, strict=True))
    none = 0
    for id, variants in by_text(instances(subject, texts=8).to_pylist()):
        numbers = np.array(weighed[id]["sentence"])
        assert variants[ORIGINAL]["weight"] == pytest.approx(shares[id], abs=1e-5)
        none += sum(weight == 0 for weight in weighed[id]["weight"])
        for row in variants.values():
            of_sentence = np.bincount(numbers, row["weight"])
            assert of_sentence == pytest.approx(np.array(weighed[id]["sentence_weight"]), abs=1e-4), row["variant"]
    assert none > 10


def test_texts_of_a_single_token() -> None:
    """Nothing can be moved: all variants are the one weight."""
    planted = attentest.load("planted", rows=80).table.to_pylist()
    evidence = [next(w for w, m in zip(row["text"].split(), row["rationale"], strict=True) if m) for row in planted]
    columns = {"text": evidence, "label": [row["label"] for row in planted], "split": [row["split"] for row in planted]}
    run = attentest.train(build_corpus("words", columns, classes=["no", "yes"]), **SMALL)
    rows = instances(subject_of(run)).to_pylist()
    assert {tuple(row["weight"]) for row in rows} == {(1.0,)}
    assert {(row["start"][0], row["end"][0] - len(row["text"])) for row in rows} == {(0, 0)}
    assert max(row["jsd"] for row in rows) == pytest.approx(0, abs=1e-6)
    assert {row["rationale"] for row in rows} == {None}  # the corpus has none


def test_a_known_adversary() -> None:
    """Margins 2, 2 and −2 with the weight on the first: on the second is the same output, and as far as can be."""
    reading = reading_of(HandModel([[2.0, 2.0, -2.0]], [[1.0, 0.0, 0.0]]))
    found = InstanceAdversary(0.01).furthest(reading)
    assert found.jsd[0] == pytest.approx(math.log(2), abs=1e-4)
    assert found.weights[0, 0] == pytest.approx(0, abs=1e-6)
    assert found.weights[0, 2] <= 0.03  # a change of 0.01 in the prediction allows no more


def test_own_weights_stand_where_no_adversary_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = reading_of(HandModel([[4.0, -4.0]], [[0.5, 0.5]]))
    far = torch.tensor([[[1.0, 0.0]]])
    monkeypatch.setattr("attentest.trials.adversary.gradient_search", lambda *_: far)
    found = InstanceAdversary(0.01, k=1, method="search").furthest(reading)
    assert found.weights.tolist() == [[0.5, 0.5]]
    assert math.isnan(found.jsd[0])
    assert math.isnan(found.tvd[0])
    assert found.candidates.tolist() == [0]
