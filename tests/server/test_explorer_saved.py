"""The file that a state is saved as: all of it in one place, and nothing in it that a text could change."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

import attentest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from fastapi.testclient import TestClient

from attentest.reports.parts.modules import in_order
from attentest.server.explorer.app import explorer_app
from attentest.server.pages import assets

HOSTILE = '</script><script>window.hacked = 1</script><!-- <img src=x onerror="window.hacked = 1"> {{ 7 * 7 }}'


@pytest.fixture(scope="module")
def client(run: attentest.Run) -> TestClient:
    return TestClient(explorer_app([run]))


def saved(client: TestClient, **pane: Any) -> str:
    answer = client.post("/api/save", json={"panes": [pane]})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def island(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="saved">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found.group(1))
    return content


def test_the_file_holds_the_state(client: TestClient) -> None:
    (pane,) = island(saved(client, row=3, measures=["gradient", "gradient"], packed="0*0.5", step=2))["panes"]
    assert pane["state"] == client.post("/api/runs/0/read", json={"row": 3}).json()
    measured = client.post("/api/runs/0/measure", json={"row": 3, "measure": "gradient"}).json()
    assert pane["scores"] == {"gradient": measured["scores"]}
    assert pane["adversary"] == client.post("/api/runs/0/adversary", json={"row": 3}).json()
    assert pane["steps"] == client.post("/api/runs/0/steps", json={"row": 3}).json()
    assert pane["wish"]["packed"] == "0*0.5"
    assert pane["wish"]["step"] == 2


def test_no_text_ends_an_element_or_becomes_one(client: TestClient) -> None:
    page = saved(client, text=HOSTILE)
    assert island(page)["panes"][0]["state"]["text"] == HOSTILE
    assert page.count("<script") == 3  # the two that run, and the island
    assert "<img" not in page
    assert "49" not in page.replace(HOSTILE, "")[:200]


def test_only_our_scripts_and_style_count(client: TestClient) -> None:
    page = saved(client, row=0)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = policy.group(1).replace("&#39;", "'")
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    for kind in ("script", "style"):
        for content in re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL):
            hashed = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{hashed}'" in allowed


def test_nothing_is_linked_or_imported(client: TestClient) -> None:
    page = saved(client, row=0)
    assert not re.search(r"^(import|export) ", page, re.MULTILINE)
    assert not re.search(r'(src|href)="', page)


@pytest.mark.parametrize(
    "body",
    [
        *(
            {},
            {"panes": []},
            {"panes": [{"row": 0}] * 3},
            {"panes": [{"row": 0, "run": 1}]},
            {"panes": [{"row": 10**6}]},
        ),
        *({"panes": [{}]}, {"panes": [{"row": 0, "more": 1}]}, {"panes": [{"row": 0, "measures": ["nothing"]}]}),
        *({"panes": [{"row": 0, "packed": "0" * 500_001}]}, {"panes": [{"row": 0}], "path": "/etc/passwd"}),
    ],
)
def test_other_requests_are_refused_with_a_sentence(client: TestClient, body: object) -> None:
    answer = client.post("/api/save", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_names_of_modules_do_not_meet_in_one_file() -> None:
    """The file has all modules in one function: a name that two of them declare would keep it from running."""
    declared = [
        name
        for module in in_order("explorer.js", assets())
        for name in re.findall(r"^(?:export )?(?:const|let|class|function) (\w+)", assets()[module], re.MULTILINE)
    ]
    assert len(declared) > 40
    assert len(declared) == len(set(declared))


def test_modules_come_after_what_they_import() -> None:
    order = in_order("explorer.js", assets())
    assert order[-1] == "explorer.js"
    for place, name in enumerate(order):
        imported = re.findall(r'from "\./([\w.]+)"', assets()[name])
        assert all(one in order[:place] for one in imported), name
