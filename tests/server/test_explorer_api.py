"""What the explorer answers equals what the library gives."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch

import attentest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from fastapi.testclient import TestClient

from attentest.server.explorer.app import explorer_app
from attentest.server.safety import Safety, hosts_of
from attentest.trials.reading import readings
from attentest.trials.scores import ScoreSettings, score


@pytest.fixture(scope="module")
def client(run: attentest.Run) -> TestClient:
    return TestClient(explorer_app([run]))


def files_of(run: attentest.Run) -> dict[str, str]:
    every = (file for file in sorted(run.path.rglob("*")) if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in every}


def test_every_text_is_read_as_the_run_stored_it(client: TestClient, run: attentest.Run) -> None:
    before = files_of(run)
    stored = run.predictions.to_pylist()
    for row in (0, 5, len(stored) - 1):
        state = client.post("/api/runs/0/read", json={"row": row}).json()
        np.testing.assert_allclose(state["probabilities"], stored[row]["probability"], atol=1e-6)
        np.testing.assert_allclose(state["weights"], run.shares[row], atol=1e-6)
        own = client.post("/api/runs/0/read", json={"text": stored[row]["text"]}).json()
        np.testing.assert_allclose(own["weights"], state["weights"], atol=1e-6)
    assert files_of(run) == before


def test_what_the_page_computes_is_what_the_server_answers(client: TestClient) -> None:
    state = client.post("/api/runs/0/read", json={"row": 1}).json()
    given = np.random.default_rng(0).dirichlet(np.ones(len(state["weights"])))
    answer = client.post("/api/runs/0/decode", json={"row": 1, "weights": given.tolist()}).json()
    logits = given @ np.array(state["affine"]["token_logits"]) + np.array(state["affine"]["bias"])
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-6)
    assert answer["tvd"] == pytest.approx(np.abs(expected - state["probabilities"]).sum() / 2, abs=1e-6)


def test_the_adversary_keeps_the_prediction(client: TestClient) -> None:
    found = client.post("/api/runs/0/adversary", json={"row": 2}).json()
    assert found["exact"]
    assert found["tvd"] <= found["within_tvd"] + 1e-6
    assert sum(found["weights"]) == pytest.approx(1, abs=1e-5)


def test_measures_are_those_of_the_library(client: TestClient, run: attentest.Run) -> None:
    data = run.test_data()
    (reading,) = readings(run.model, data, np.array([4]))
    for name in ("gradient", "leave-one-out", "attention-gradient"):
        answer = client.post("/api/runs/0/measure", json={"row": 4, "measure": name}).json()
        with torch.enable_grad():
            expected = score(reading, name, ScoreSettings())[0].detach().numpy()
        np.testing.assert_allclose(answer["scores"], expected, rtol=1e-4, atol=1e-6)


def test_steps_end_in_the_prediction(client: TestClient) -> None:
    steps = {step["name"]: step for step in client.post("/api/runs/0/steps", json={"row": 0}).json()["steps"]}
    weights = np.exp(steps["score"]["values"])
    np.testing.assert_allclose(weights / weights.sum(), steps["weight"]["values"], atol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        *(
            {},
            {"row": -1},
            {"row": 10**6},
            {"text": ""},
            {"text": " \t"},
            {"row": 0, "site": "x"},
            {"row": 0, "head": 0},
        ),
        *({"row": "a"}, {"row": 0, "more": 1}, {"text": "a", "second": "b"}, [], None),
    ],
)
def test_bad_bodies_are_refused_with_a_sentence(client: TestClient, body: object) -> None:
    answer = client.post("/api/runs/0/read", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_search_and_order(client: TestClient) -> None:
    found = client.get("/api/runs/0/texts?sort=confidence&descending=true&limit=500").json()
    confidence = [row["confidence"] for row in found["rows"]]
    assert confidence == sorted(confidence, reverse=True)
    word = found["rows"][0]["start"].split()[0]
    for row in client.get(f"/api/runs/0/texts?q={word.upper()}").json()["rows"]:
        assert word in client.post("/api/runs/0/read", json={"row": row["row"]}).json()["text"]


def test_other_hosts_and_sites_are_refused(run: attentest.Run) -> None:
    safe = TestClient(Safety(explorer_app([run]), hosts_of("127.0.0.1", 8000)), base_url="http://127.0.0.1:8000")
    assert safe.get("/api/runs").status_code == 200
    assert safe.get("/api/runs", headers={"host": "evil.example"}).status_code == 421
    refused = safe.post("/api/runs/0/read", json={"row": 0}, headers={"origin": "http://evil.example"})
    assert refused.status_code == 403
    assert "script-src 'self'" in refused.headers["content-security-policy"]
