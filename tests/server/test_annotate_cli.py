"""attentest annotate serve: links for those who are new, and messages for what cannot be."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
import httpx
from benchmarks.annotate_server import made_items, made_study, served
from postgresql import free_port
from program import Program

from attentest.people.answers import Answers
from attentest.people.study import PeopleStudy
from attentest.server.safety import Safety


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    return made_study(tmp_path / "people", made_items(2, 0))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Safety]:
    """Servers that would run: the command returns at once."""
    found: list[Safety] = []

    def run(app: Any, listening: socket.socket) -> None:
        found.append(app)
        listening.close()

    monkeypatch.setattr("attentest.server.serving.run_server", run)
    return found


def links(out: str) -> dict[str, str]:
    lines = (line.strip().partition(": ") for line in out.splitlines()[1:])
    return {name: link for name, _, link in lines}


def test_links_are_told_once_and_stay_valid(study: PeopleStudy, command: Program, started: list[Safety]) -> None:
    serve = ("annotate", "serve", study.folder, "--port", "0")
    first = command(*serve, "--annotators", "ann, bo,ann")
    assert first.code == 0
    assert first.out.startswith("4 items at http://127.0.0.1:")
    told = links(first.out)
    assert list(told) == ["ann", "bo"]
    tokens = {name: link.partition("/#")[2] for name, link in told.items()}
    answers = Answers(study.answers_url)
    assert {name: answers.annotator_of(token) for name, token in tokens.items()} == {"ann": "ann", "bo": "bo"}

    again = links(command(*serve, "--annotators", "ann,cy").out)
    assert again["ann"] == "the link from before (another one: --new-links ann)"
    assert again["bo"] == again["ann"].replace(" ann)", " bo)")
    assert answers.annotator_of(again["cy"].partition("/#")[2]) == "cy"
    assert answers.annotator_of(tokens["ann"]) == "ann"

    new = json.loads(command(*serve, "--new-links", "ann", "--json").out)
    assert (new["items"], new["links"]["bo"]) == (4, None)
    assert answers.annotator_of(new["links"]["ann"].partition("/#")[2]) == "ann"
    assert answers.annotator_of(tokens["ann"]) is None
    answers.close()
    assert len(started) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Nobody can answer yet; name the annotators with --annotators, e.g. ann,bo."),
        (("--annotators", "ann,,bo"), "cannot be an annotator's name"),
        (("--annotators", "ann\x1b[31m"), "cannot be an annotator's name"),
        (("--annotators", "ann", "--new-links", "zoe"), "There is no annotator 'zoe' yet"),
        (("--annotators", "ann", "--host", "0.0.0.0"), "also say with --address how annotators reach"),
        (("--annotators", "ann", "--host", "nosuch.invalid"), "cannot be served"),
        (("--annotators", "ann", "--port", "70000"), "port is 70000; expected 0 to 65535."),
        (("--annotators", "ann", "--address", "study.example.org"), "expected http://NAME:PORT or https://NAME."),
        (("--annotators", "ann", "--address", "https://a.example/path"), "expected http://NAME:PORT or https://NAME."),
        (("--annotators", "ann", "--address", "http://a:b:c"), "expected http://NAME:PORT or https://NAME."),
        (("--annotators", "ann", "--database", "mysql://h/d"), "expected sqlite:///FILE or postgresql://"),
    ],
)
def test_what_cannot_be_served(
    study: PeopleStudy, command: Program, started: list[Safety], options: tuple[str, ...], message: str
) -> None:
    port = () if "--port" in options else ("--port", "0")
    found = command("annotate", "serve", study.folder, *port, *options)
    assert found.code == 2
    assert message in found.err
    assert started == []
    if (study.folder / "answers.sqlite").exists():  # nobody was given a link that was never told
        assert Answers(study.answers_url).annotators() == []


def test_a_folder_that_is_no_study(tmp_path: Path, command: Program, started: list[Safety]) -> None:
    found = command("annotate", "serve", tmp_path, "--annotators", "ann")
    assert found.code == 2
    assert "is not a study with people" in found.err


def test_a_database_of_another_study(
    study: PeopleStudy, tmp_path: Path, command: Program, started: list[Safety]
) -> None:
    command("annotate", "serve", study.folder, "--annotators", "ann", "--port", "0")
    other = made_study(tmp_path / "other", made_items(3, 0))
    found = command("annotate", "serve", other.folder, "--database", study.answers_url, "--annotators", "bo")
    assert found.code == 2
    assert "holds the answers of another study" in found.err


@pytest.mark.parametrize(
    ("address", "start", "host"),
    [
        ("https://Study.example.org/", "https://study.example.org/#", "study.example.org"),
        ("https://study.example.org:443", "https://study.example.org/#", "study.example.org"),
        ("http://192.168.0.10:8000", "http://192.168.0.10:8000/#", "192.168.0.10:8000"),
        ("http://[fd00::1]:8000", "http://[fd00::1]:8000/#", "[fd00::1]:8000"),
    ],
)
def test_an_address_of_its_own(
    study: PeopleStudy, command: Program, started: list[Safety], address: str, start: str, host: str
) -> None:
    told = command("annotate", "serve", study.folder, "--annotators", "ann", "--address", address, "--port", "0")
    assert links(told.out)["ann"].startswith(start)
    assert host in started[0].hosts


def test_a_real_server_tells_no_token_but_in_links(study: PeopleStudy) -> None:
    port = free_port()
    command = [sys.executable, "-m", "attentest", "annotate", "serve", str(study.folder), "--annotators", "ann"]
    process = subprocess.Popen(
        [*command, "--json", "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stdout is not None
    token = json.loads(process.stdout.readline())["links"]["ann"].partition("#")[2]
    for path, sent in (("/api/progress", token), ("/api/progress", "wrong-token"), (f"/x?{token}", token), ("/", "-")):
        headers = {"authorization": f"Bearer {sent}"}
        answer = httpx.get(f"http://127.0.0.1:{port}{path}", headers=headers, timeout=60, trust_env=False)
        assert token not in answer.text
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert out == ""
    assert err == "attentest: Terminated.\n"
    assert process.returncode == 128 + 15


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_answers_are_in_one_file_after_the_end(study: PeopleStudy, tmp_path: Path, number: int) -> None:
    with served(study, "ann") as server:
        headers = {"authorization": f"Bearer {server.token('ann')}"}
        for item in study.items:
            sent = {"key": f"key-of-{item.id}", "item": item.id, "relevant": True, "milliseconds": 900}
            url = f"http://127.0.0.1:{server.port}/api/answers"
            assert httpx.post(url, json=sent, headers=headers, timeout=60, trust_env=False).status_code == 200
        assert server.process is not None
        server.process.send_signal(number)
        assert server.process.wait(60) == 128 + number
    assert not (study.folder / "answers.sqlite-wal").exists()
    shutil.copy(study.folder / "answers.sqlite", tmp_path / "copy.sqlite")
    assert Answers(f"sqlite:///{tmp_path}/copy.sqlite").counts() == {"ann": len(study.items)}


def test_who_was_imported_has_no_link_yet(
    study: PeopleStudy, tmp_path: Path, command: Program, started: list[Safety]
) -> None:
    (tmp_path / "a.csv").write_text(f"annotator,item,relevant\nbo,{study.items[0].id},yes\n")
    command("annotate", "import", study.folder, tmp_path / "a.csv")
    serve = ("annotate", "serve", study.folder, "--port", "0")
    told = links(command(*serve, "--annotators", "ann").out)
    assert told["bo"] == "no link yet (--new-links bo)"
    assert "/#" in links(command(*serve, "--new-links", "bo").out)["bo"]
    assert links(command(*serve).out)["bo"].startswith("the link from before")


def test_links_outlive_a_kill(study: PeopleStudy) -> None:
    with served(study, "ann") as server:
        before = dict(server.links)
        server.kill()
        server.start()
        assert server.links == before
        headers = {"authorization": f"Bearer {server.token('ann')}"}
        told = httpx.get(f"http://127.0.0.1:{server.port}/api/progress", headers=headers, timeout=60, trust_env=False)
        assert told.json()["annotator"] == "ann"
