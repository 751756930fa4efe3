"""What the list of texts is sorted by: the trials' own figures, found in the background or stored, and never in the way
of requests."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_kinds import run_of

import attentest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from fastapi.testclient import TestClient

from attentest.audits import Audit
from attentest.server.explorer import answers
from attentest.server.explorer.app import explorer_app
from attentest.server.explorer.background import examining
from attentest.server.explorer.examined import ADVERSARY, DISAGREEMENT, Examined
from attentest.server.explorer.opened import Opened
from attentest.server.explorer.stored import COLUMNS
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.correlation import Correlation
from attentest.trials.hold import hold
from attentest.trials.subject import subject_of


def finished(run: attentest.Run) -> Examined:
    examined = Examined(Opened(run))
    for _ in examined.chunks():
        pass
    return examined


def by_trials(run: attentest.Run, *names: str) -> dict[str, np.ndarray]:
    """What the two trials say, in the order of the test split; nothing is stored."""
    trials = {ADVERSARY: InstanceAdversary(), DISAGREEMENT: Correlation(measures=("leave-one-out",))}
    chosen = {name: one for name, one in trials.items() if name in (names or trials)}
    found = hold(list(chosen.values()), replace(subject_of(run), folder=None))
    columns = {name: COLUMNS[one.name] for name, one in chosen.items()}
    tables = {
        name: one.table[columns[name]].to_numpy(zero_copy_only=False) for name, one in zip(chosen, found, strict=True)
    }
    return {name: (values if name == ADVERSARY else 1 - values).astype(float) for name, values in tables.items()}


@pytest.mark.parametrize("kind", ["bilstm", "pair", "hierarchical", "sparse"])
def test_figures_are_those_of_the_trials(kind: str) -> None:
    run = run_of(kind)
    examined, expected = finished(run), by_trials(run)
    for name, values in expected.items():
        np.testing.assert_allclose(examined.values[name], values, atol=1e-5)
        assert examined.progress(name) == {"done": len(values), "of": len(values)}


def test_a_pretrained_encoder_says_why_it_has_no_adversaries(encoder_run: attentest.Run) -> None:
    client = TestClient(explorer_app([encoder_run]))
    (about,) = client.get("/api/runs").json()["runs"]
    assert ADVERSARY not in about["sorts"]
    assert DISAGREEMENT in about["sorts"]
    assert "attentest trial adversary" in about["not_sorted"][ADVERSARY]
    refused = client.get("/api/runs/0/texts?sort=adversary")
    assert refused.status_code == 400
    assert refused.json()["error"] == about["not_sorted"][ADVERSARY]
    examined, expected = finished(encoder_run), by_trials(encoder_run, DISAGREEMENT)
    np.testing.assert_allclose(examined.values[DISAGREEMENT], expected[DISAGREEMENT], atol=1e-5)


def test_what_a_trial_has_stored_is_read(encoder_run: attentest.Run, tmp_path: Path) -> None:
    run = attentest.open_run(shutil.copytree(encoder_run.path, tmp_path / "run"))
    finding = run.trial("adversary", texts=3, device="cpu", k=1, steps=5)
    examined = Examined(Opened(attentest.open_run(run.path)))
    assert not examined.why
    ids = run.predictions["id"].to_pylist()
    for row in finding.table.to_pylist():
        found = examined.values[ADVERSARY][ids.index(row["id"])]
        assert found == pytest.approx(row["max_jsd"], abs=1e-9, nan_ok=True)
    assert examined.progress(ADVERSARY)["done"] == 3


def test_findings_with_another_constraint_or_of_another_model_are_not_read(
    own_run: attentest.Run, sibling: attentest.Run
) -> None:
    own_run.trial("adversary", epsilon=0.2)
    assert not Examined(Opened(own_run)).known[ADVERSARY].any()
    own_run.trial("adversary")
    assert Examined(Opened(own_run)).known[ADVERSARY].all()
    shutil.copytree(own_run.path / "trials", own_run.path.parent / "other" / "trials")
    other = shutil.copytree(sibling.path, own_run.path.parent / "other", dirs_exist_ok=True)
    assert not Examined(Opened(attentest.open_run(other))).known[ADVERSARY].any()


def test_a_damaged_finding_is_worked_out_again(own_run: attentest.Run) -> None:
    own_run.trial("adversary")
    (own_run.path / "trials" / "adversary" / "finding.json").write_text("{")
    examined = finished(own_run)
    assert examined.known[ADVERSARY].all()


@pytest.mark.slow
def test_the_figures_of_an_audit_are_read_from_its_folder(audited: Audit) -> None:
    run = attentest.open_run(audited.folder)
    examined, expected = Examined(Opened(run)), by_trials(run)
    for name, values in expected.items():
        there = examined.known[name]
        assert there.sum() >= 20
        np.testing.assert_allclose(examined.values[name][there], values[there], atol=1e-5)


def test_requests_are_answered_while_texts_are_examined_and_figures_come_in(run: attentest.Run) -> None:
    app = explorer_app([run])
    client = TestClient(app)
    with examining(app.state.examined) as thread:
        seen = []
        while thread.is_alive():
            seen.append(client.get("/api/runs/0/texts?sort=adversary&descending=true").json()["ordering"]["done"])
            assert client.post("/api/runs/0/read", json={"row": 0}).status_code == 200
        thread.join()
    assert seen == sorted(seen)
    found = client.get("/api/runs/0/texts?sort=adversary&descending=true&limit=500").json()
    answers.Texts.model_validate(found)
    assert found["ordering"]["done"] == found["ordering"]["of"] == found["total"]
    distances = [row["adversary"] for row in found["rows"]]
    assert distances == sorted(distances, reverse=True)
    least = client.get("/api/runs/0/texts?sort=disagreement&limit=500").json()["rows"]
    known = [row["disagreement"] for row in least if row["disagreement"] is not None]
    assert known == sorted(known)
    assert [row["disagreement"] for row in least[: len(known)]] == known  # what is not known comes last


def test_work_in_the_background_waits_for_requests(run: attentest.Run) -> None:
    opened = Opened(run)
    examined = Examined(opened)
    waited: list[int] = []

    def sleep(_: float) -> None:
        waited.append(opened.asking)
        opened.asking = 0  # the request is answered

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("attentest.server.explorer.examined.time.sleep", sleep)
        opened.asking = 1
        next(examined.chunks())
    assert waited == [1]


def test_a_model_that_fails_leaves_a_sentence(run: attentest.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise RuntimeError("no memory left\nat all")

    monkeypatch.setattr("attentest.server.explorer.examined._disagreement", fail)
    examined = finished(run)
    assert examined.why[DISAGREEMENT] == "It could not be computed for all texts: no memory left"


def test_words_ids_and_labels_are_found(run: attentest.Run) -> None:
    client = TestClient(explorer_app([run]))
    stored = run.predictions.to_pylist()

    def rows(q: str) -> list[int]:
        answer = client.get("/api/runs/0/texts", params={"q": q, "limit": 500}).json()
        assert answer["total"] == len(answer["rows"])
        return [row["row"] for row in answer["rows"]]

    first, second = stored[3]["text"].split()[:2]
    both = [
        n
        for n, row in enumerate(stored)
        if all(w in f"{row['id']} {row['label']} {row['text']}" for w in (first, second))
    ]
    assert rows(f"  {second.upper()} {first}") == both  # in any order
    assert 3 in rows(stored[3]["id"])
    assert rows("class 1") == [
        n
        for n, row in enumerate(stored)
        if "class" in f"{row['label']} {row['text']}" and "1" in f"{row['id']} {row['label']} {row['text']}"
    ]
    assert rows("no such word anywhere") == []
    assert rows("") == list(range(len(stored)))
