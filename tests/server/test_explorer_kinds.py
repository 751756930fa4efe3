"""Every kind of model in the explorer: what the page computes, what the server answers and what the library gives are
the same."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from explorer_kinds import AFFINE, KINDS, run_of

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from fastapi.testclient import TestClient

from attentest.server.explorer import answers
from attentest.server.explorer.app import explorer_app
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.reading import Reading, readings
from attentest.trials.scores import SCORES

TEXTS = {"pair": {"second": "is the door red?"}, "pair with query": {"second": "is the door red?"}}


@cache
def client(kind: str) -> TestClient:
    return TestClient(explorer_app([run_of(kind)]))


def ask(kind: str, what: str, **body: Any) -> Any:
    answer = client(kind).post(f"/api/runs/0/{what}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def reading_of(kind: str, row: int, site: str | None = None) -> Reading:
    run = run_of(kind)
    (found,) = readings(run.model, run.test_data(), np.array([row]), site=site)
    return found


def drawn(state: dict[str, Any], seed: int = 0) -> np.ndarray:
    """Other weights, which sum to 1 in each part."""
    weights = np.random.default_rng(seed).gamma(1, size=len(state["weights"]))
    parts = np.array(state["within"] or [0] * len(weights))
    found: np.ndarray = weights / np.bincount(parts, weights)[parts]
    return found


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    found: np.ndarray = powers / powers.sum()
    return found


@pytest.mark.parametrize(("kind", "site"), [*((kind, None) for kind in AFFINE), ("hierarchical", "sentence")])
def test_page_server_and_library_give_the_same(kind: str, site: str | None) -> None:
    state = ask(kind, "read", row=1, site=site)
    other = drawn(state)
    page = softmax(other @ np.array(state["affine"]["token_logits"]) + np.array(state["affine"]["bias"]))
    server = ask(kind, "decode", row=1, site=site, weights=other.tolist())
    reading = reading_of(kind, 1, site)
    with torch.no_grad():
        library = reading.decode(torch.tensor(other)[None, None].float())[0, 0].softmax(-1).numpy()
    np.testing.assert_allclose(server["probabilities"], page, atol=1e-6)
    np.testing.assert_allclose(library, page, atol=1e-6)
    own = softmax(
        np.array(state["weights"]) @ np.array(state["affine"]["token_logits"]) + np.array(state["affine"]["bias"])
    )
    np.testing.assert_allclose(state["probabilities"], own, atol=1e-6)
    assert server["tvd"] == pytest.approx(np.abs(page - own).sum() / 2, abs=1e-6)
    mixed, weights = (other + state["weights"]) / 2, np.array(state["weights"])
    jsd = sum(np.where(p > 0, p * np.log(np.maximum(p, 1e-300) / mixed), 0).sum() / 2 for p in (other, weights))
    assert server["jsd"] == pytest.approx(jsd, abs=1e-6)


@pytest.mark.parametrize(("kind", "site"), [("pair with query", None), ("hierarchical", "word")])
def test_models_that_are_not_affine_answer_over_the_wire(kind: str, site: str | None) -> None:
    state = ask(kind, "read", row=2, site=site)
    assert state["affine"] is None
    assert state["draggable"]
    other = drawn(state)
    server = ask(kind, "decode", row=2, site=site, weights=(3 * other).tolist())  # made to sum to 1 in each part
    reading = reading_of(kind, 2, site)
    with torch.no_grad():
        library = reading.model.decode(reading.encoded, {reading.site: torch.tensor(other)[None].float()})[0]
    np.testing.assert_allclose(server["probabilities"], library.softmax(-1).numpy(), atol=1e-6)
    parts = len(set(state["within"] or [0]))
    mixed, weights = (other + state["weights"]) / 2, np.array(state["weights"])
    jsd = sum((p * np.log(np.maximum(p, 1e-300) / mixed)).sum() / 2 for p in (other, weights)) / parts
    assert server["jsd"] == pytest.approx(jsd, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_predictions_are_the_stored_ones(kind: str) -> None:
    run = run_of(kind)
    stored = run.predictions.to_pylist()
    site = {"site": "word"} if kind == "hierarchical" else {}
    for row in (0, len(stored) - 1):
        state = ask(kind, "read", row=row, **site)
        answers.State.model_validate(state)
        np.testing.assert_allclose(state["probabilities"], stored[row]["probability"], atol=1e-6)
        np.testing.assert_allclose(state["shares"] or state["weights"], run.shares[row], atol=1e-6)
        assert (
            "".join(gap + token for gap, token in zip(state["gaps"], state["tokens"], strict=True)) + state["tail"]
            == (stored[row]["text"])
        )
        own = ask(kind, "read", text=stored[row]["text"], second=stored[row].get("second"), **site)
        np.testing.assert_allclose(own["weights"], state["weights"], atol=1e-6)


@pytest.mark.parametrize("kind", ["bilstm", "pair with query", "several classes"])
def test_the_adversary_is_the_trial_s(kind: str) -> None:
    state = ask(kind, "read", row=0)
    found = ask(kind, "adversary", row=0)
    answers.Adversary.model_validate(found)
    with torch.no_grad():
        expected = InstanceAdversary(epsilon=0.01).furthest(reading_of(kind, 0))
    assert found["exact"] == (expected.method == "exact") == (state["adversary"] == "exact")
    assert found["jsd"] == pytest.approx(float(expected.jsd[0]), abs=1e-5)


@pytest.mark.parametrize("kind", ["bilstm", "pair", "pair with query", "hierarchical"])
def test_every_measure_is_answered_or_refused_with_a_sentence(kind: str) -> None:
    (about,) = client(kind).get("/api/runs").json()["runs"]
    assert {"gradient", "leave-one-out", "integrated-gradients", "lime"} <= set(about["measures"]) <= set(SCORES)
    for site in about["sites"]:
        tokens = len(ask(kind, "read", row=0, site=site)["tokens"])
        for name in about["measures"]:
            answer = client(kind).post("/api/runs/0/measure", json={"row": 0, "measure": name, "site": site})
            if site == "word" and SCORES[name].of_whole_texts:
                assert answer.status_code == 400
                assert "not the words within a sentence" in answer.json()["error"]
            else:
                assert len(answers.Measure.model_validate(answer.json()).scores) == tokens


@pytest.mark.parametrize(
    ("kind", "site"), [*((kind, None) for kind in KINDS if kind != "hierarchical"), ("hierarchical", "sentence")]
)
def test_steps_have_the_model_s_numbers(kind: str, site: str | None) -> None:
    found = ask(kind, "steps", row=1, site=site)
    answers.Steps.model_validate(found)
    steps = {step["name"]: step for step in found["steps"]}
    reading = reading_of(kind, 1, site)
    model: Any = reading.model
    with torch.no_grad():
        embedded = model.embed(reading.batch.ids)
        encoded = model.encode_embedded(embedded, reading.batch)
        context = reading.weights[0] @ encoded.hidden[0]
    for name, vectors in (("embedding", embedded[0]), ("state", encoded.hidden[0])):
        np.testing.assert_allclose(steps[name]["vectors"], vectors[:, :16], atol=1e-6)
        np.testing.assert_allclose(steps[name]["norms"], vectors.norm(dim=1), atol=1e-5)
        assert steps[name]["size"] == vectors.shape[1]
    np.testing.assert_allclose(steps["context"]["vector"], context[:16], atol=1e-6)
    if kind == "even":
        assert "score" not in steps
    else:
        scores = torch.tensor(steps["score"]["values"])[None]
        projected = model.projection(scores, torch.ones_like(scores, dtype=torch.bool))[0]
        np.testing.assert_allclose(steps["weight"]["values"], projected, atol=1e-6)
    if kind == "sparse":
        cut = np.maximum(0, np.array(steps["score"]["values"]) - steps["weight"]["threshold"])
        np.testing.assert_allclose(steps["weight"]["values"], cut, atol=1e-5)
    np.testing.assert_allclose(softmax(np.array(steps["logit"]["values"])), steps["probability"]["values"], atol=1e-6)
    if kind == "pair with query":
        logit = model.decoder.outer(torch.tensor(steps["hidden"]["vector"])).detach()
        assert steps["hidden"]["size"] == len(steps["hidden"]["vector"])
        assert float(logit) == pytest.approx(steps["logit"]["values"][1], abs=1e-5)


def test_steps_of_words_lead_to_sentences() -> None:
    steps = {step["name"]: step for step in ask("hierarchical", "steps", row=12, site="word")["steps"]}
    above = {step["name"]: step for step in ask("hierarchical", "steps", row=12, site="sentence")["steps"]}
    vectors = [part["vector"] for part in steps["sentence"]["parts"]]
    np.testing.assert_allclose(vectors, above["embedding"]["vectors"], atol=1e-6)
    np.testing.assert_allclose(
        [part["weight"] for part in steps["sentence"]["parts"]], above["weight"]["values"], atol=1e-6
    )
    assert steps["probability"]["values"] == pytest.approx(above["probability"]["values"], abs=1e-6)


@pytest.mark.parametrize("kind", ["bilstm", "pair", "hierarchical"])
@pytest.mark.parametrize("text", ["", " \n", "א ב ג 漢字 🦆🦆 ก", "\ud800 door", "\x00", "a" * 400_000, "a " * 200_000])
def test_own_texts_are_read_or_refused_with_a_sentence(kind: str, text: str) -> None:
    body = b'{"text": ' + json.dumps(text).encode() + (b', "second": "is it?"}' if kind == "pair" else b"}")
    answer = client(kind).post("/api/runs/0/read", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 400)
    found = answer.json()
    assert found["error"] if answer.status_code == 400 else found["tokens"]
    if not text.strip():
        assert answer.status_code == 400


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("pair", {"text": "a door"}, "give a `second` text"),
        ("bilstm", {"text": "a door", "second": "b"}, "reads one text"),
        ("pair", {"row": 0, "second": "b"}, "leave out `second`"),
        ("pair", {"text": "a door", "second": " "}, "no token"),
        ("bilstm", {"text": "a" * 400_001}, "400000"),
        ("bilstm", {"row": 0, "text": "a"}, "by `row`, or"),
        ("bilstm", {"row": 0, "query": 0}, "leave out `query`"),
        ("bilstm", {"row": 0, "window": 1}, "is read in 1"),
        ("bilstm", {"row": 0, "special": True}, "has no heads, views or special tokens"),
        ("bilstm", {"row": 0, "site": "tokn"}, "did you mean 'token'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(kind: str, body: dict[str, Any], words: str) -> None:
    answer = client(kind).post("/api/runs/0/read", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_weights_that_cannot_be_used_are_refused() -> None:
    tokens = len(ask("bilstm", "read", row=0)["tokens"])
    for weights in ([], [1.0], [0.0] * tokens, [-1.0] * tokens, [1e300] * tokens, ["nan"] * tokens):
        answer = client("bilstm").post("/api/runs/0/decode", json={"row": 0, "weights": weights})
        assert answer.status_code == 400
        assert answer.json()["error"]


def test_token_logits_of_many_classes_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentest.server.explorer.state.MOST_NUMBERS", 10)
    state = ask("several classes", "read", row=3)
    assert state["affine"] is None
    assert state["draggable"]
    answer = ask("several classes", "decode", row=3, weights=state["weights"])
    np.testing.assert_allclose(answer["probabilities"], state["probabilities"], atol=1e-6)


def test_two_runs_at_once() -> None:
    both = TestClient(explorer_app([run_of("bilstm"), run_of("pair")]))
    assert [about["kind"] for about in both.get("/api/runs").json()["runs"]] == ["single", "pair"]
    assert both.post("/api/runs/1/read", json={"row": 0}).json()["second"]
    assert both.post("/api/runs/2/read", json={"row": 0}).status_code == 404
