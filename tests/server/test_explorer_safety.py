"""What the explorer's server lets through, and what it says to browsers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

import attentest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from fastapi.testclient import TestClient

from attentest.server.explorer.app import explorer_app
from attentest.server.safety import HEADERS, MOST_BYTES, Bucket, Safety, hosts_of

HERE = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def app(run: attentest.Run) -> Any:
    return explorer_app([run])


@pytest.fixture
def client(app: Any) -> TestClient:
    return served(app, "127.0.0.1")


def served(app: Any, host: str, bucket: Bucket | None = None) -> TestClient:
    safe = Safety(app, hosts_of(host, 8000), bucket)
    return TestClient(safe, base_url=HERE, raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("bound", "allowed", "refused"),
    [
        (
            "127.0.0.1",
            ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000"],
            ["127.0.0.1", "localhost:80", "[::1]:8000"],
        ),
        ("::1", ["[::1]:8000", "localhost:8000"], ["127.0.0.1:8000"]),
        ("localhost", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"], ["192.168.0.7:8000"]),
        ("192.168.0.7", ["192.168.0.7:8000", f"{socket.gethostname()}:8000"], ["127.0.0.1:8000", "192.168.0.8:8000"]),
        (
            "0.0.0.0",
            ["192.168.0.7:8000", "[fe80::1]:8000", "localhost:8000", f"{socket.gethostname()}:8000"],
            ["192.168.0.7", "192.168.0.7:80", "1.2.3:8000"],
        ),
        ("::", ["[fe80::1]:8000", "10.0.0.1:8000", "localhost:8000"], ["[fe80::1:8000", "fe80::1::8000"]),
    ],
)
def test_only_its_own_names_are_answered(app: Any, bound: str, allowed: list[str], refused: list[str]) -> None:
    client = served(app, bound)
    always = [
        "evil.example:8000",
        "evil.example",
        "127.0.0.1.evil.example:8000",
        "",
        "*:8000",
        "127.0.0.1:8000@evil.example",
    ]
    for host in allowed:
        assert client.get("/api/runs", headers={"host": host}).status_code == 200, host
    for host in (*refused, *always):
        assert client.get("/api/runs", headers={"host": host}).status_code == 421, host


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": HERE}, 200),
        ({"sec-fetch-site": "same-origin", "origin": HERE}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_only_its_own_pages_may_send(client: TestClient, headers: dict[str, str], status: int) -> None:
    sent = client.post(
        "/api/runs/0/read", content=b'{"row": 0}', headers={"content-type": "application/json", **headers}
    )
    assert sent.status_code == status


def test_large_bodies_are_refused_whether_they_say_it_or_not(client: TestClient) -> None:
    def pieces(count: int) -> Iterator[bytes]:
        yield b'{"row": 0, "text": "'
        for _ in range(count):
            yield b"a" * 1000
        yield b'"}'

    kind = {"content-type": "application/json"}
    told = client.post("/api/runs/0/read", content=b"a" * (MOST_BYTES + 1), headers=kind)
    untold = client.post("/api/runs/0/read", content=pieces(MOST_BYTES // 1000), headers=kind)
    for answer in (told, untold):
        assert answer.status_code == 413
        assert "at most 1,000,000 bytes" in answer.json()["error"]
    assert "content-length" not in untold.request.headers
    small = client.post("/api/runs/0/read", content=pieces(2), headers=kind)
    assert small.status_code == 400  # read, and refused for what it says
    assert "row" in small.json()["error"]
    wrong = client.post("/api/runs/0/read", content=b"{}", headers={**kind, "content-length": "-2"})
    assert wrong.status_code == 413


def test_too_many_requests_are_refused_until_time_has_passed(app: Any) -> None:
    now = 0.0
    client = served(app, "127.0.0.1", Bucket(most=3, per_second=1, clock=lambda: now))
    assert [client.get("/api/runs").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    now = 2.0
    assert [client.get("/api/runs").status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/static/explorer.js", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/api/runs/0/texts?limit=0", 400),
        ("GET", "/api/runs/x/texts", 400),
        ("GET", f"/api/runs/{'9' * 5000}/texts", 400),
        ("GET", "/api/runs/-1/texts", 404),
        ("GET", "/nothing", 404),
        ("GET", "/static/../app.py", 404),
        ("GET", "/static/..%2f..%2fpages.py", 404),
        ("GET", "/static/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/docs", 404),
        ("DELETE", "/api/runs", 405),
        ("GET", "/api/runs/0/read", 405),
        ("OPTIONS", "/api/runs", 405),
    ],
)
def test_every_answer_has_the_policy_and_every_refusal_a_sentence(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path, headers={"content-type": "application/json"})
    assert answer.status_code == status
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    if status >= 400:
        assert answer.headers["content-type"] == "application/json"
        error = answer.json()["error"]
        assert error.endswith(".")
        assert " " in error


def test_what_goes_wrong_inside_is_a_sentence_too(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("attentest.server.explorer.app.state_of", fail)
    answer = client.post("/api/runs/0/read", json={"row": 0})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["error"].startswith("Something went wrong")
    assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"row": ' + b"9" * 5000 + b"}",
        b'{"row": 1e999}',
        b'{"text": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"row": 0, "site": "\\udfff"}',
        b"\xff\xfe",
        b'{"row": NaN}',
    ],
)
def test_misshapen_bodies_are_refused_with_a_sentence(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/runs/0/read", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 400)
    if answer.status_code == 400:
        assert answer.json()["error"]


def test_too_little_memory_is_a_sentence(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr("attentest.server.explorer.app.measured", fail)
    answer = client.post("/api/runs/0/measure", json={"row": 0, "measure": "lime"})
    assert answer.status_code == 400
    assert "not enough memory" in answer.json()["error"]
