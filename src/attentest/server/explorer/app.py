"""The explorer: a page, and JSON of runs, texts, and predictions under other weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, HTTPException, Query
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, Response

from attentest.errors import InputError
from attentest.memory import out_of_memory
from attentest.server.explorer import answers
from attentest.server.explorer.asked import Measured, Reference, Weighed
from attentest.server.explorer.opened import Opened, open_runs
from attentest.server.explorer.ordering import Ordering
from attentest.server.explorer.state import state_of
from attentest.server.explorer.steps import steps_of
from attentest.server.explorer.weighing import adversary, decoded, measured
from attentest.server.pages import page, static
from attentest.server.refusals import tell_errors
from attentest.training.run import Run
from attentest.version import __version__

NO_ROOM = "There is not enough memory for this; choose a shorter text, or another measure."
FIRST = 50  # texts on the page itself, for browsers without script


def explorer_app(runs: Sequence[Run]) -> FastAPI:
    """Its `state.examined` are to be examined in the background, if anybody wants it."""
    every = open_runs(runs)
    orders = [Ordering(opened) for opened in every]
    app = FastAPI(title="attentest explorer", version=__version__, docs_url=None, redoc_url=None)
    app.state.examined = [order.examined for order in orders]
    app.include_router(static)
    tell_errors(app)
    _describe(app)

    def about() -> list[dict[str, Any]]:
        return [opened.about() | order.about() for opened, order in zip(every, orders, strict=True)]

    def checked(number: int) -> int:
        if not 0 <= number < len(every):
            raise HTTPException(404, "There is no run with this number.")
        return number

    def answered(number: int, find: Callable[[Opened], dict[str, Any]]) -> Response:
        opened = every[checked(number)]
        with opened.answering():
            try:
                return _json(find(opened))
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                raise InputError(NO_ROOM) from error

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def explorer() -> HTMLResponse:
        listed = [order.rows("", "corpus", False, 0, FIRST)["rows"] for order in orders]
        return page("explorer.html", runs=about(), texts=listed)

    @app.get("/api/runs", response_model=answers.Runs, responses=answers.REFUSALS)
    def all_runs() -> Response:
        return _json({"runs": about()})

    @app.get("/api/runs/{number}/texts", response_model=answers.Texts, responses=answers.REFUSALS)
    def texts(
        number: int,
        q: Annotated[str, Query(max_length=1000, description="words, an id or a label")] = "",
        sort: Annotated[str, Query(max_length=100)] = "corpus",
        descending: bool = False,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        return answered(number, lambda _: orders[number].rows(q, sort, descending, offset, limit))

    @app.post("/api/runs/{number}/read", response_model=answers.State, responses=answers.REFUSALS)
    def read(number: int, asked: Reference) -> Response:
        return answered(number, lambda opened: state_of(opened, number, asked))

    @app.post("/api/runs/{number}/decode", response_model=answers.Decoded, responses=answers.REFUSALS)
    def decode(number: int, asked: Weighed) -> Response:
        return answered(number, lambda opened: decoded(opened, asked))

    @app.post("/api/runs/{number}/adversary", response_model=answers.Adversary, responses=answers.REFUSALS)
    def furthest(number: int, asked: Reference) -> Response:
        return answered(number, lambda opened: adversary(opened, asked))

    @app.post("/api/runs/{number}/measure", response_model=answers.Measure, responses=answers.REFUSALS)
    def measure(number: int, asked: Measured) -> Response:
        return answered(number, lambda opened: measured(opened, asked))

    @app.post("/api/runs/{number}/steps", response_model=answers.Steps, responses=answers.REFUSALS)
    def steps(number: int, asked: Reference) -> Response:
        return answered(number, lambda opened: steps_of(opened, asked))

    return app


def _json(found: dict[str, Any]) -> Response:
    """As it is: the models of answers describe it, and tests hold it against them."""
    return Response(msgspec.json.encode(found), media_type="application/json")


def _describe(app: FastAPI) -> None:
    """The OpenAPI description, without the answer 422, which is never given: a misshapen request gets 400."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, routes=app.routes)
            for methods in found["paths"].values():
                for method in methods.values():
                    method["responses"].pop("422", None)
            for name in ("HTTPValidationError", "ValidationError"):
                found["components"]["schemas"].pop(name, None)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
