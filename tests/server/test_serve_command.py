"""`attentest serve`: what it opens and refuses, and that it writes nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from program import Program

import attentest
from attentest.audits import Audit

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would be served: nobody waits for requests."""
    found: list[Any] = []

    def serve(app: Any, listening: socket.socket) -> None:
        found.append(app)
        listening.close()

    monkeypatch.setattr("attentest.server.serving.run_server", serve)
    return found


def files_of(folder: Path) -> dict[str, tuple[str, int]]:
    every = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in every}


def test_runs_are_opened(command: Program, served: list[Any], run: attentest.Run, sibling: attentest.Run) -> None:
    answer = command("serve", run.path, sibling.path, "--port", 0)
    assert answer.code == 0
    assert "The explorer is at http://127.0.0.1:" in answer.err + answer.out
    assert len(served) == 1


@pytest.mark.slow
def test_the_folder_of_an_audit_is_opened(command: Program, served: list[Any], audited: Audit) -> None:
    assert command("serve", audited.folder, "--port", 0).code == 0
    assert len(served) == 1


def test_what_is_no_finished_run_is_refused(
    command: Program, served: list[Any], own_run: attentest.Run, run: attentest.Run, tmp_path: Path
) -> None:
    (own_run.path / "result.json").unlink()
    (tmp_path / "empty").mkdir()
    (tmp_path / "translation").mkdir()
    shutil.copy(run.path / "run.json", tmp_path / "translation" / "translation.json")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "summary.json").write_text('{"kind": "study"}')
    for given, words in {
        (own_run.path,): "is not finished",
        (tmp_path / "nowhere",): "no such run folder",
        (tmp_path / "empty",): "not the folder of a run",
        (tmp_path / "translation",): "is a translation run",
        (tmp_path / "study",): "a study or a comparison",
        (run.path, tmp_path / "nowhere"): "no such run folder",
        (run.path, run.path, run.path): "3 runs were given",
        (run.path, "--port", 70_000): "port is 70000",
        (run.path, "--host", "no.such.host.invalid"): "cannot be served",
        (run.path, "--device", "tpu"): "not known",
        (run.path, "--dtype", "bfloat16"): "no pretrained encoder",
    }.items():
        answer = command("serve", "--port", 0, *given)
        assert answer.code == 2, given
        assert words in " ".join(answer.err.split()), given
    assert not served


def test_a_port_that_is_taken_is_a_sentence(command: Program, run: attentest.Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = command("serve", run.path, "--port", taken.getsockname()[1])
    assert answer.code == 2
    assert "Choose another --port" in " ".join(answer.err.split())


@pytest.fixture
def address(own_run: attentest.Run) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    program = [sys.executable, "-m", "attentest.cli", "serve", str(own_run.path), "--port", "0"]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet, cwd=own_run.path.parent
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield line.split(" is at ")[1].split()[0], process
        finally:
            process.kill()


@pytest.mark.slow
def test_a_session_writes_nothing_and_ends_with_a_signal(
    address: tuple[str, subprocess.Popen[str]], own_run: attentest.Run
) -> None:
    place, process = address
    before = files_of(own_run.path.parent)
    with httpx.Client(base_url=place, timeout=60) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "server" not in page.headers
        asked: dict[str, dict[str, Any]] = {
            "read": {},
            "decode": {"weights": [1.0] * len(own_run.attention["token"][0])},
            "adversary": {},
            "measure": {"measure": "leave-one-out"},
            "steps": {},
        }
        for what, more in asked.items():
            assert client.post(f"/api/runs/0/{what}", json={"row": 0, **more}).status_code == 200
        assert client.post("/api/runs/0/read", json={"text": "of my own"}).status_code == 200
        while True:  # until every text was examined
            known = client.get("/api/runs/0/texts?sort=disagreement").json()["ordering"]
            if known["done"] == known["of"]:
                break
            time.sleep(0.1)
        assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert files_of(own_run.path.parent) == before
