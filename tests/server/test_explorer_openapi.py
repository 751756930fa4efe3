"""The explorer's OpenAPI description: complete, and true of what drawn requests are answered with."""

from __future__ import annotations

from typing import Any

import pytest
from explorer_kinds import run_of

import attentest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("schemathesis")
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from attentest.server.explorer.answers import About, Problem, Row, State
from attentest.server.explorer.app import explorer_app
from attentest.server.safety import Bucket, Safety

MOST = {"row": 12, "head": 3, "query": 12, "window": 2}


def app_of(*runs: attentest.Run) -> Any:
    return explorer_app(list(runs))


def described() -> dict[str, Any]:
    found: dict[str, Any] = TestClient(app_of(run_of("average"))).get("/openapi.json").json()
    return found


def test_every_page_has_a_twin_in_json() -> None:
    client = TestClient(app_of(run_of("average"), run_of("pair")))
    page = client.get("/").text
    for number, about in enumerate(client.get("/api/runs").json()["runs"]):
        assert set(about) == set(About.model_fields)
        assert about["name"] in page
        for row in client.get(f"/api/runs/{number}/texts").json()["rows"]:
            assert set(row) == set(Row.model_fields)
            assert row["start"] in page


def test_answers_and_refusals_are_described() -> None:
    description = described()
    assert set(description["paths"]) >= {
        "/api/runs",
        *(f"/api/runs/{{number}}/{name}" for name in ("texts", "read", "decode", "adversary", "measure", "steps")),
    }
    for path, methods in description["paths"].items():
        if "{number}" not in path:
            continue
        for method in methods.values():
            assert {"200", "400", "404", "413", "429"} <= set(method["responses"])
            assert "422" not in method["responses"]
            refused = method["responses"]["400"]["content"]["application/json"]["schema"]
            assert refused["$ref"].endswith(f"/{Problem.__name__}")
    assert set(description["components"]["schemas"]["State"]["properties"]) == set(State.model_fields)


@pytest.fixture(scope="module")
def schema(encoder_run: attentest.Run) -> Any:
    """Behind the guard, as it is served; but for the rate, which requests as fast as these would be over."""
    app = Safety(app_of(run_of("bilstm"), encoder_run), ["testserver"], Bucket(most=1e9))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("name", ["runs", "texts", "read", "decode", "adversary", "measure", "steps"])
def test_no_drawn_request_breaks_the_server(schema: Any, name: str, mode: GenerationMode) -> None:
    """Of requests as they are described, and of others."""
    path = "/api/runs" if name == "runs" else f"/api/runs/{{number}}/{name}"
    operation = schema[path]["GET" if name in ("runs", "texts") else "POST"]
    if name == "runs" and mode is GenerationMode.NEGATIVE:
        pytest.skip("there is nothing to get wrong")

    reached: set[int] = set()

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=100, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def is_answered_as_described(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and name != "runs":
            nearer(case)
        response = case.call()
        reached.add(response.status_code)
        # a description cannot say which rows, sites and names there are, so not all that it allows is accepted; and a
        # large request is refused before anybody looks at what is wrong with it
        others = [negative_data_rejection] if response.status_code == 413 else []
        case.validate_response(response, excluded_checks=[positive_data_acceptance, *others])

    is_answered_as_described()
    assert mode is GenerationMode.NEGATIVE or name == "measure" or 200 in reached  # no name of one is drawn


def nearer(case: Any) -> None:
    """To what there is: texts of the first run, and texts, heads and tokens of the second."""
    case.path_parameters["number"] %= 2
    if not isinstance(case.body, dict) or not isinstance(case.body.get("row"), int):
        return
    wanted = ("row", "measure", "weights", *(MOST if case.path_parameters["number"] else ()))
    found = {name: case.body[name] for name in wanted if case.body.get(name) is not None}
    case.body = {name: value % MOST[name] if name in MOST else value for name, value in found.items()}
    if "weights" in found:
        case.body["weights"] = [1.0] * len(run_of("bilstm").attention["token"][case.body["row"]])
