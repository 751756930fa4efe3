"""Answers under a load while the server is killed, and requests of every shape that its description allows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from annotate_scene import database_of
from benchmarks.annotate_server import made_items, made_study, served
from benchmarks.annotators import stored, under_kills

from attentest.people.answers import Answers
from attentest.people.study import Asked
from attentest.server.annotating.app import annotating_app

pytestmark = pytest.mark.slow
KILLS, ANNOTATORS = 5, 8


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database_of(request.param, tmp_path) as url:
        yield url


def test_kills_lose_and_double_nothing(tmp_path: Path, database: str) -> None:
    """`python -m benchmarks.annotators` does more of it."""
    study = made_study(tmp_path / "people", made_items(1_000, 0))
    names = [f"annotator{n}" for n in range(ANNOTATORS)]
    with served(study, ",".join(names), database) as server:
        tally = asyncio.run(under_kills(server, names, KILLS, pause=0.02))
    held = stored(study, tally, database)
    assert tally.errors == []
    assert tally.again >= KILLS
    assert (held.lost, held.doubled, held.wrong) == (0, 0, 0)
    assert held.answers == len(tally.keys) >= KILLS * ANNOTATORS


def test_no_request_breaks_the_server(tmp_path: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    from hypothesis import HealthCheck, given, settings
    from hypothesis.errors import Unsatisfiable

    study = made_study(tmp_path / "people", made_items(3, 1), Asked(True, True, True))
    answers = Answers(study.answers_url)
    headers = {"Authorization": f"Bearer {answers.enroll(['ann'])['ann']}"}
    app = annotating_app(study, answers)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    seen: dict[tuple[str, int], int] = {}
    for operation in schema.get_all_operations():
        for mode in schemathesis.GenerationMode:
            strategy = operation.ok().as_strategy(generation_mode=mode)

            @settings(
                max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
            )
            @given(case=strategy)
            def never_500(case: Any) -> None:
                for sent in ("without a token", "as made", "of a real item"):
                    if sent == "of a real item" and isinstance(case.body, dict):  # else hardly anything would be stored
                        more = {"highlighted": [0], "confidence": 3} if "relevant" in case.body else {}
                        case.body.update(item=study.items[0].id, **more)
                    answer = case.call(headers={} if sent == "without a token" else headers)
                    place = (case.path, answer.status_code)
                    seen[place] = seen.get(place, 0) + 1
                    assert answer.status_code < 500, answer.text
                    assert answer.status_code < 400 or set(answer.json()) == {"error"}

            with suppress(Unsatisfiable):  # where nothing is asked for, nothing can be wrong
                never_500()
    for path in ("/api/items", "/api/answers", "/api/undone"):
        assert seen[path, 400] > 10
        assert seen[path, 401] > 10
        assert seen[path, 200] > 0
    answers.close()
