"""A pretrained encoder in the explorer: layers, heads, tokens' rows, special tokens, sinks, windows."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import attentest

pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from fastapi.testclient import TestClient
from tiny_encoders import corpus_with, save_classifier, save_with_sink

from attentest.models.pretrained.view import View
from attentest.server.explorer import answers
from attentest.server.explorer.app import explorer_app
from attentest.server.explorer.asked import Reference
from attentest.server.explorer.opened import Opened
from attentest.server.explorer.turns import InTurns
from attentest.text import TextSettings
from attentest.text.batches import make_batch
from attentest.training.take import take_pretrained
from attentest.trials.reading import readings


@pytest.fixture(scope="module")
def client(encoder_run: attentest.Run) -> TestClient:
    return TestClient(explorer_app([encoder_run]))


def ask(client: TestClient, what: str, **body: Any) -> Any:
    answer = client.post(f"/api/runs/0/{what}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def whole_weights(run: attentest.Run, row: int) -> dict[str, np.ndarray]:
    """What the network itself says of a text."""
    data = run.test_data()
    text = data.text(row)
    model: Any = run.model
    ids = torch.tensor([run.tokenizer.backend.encode(text).ids])  # type: ignore[attr-defined]
    network = model.network
    usual = network.config._attn_implementation
    network.set_attn_implementation("eager")
    with torch.no_grad():
        found = network(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True)
    network.set_attn_implementation(usual)
    return {f"encoder.{n}": layer[0].numpy() for n, layer in enumerate(found.attentions)}


def test_every_site_and_head_has_the_network_s_weights(client: TestClient, encoder_run: attentest.Run) -> None:
    (about,) = client.get("/api/runs").json()["runs"]
    assert about["sites"] == ["encoder.0", "encoder.1"]
    assert about["heads"] == {"encoder.0": 2, "encoder.1": 2}
    theirs = whole_weights(encoder_run, 3)
    for head in (0, 1):
        shown = ask(client, "read", row=3, special=True, head=head)  # the last layer: the row of the first token
        np.testing.assert_allclose(shown["weights"], theirs["encoder.1"][head, 0], atol=1e-5)
        assert shown["draggable"]
        below = [ask(client, "read", row=3, special=True, site="encoder.0", head=head, query=q) for q in range(4)]
        for query, state in enumerate(below):
            answers.State.model_validate(state)
            np.testing.assert_allclose(state["weights"], theirs["encoder.0"][head, query], atol=1e-5)
            assert state["queries"]
            assert state["draggable"]


def test_without_special_tokens_weights_sum_to_one_again(client: TestClient) -> None:
    with_special = ask(client, "read", row=3, special=True, head=1)
    without = ask(client, "read", row=3, head=1)
    marks = np.array(with_special["special"], bool)
    assert [token for token, mark in zip(with_special["tokens"], marks, strict=True) if mark] == ["[CLS]", "[SEP]"]
    assert without["special"] is None
    left = np.array(with_special["weights"])[~marks]
    np.testing.assert_allclose(without["weights"], left / left.sum(), atol=1e-6)


def test_several_heads_are_shown_together_and_say_why_they_are_not_changed(
    client: TestClient, encoder_run: attentest.Run
) -> None:
    state = ask(client, "read", row=3)
    np.testing.assert_allclose(state["weights"], encoder_run.shares[3], atol=1e-6)
    assert not state["draggable"]
    assert "choose one head" in state["why"]
    below = ask(client, "read", row=3, site="encoder.0", query=1)
    assert sum(below["weights"]) == pytest.approx(1, abs=1e-5)
    assert "choose one head" in below["why"]
    assert "choose a token and a head" in ask(client, "read", row=3, site="encoder.0")["why"]
    rollout = ask(client, "read", row=3, view="rollout")
    assert "several layers" in rollout["why"]
    for what, body in {"decode": {"weights": state["weights"]}, "adversary": {}}.items():
        refused = client.post(f"/api/runs/0/{what}", json={"row": 3, **body})
        assert refused.status_code == 400
        assert "choose one head" in refused.json()["error"]


@pytest.mark.parametrize("view", [{}, {"head": 1}, {"special": True}])
def test_a_glance_shows_what_the_library_explains(
    client: TestClient, encoder_run: attentest.Run, view: dict[str, Any]
) -> None:
    state = ask(client, "read", row=5, site="encoder.0", **view)
    run = encoder_run.seen(View("encoder.0", **view))
    (reading,) = readings(run.model, run.test_data(), np.array([5]), site="encoder.0")
    np.testing.assert_allclose(state["weights"], reading.attention[0], atol=1e-6)
    np.testing.assert_allclose(state["probabilities"], reading.probabilities[0], atol=1e-5)
    assert state["shares"] is None


def test_the_row_of_a_lower_layer_can_be_changed(client: TestClient, encoder_run: attentest.Run) -> None:
    where: dict[str, Any] = {"row": 3, "site": "encoder.0", "head": 1, "query": 2, "special": True}
    state = ask(client, "read", **where)
    same = ask(client, "decode", **where, weights=state["weights"])
    np.testing.assert_allclose(same["probabilities"], state["probabilities"], atol=1e-5)
    other = np.random.default_rng(0).dirichlet(np.ones(len(state["weights"])))
    moved = ask(client, "decode", **where, weights=other.tolist())
    run = encoder_run.seen(View(special=True))
    batch = run.read(encoder_run.test_data().corpus)

    def change(site: str, weights: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        weights = weights.clone()
        weights[0, 1, 2] = torch.tensor(other)
        return weights

    model: Any = run.model
    with torch.no_grad():
        expected = model.changed(make_batch(batch, np.array([3])), change, ["encoder.0"])[0].softmax(-1)
    np.testing.assert_allclose(moved["probabilities"], expected.numpy(), atol=1e-5)
    assert moved["tvd"] > 1e-4
    assert state["adversary"] is None
    refused = client.post("/api/runs/0/adversary", json=where)
    assert refused.status_code == 400
    assert "last site" in refused.json()["error"]


def test_one_head_of_the_last_layer_has_an_adversary_by_search(client: TestClient) -> None:
    assert ask(client, "read", row=0, head=0)["adversary"] == "search"
    found = ask(client, "adversary", row=0, head=0)
    assert not found["exact"]
    assert found["tvd"] <= found["within_tvd"] + 1e-4


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"site": "encoder.7"}, "encoder"),
        ({"head": 2}, "head is 2"),
        ({"view": "rolout"}, "rollout"),
        ({"site": "encoder.0", "query": 1000}, "query is 1000"),
        ({"query": 0}, "leave out `query`"),
    ],
)
def test_what_is_not_there_is_refused_with_a_sentence(client: TestClient, body: dict[str, Any], words: str) -> None:
    answer = client.post("/api/runs/0/read", json={"row": 0, **body})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_measures_are_answered_at_every_site(client: TestClient) -> None:
    for site in ("encoder.0", "encoder.1"):
        tokens = ask(client, "read", row=2, site=site)["tokens"]
        for name in ("gradient", "leave-one-out", "attention-times-gradient", "integrated-gradients"):
            assert len(ask(client, "measure", row=2, site=site, measure=name)["scores"]) == len(tokens)
    assert "many layers" in ask(client, "steps", row=2)["why"]


def test_sinks_are_those_of_an_audit(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("sinks")
    run = attentest.open_run(take_pretrained(corpus_with(), save_with_sink(place / "theirs"), place / "run").path)
    app = explorer_app([run])
    client = TestClient(app)
    assert ask(client, "read", row=0)["sink"] is None  # nobody has looked for them yet
    for _ in app.state.examined[0].chunks():
        break
    assert client.get("/api/runs").json()["runs"][0]["sinks"] == ["the"]
    for special in (False, True):
        state = ask(client, "read", row=0, special=special)
        assert [token for token, sink in zip(state["tokens"], state["sink"], strict=True) if sink] == ["the"]


def test_a_text_is_read_window_by_window(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("windows")
    texts = {"text": ["good film " * 30, "a bad story", "it was fine"] * 4, "label": ["good", "bad", "good"] * 4}
    corpus = attentest.load({**texts, "split": ["test"] * 12}, name="long", split="split")
    windows = TextSettings(long="windows", stride=4)
    taken = take_pretrained(corpus, save_classifier(place / "theirs"), place / "run", text=windows)
    run = attentest.open_run(taken.path)
    client = TestClient(explorer_app([run]))
    states = [ask(client, "read", row=0)]
    states += [ask(client, "read", row=0, window=n) for n in range(1, states[0]["windows"])]
    assert len(states) > 1
    mean = np.mean([state["probabilities"] for state in states], 0)
    np.testing.assert_allclose(mean, run.predictions["probability"][0].as_py(), atol=1e-5)
    own = ask(client, "read", text=texts["text"][0], window=1)
    assert own["weights"] == states[1]["weights"]
    refused = client.post("/api/runs/0/read", json={"row": 0, "window": 99})
    assert f"is read in {len(states)}" in refused.json()["error"]


def test_requests_at_the_same_time_do_not_disturb_each_other(encoder_run: attentest.Run) -> None:
    """The network is looked into by hooks: two at once would see each other's."""
    client = TestClient(explorer_app([encoder_run]))
    wishes = [{"row": row, "site": site, "head": 0} for row in range(4) for site in ("encoder.0", "encoder.1")]
    alone = [ask(TestClient(explorer_app([encoder_run])), "read", **wish) for wish in wishes]
    found: dict[int, Any] = {}

    def read(number: int) -> None:
        wish = wishes[number]
        ask(client, "measure", **wish, measure="leave-one-out")
        found[number] = ask(client, "read", **wish)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(len(wishes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, expected in enumerate(alone):
        np.testing.assert_allclose(found[number]["weights"], expected["weights"], atol=1e-6)
        np.testing.assert_allclose(found[number]["probabilities"], expected["probabilities"], atol=1e-6)


def test_a_long_measure_gives_others_their_turn(encoder_run: attentest.Run) -> None:
    opened = Opened(encoder_run)
    reading = opened.look(Reference(row=0)).reading
    assert isinstance(reading.model, InTurns)
    passed: list[bool] = []

    def other() -> None:
        passed.append(opened.lock.acquire(timeout=30))
        opened.lock.release()

    calls = 0

    def give_way() -> None:
        """Between two calls of the model somebody else has the turn."""
        nonlocal calls
        calls += 1
        if calls == 2:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    slow: Any = InTurns(encoder_run.model, opened.lock, give_way)
    slow.encode(reading.batch)
    slow.decode(reading.encoded, slow.attend(reading.encoded))
    assert passed == [True]


def test_what_is_kept_is_bounded(encoder_run: attentest.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentest.server.explorer.opened.BYTES_KEPT", 1)
    opened = Opened(encoder_run)
    for row in range(3):
        opened.look(Reference(row=row))
    assert [looked.row for looked in opened.kept.values()] == [2]


def test_a_text_that_does_not_fit_is_refused(encoder_run: attentest.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    client = TestClient(explorer_app([encoder_run]))
    monkeypatch.setattr("attentest.memory.free_memory", lambda: 100)
    answer = client.post("/api/runs/0/read", json={"row": 0, "site": "encoder.0"})
    assert answer.status_code == 400
    assert "tokens at encoder.0" in answer.json()["error"]
