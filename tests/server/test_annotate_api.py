"""What annotators are told and may send: each answer is stored once, and nothing makes them less blind."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from annotate_scene import ARABIC, HOSTILE, new_database
from benchmarks.annotate_server import TEXTS, made_item, made_items, made_study
from fastapi.testclient import TestClient
from postgresql import postgresql

from attentest.people.answers import Answers, Given
from attentest.people.database import DatabaseError
from attentest.people.study import Asked, Item, PeopleStudy
from attentest.server.annotating.app import MOST_ITEMS, annotating_app
from attentest.server.annotating.door import KEPT, Door, address_bucket
from attentest.server.annotating.sent import LONGEST_COMMENT
from attentest.server.annotating.shown import Shown, shown
from attentest.server.safety import MOST_BYTES, Bucket, Safety

OTHER = "Boadicea"
KEYS = (f"key-{n:016d}" for n in itertools.count())
Response = Any  # of whichever client starlette tests with
EVERYTHING = Asked(highlight=True, confidence=True, comment=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    with postgresql() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'answers.sqlite'}"
    return new_database(request.getfixturevalue("postgresql_server"))


class Annotator:
    """Somebody with a link."""

    def __init__(self, study: PeopleStudy, answers: Answers, name: str = "ann") -> None:
        self.study, self.answers, self.name = study, answers, name
        self.token = answers.enroll([name]).get(name) or answers.new_token(name)
        self.client = TestClient(annotating_app(study, answers), raise_server_exceptions=False)

    def get(self, path: str) -> Response:
        return self.client.get(path, headers={"authorization": f"Bearer {self.token}"})

    def post(self, path: str, body: Any) -> Response:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        return self.client.post(path, content=json.dumps(body), headers=headers)

    def answer(self, item: str, relevant: bool = True, key: str | None = None, **more: Any) -> Response:
        body = {"key": key or next(KEYS), "item": item, "relevant": relevant, "milliseconds": 1234, **more}
        return self.post("/api/answers", body)

    def given(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/api/progress").json()["answers"]
        return found


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    return made_study(tmp_path / "people", made_items(4, 2))


@pytest.fixture
def ann(study: PeopleStudy, database: str) -> Iterator[Annotator]:
    answers = Answers(database)
    yield Annotator(study, answers)
    answers.close()


@pytest.fixture
def local(study: PeopleStudy) -> Iterator[Annotator]:
    """On SQLite alone, where the database makes no difference."""
    answers = Answers(study.answers_url)
    yield Annotator(study, answers)
    answers.close()


def test_an_answer_is_stored_and_told_back(ann: Annotator, study: PeopleStudy) -> None:
    first, second = (one.id for one in study.items[:2])
    assert ann.answer(first, key="k" * 16).json() == {"saved": "k" * 16, "repeated": False}
    assert ann.answer(first, key="k" * 16).json() == {"saved": "k" * 16, "repeated": True}
    for other in (ann.answer(first, False, key="k" * 16), ann.post("/api/undone", {"key": "k" * 16, "item": first})):
        assert other.status_code == 409
        assert "already saved under this key" in other.json()["error"]
    ann.answer(second, False)
    assert [(one["item"], one["relevant"], one["milliseconds"]) for one in ann.given()] == [
        (first, True, 1234),
        (second, False, 1234),
    ]
    undone = {"key": next(KEYS), "item": first}
    assert [ann.post("/api/undone", undone).json()["repeated"] for _ in range(2)] == [False, True]
    assert [one["item"] for one in ann.given()] == [second]
    assert ann.answers.table()["item"].to_pylist() == [second]


def test_the_same_answer_from_many_connections_is_one(ann: Annotator, study: PeopleStudy) -> None:
    keys = [f"{n:032d}" for n in range(10)] * 8
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda key: ann.answer(study.items[int(key) % 5].id, key=key).json(), keys))
    assert [one["saved"] for one in told] == keys
    assert sum(not one["repeated"] for one in told) == 10
    assert len(ann.given()) == 5


def test_everything_that_a_study_asks_for(tmp_path: Path, database: str) -> None:
    study = made_study(
        tmp_path / "full", [made_item(0, "original", TEXTS[0]), made_item(1, "permuted", TEXTS[1])], EVERYTHING
    )
    ann = Annotator(study, Answers(database))
    more: dict[str, Any] = {"highlighted": [3, 0, 3], "confidence": 5, "comment": f" {HOSTILE} \ud800 "}
    assert ann.answer(study.items[0].id, **more).status_code == 400  # half a character, which the page replaces
    assert ann.answer(study.items[0].id, **more | {"comment": f" {HOSTILE} "}).status_code == 200
    assert ann.answer(study.items[1].id, **more | {"comment": " "}).status_code == 200
    (row, other) = sorted(ann.answers.table().to_pylist(), key=lambda row: row["item"] != study.items[0].id)
    assert (row["highlighted"], row["confidence"]) == ([0, 3], 5)
    assert row["comment"] == HOSTILE.replace("\0", "\ufffd")
    assert other["comment"] is None
    assert {one["comment"] for one in ann.given()} == {row["comment"], None}


def test_orders_differ_and_hold_every_item(local: Annotator, study: PeopleStudy) -> None:
    bo = Annotator(study, local.answers, "bo")
    orders = [one.get("/api/progress").json()["items"] for one in (local, bo, local)]
    assert orders[0] == orders[2] != orders[1]
    assert set(orders[0]) == set(orders[1]) == set(study.by_id)
    pages = [local.get(f"/api/items?start={start}&limit=3").json() for start in range(0, 12, 3)]
    assert [one["id"] for page in pages for one in page] == orders[0]


@pytest.mark.parametrize("words", [TEXTS[2], ARABIC, HOSTILE, " 😀\n one\ttwo  three "])
@pytest.mark.parametrize("second", [None, TEXTS[0], ""])
def test_pieces_give_the_texts_again(words: str, second: str | None) -> None:
    one = made_item(0, "original", words, second)
    seen = shown(one)
    assert ["".join(pieces) for pieces in seen.texts] == [words, *([] if second is None else [second])]
    cut = [piece for pieces in seen.texts for piece in pieces[1::2]]
    assert cut == [*words.split(), *(second or "").split()]


def test_words_that_overlap_are_shown_once() -> None:
    seen = shown(replace(made_item(0, "original", "abcdef"), start=[0, 1, 2], end=[3, 2, 6]))
    assert seen.texts == [["", "abc", "", "", "", "def", ""]]


# blindness


def test_the_queue_of_a_browser_is_named_after_the_study_and_does_not_tell_its_secret(tmp_path: Path) -> None:
    """Also for the same items, as studies of other models on the same texts had them."""
    names = []
    for secret in ("one", "two"):
        study = made_study(tmp_path / secret, made_items(2, 0))
        study = replace(study, record=replace(study.record, id=secret * 8))
        answers = Answers(study.answers_url)
        names.append(Annotator(study, answers).get("/api/progress").json()["study"])
        answers.close()
        assert secret not in names[-1]
    assert names[0] != names[1]


def bytes_for(ann: Annotator) -> dict[str, bytes]:
    """Everything that an annotator can get, headers too; a route that is missing here fails the test."""
    sent = {"key": "k" * 20, "item": ann.study.items[0].id}
    asked: dict[str, list[Response]] = {
        "/": [ann.get("/")],
        "/openapi.json": [ann.get("/openapi.json")],
        "/static/{name}": [ann.get(f"/static/{name}") for name in assets_of(ann)],
        "/api/instructions": [ann.get("/api/instructions")],
        "/api/progress": [ann.get("/api/progress"), ann.client.get("/api/progress")],
        "/api/items": [ann.get("/api/items"), ann.get("/api/items?start=2&limit=2"), ann.get("/api/items?limit=0")],
        "/api/answers": [
            ann.post("/api/answers", sent | {"relevant": True, "milliseconds": 5}),
            ann.post("/api/answers", sent | {"relevant": "maybe"}),
            ann.answer("source-original-0", key="k" * 21),
            ann.answer(ann.study.items[0].id, confidence=3, key="k" * 22),
        ],
        "/api/undone": [ann.post("/api/undone", sent), ann.post("/api/undone", sent | {"item": "x"})],
        "nowhere": [ann.get("/nowhere"), ann.get("/api/report"), ann.get("/study.json"), ann.get("/static/../x")],
    }
    routes = {route.path for route in ann.client.app.routes}  # type: ignore[attr-defined]
    assert routes <= set(asked)
    return {
        f"{path} {n}": answer.content + repr(sorted(answer.headers.items())).encode()
        for path, answers in asked.items()
        for n, answer in enumerate(answers)
    }


def assets_of(ann: Annotator) -> list[str]:
    found, look = set(), ["/"]
    while look:
        text = ann.get(look.pop()).text
        for name in (part.partition('"')[0] for mark in ('"/static/', '"./') for part in text.split(mark)[1:]):
            if name not in found:
                found.add(name)
                look.append(f"/static/{name}")
    assert len(found) >= 8
    return sorted(found)


def test_nothing_that_is_sent_tells_a_secret(local: Annotator, study: PeopleStudy) -> None:
    local.answers.enroll([OTHER])
    local.answers.save(OTHER, Given(study.items[0].id, False, [1], 2, "a remark of hers", 98_765), "k")
    secrets = [
        "original",
        "permuted",
        "known",
        "truly-negative",
        OTHER,
        "a remark of hers",
        "98765",
        "run-of-m",
        "0.73",
    ]
    secrets += [one.source for one in study.items] + [str(weight) for one in study.items for weight in one.weights]
    for path, content in bytes_for(local).items():
        assert [secret for secret in secrets if secret.encode() in content] == [], path
    assert set(Shown.__annotations__) == {"id", "texts", "marked", "predicted"}
    told = local.get("/api/items").json()
    assert all(set(one) == set(Shown.__annotations__) for one in told)


def test_what_is_sent_depends_on_nothing_secret(tmp_path: Path) -> None:
    """Two studies that differ in all that annotators must not see, and in what others answered: the same bytes."""
    plain = made_items(4, 2)
    other = {"original": "known", "permuted": "original", "known": "permuted"}

    def changed(one: Item) -> Item:
        more: dict[str, Any] = {"condition": other[one.condition], "expected": True, "label": None, "source": "x"}
        return replace(one, weights=one.weights[::-1], **more)

    found = []
    for name, items in (("a", plain), ("b", [changed(one) for one in plain])):
        study = made_study(tmp_path / name, items)
        answers = Answers(study.answers_url)
        if name == "b":
            answers.enroll(["zoe"])
            for one in study.items:
                answers.save("zoe", Given(one.id, True, None, None, None, 1), one.id)
        found.append(bytes_for(Annotator(study, answers)))
        answers.close()
    assert found[0] == found[1]


def test_the_page_has_a_twin_in_json(tmp_path: Path) -> None:
    study = made_study(tmp_path / "full", made_items(2, 0), Asked(comment=True))
    ann = Annotator(study, Answers(study.answers_url))
    twin = ann.client.get("/api/instructions").json()
    assert (twin["items"], twin["marked"], twin["asked"]) == (4, 3, asdict(study.record.asked))
    page = ann.client.get("/").text
    assert twin["question"] in page
    assert f"{twin['items']} short tasks" in page
    assert ('id="comment"' in page, 'id="levels"' in page, "highlightable" in page) == (True, False, False)


# who may do what


@pytest.mark.parametrize(
    "sent", [{}, {"authorization": "Bearer x"}, {"authorization": "Basic YTpi"}, {"cookie": "t=1"}]
)
def test_without_a_token_there_is_nothing(local: Annotator, sent: dict[str, str]) -> None:
    for path, body in (("/api/progress", None), ("/api/items", None), ("/api/answers", {}), ("/api/undone", {})):
        answer = (
            local.client.get(path, headers=sent) if body is None else local.client.post(path, json=body, headers=sent)
        )
        assert answer.status_code == 401
        assert answer.json() == {"error": "This link is not valid. Open the whole link that you were given, "
                                          "or ask for a new one."}  # fmt: skip


def test_a_token_opens_for_its_annotator_alone(local: Annotator, study: PeopleStudy) -> None:
    bo = Annotator(study, local.answers, "bo")
    local.answer(study.items[0].id)
    assert (bo.given(), bo.get("/api/progress").json()["annotator"]) == ([], "bo")


def test_a_link_that_was_replaced_ends_within_seconds(local: Annotator, study: PeopleStudy) -> None:
    now = [0.0]
    local.client = TestClient(annotating_app(study, local.answers, Door(local.answers, lambda: now[0])))
    assert local.get("/api/progress").status_code == 200
    before, local.token = local.token, local.answers.new_token("ann")
    assert local.get("/api/progress").status_code == 200
    local.token, now[0] = before, KEPT
    assert local.get("/api/progress").status_code == 401
    now[0] = 0.0
    assert local.get("/api/progress").status_code == 401  # forgotten, not only out of date


@pytest.mark.parametrize(
    "wrong",
    [
        *({"item": "nosuch"}, {"item": "x" * 65}, {"item": None}, {"relevant": None}, {"relevant": "yes"}),
        *({"relevant": 1}, {"milliseconds": -1}, {"milliseconds": 2**60}, {"milliseconds": 1.5}, {"key": "short"}),
        *({"key": "k" * 65}, {"key": "../../etc/passwd/////"}, {"key": "k" * 16 + "\n"}, {"highlighted": [0]}),
        *({"confidence": 3}, {"comment": "not asked"}, {"annotator": "bo"}, {"more": 1}),
    ],
)
def test_answers_that_are_refused(local: Annotator, study: PeopleStudy, wrong: dict[str, Any]) -> None:
    right = {"key": "k" * 16, "item": study.items[0].id, "relevant": True, "milliseconds": 5}
    answer = local.post("/api/answers", right | wrong)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")
    assert local.given() == []


@pytest.mark.parametrize(
    "wrong",
    [
        *({"confidence": 0}, {"confidence": 6}, {"confidence": None}, {"confidence": "4"}, {"highlighted": None}),
        *({"highlighted": [1000]}, {"highlighted": [-1]}, {"highlighted": [1.5]}, {"highlighted": "1"}),
        *({"comment": "x" * (LONGEST_COMMENT + 1)}, {"comment": 5}),
    ],
)
def test_what_is_asked_for_is_checked(tmp_path: Path, wrong: dict[str, Any]) -> None:
    study = made_study(tmp_path / "full", made_items(1, 0), EVERYTHING)
    ann = Annotator(study, Answers(study.answers_url))
    more: dict[str, Any] = {"highlighted": [], "confidence": 3, "comment": None} | wrong
    assert ann.answer(study.items[0].id, **more).status_code == 400
    assert ann.answer(study.items[0].id, **more | {"confidence": 3, "highlighted": [], "comment": None}).is_success


@pytest.mark.parametrize("path", ["/api/items?start=-1", "/api/items?start=x", f"/api/items?limit={MOST_ITEMS + 1}"])
def test_parts_that_cannot_be(local: Annotator, path: str) -> None:
    assert local.get(path).status_code == 400
    assert local.get("/api/items?start=2147483648").json() == []


def test_only_own_pages_write_and_only_under_the_own_name(local: Annotator, study: PeopleStudy) -> None:
    safe = TestClient(Safety(local.client.app, ["here:80"], address_bucket()), base_url="http://here:80")
    right = json.dumps({"key": "k" * 16, "item": study.items[0].id, "relevant": True, "milliseconds": 5})
    own = {"authorization": f"Bearer {local.token}", "content-type": "application/json", "host": "here:80"}
    for more, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"host": "evil.example"}, 400),
        ({"content-length": str(MOST_BYTES + 1)}, 413),
        ({"origin": "http://here:80", "sec-fetch-site": "same-origin"}, 200),
    ):
        answer = safe.post("/api/answers", content=right, headers=own | more)
        assert answer.status_code == status, more
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert len(local.given()) == int(status == 200)


def test_a_limit_for_each_annotator_not_for_an_address(
    local: Annotator, study: PeopleStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = [0.0]
    monkeypatch.setattr(
        "attentest.server.annotating.door.Bucket", lambda **_: Bucket(most=3, per_second=1, clock=lambda: time[0])
    )
    local.client = TestClient(annotating_app(study, local.answers))
    bo = Annotator(study, local.answers, "bo")
    bo.client = local.client
    assert [local.get("/api/progress").status_code for _ in range(5)] == [200] * 3 + [429] * 2
    assert bo.get("/api/progress").status_code == 200
    time[0] = 1.0
    assert [local.get("/api/progress").status_code for _ in range(2)] == [200, 429]


def test_fifty_behind_one_address_are_not_too_many() -> None:
    time = [0.0]
    door = address_bucket()
    door.clock = lambda: time[0]
    for second in range(60):
        time[0] = float(second)
        assert all(door.takes("10.0.0.1") for _ in range(50 * 10))


def test_a_database_that_fails_is_no_concern_of_annotators(
    local: Annotator, study: PeopleStudy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise DatabaseError("/srv/people/answers.sqlite cannot be used: disk full.")

    monkeypatch.setattr(local.answers, "save", fails)
    answer = local.answer(study.items[0].id)
    assert (answer.status_code, "/srv" in answer.text, "disk full" in answer.text) == (503, False, False)
    assert "disk full" in caplog.text
    assert local.token not in caplog.text


def test_only_named_assets_are_served(local: Annotator) -> None:
    for name in ("annotate.js", "annotate.css", "report.css", "dom.js"):
        assert local.client.get(f"/static/{name}").status_code == 200
    for name in ("annotate.html", "explorer.js", "annotate.py", "annotate%2f..%2f..%2fapp.py", "..%2fpages.py"):
        assert local.client.get(f"/static/{name}").status_code == 404
