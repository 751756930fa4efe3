"""The explorer: a page, and JSON of runs, texts, and predictions under other weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import HTMLResponse

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

FIRST = 50  # texts on the page itself, for browsers without script


def explorer_app(runs: Sequence[Run]) -> FastAPI:
    every = open_runs(runs)
    orders = [Ordering(opened) for opened in every]
    app = FastAPI(title="attentest explorer", version=__version__, docs_url=None, redoc_url=None)
    app.include_router(static)
    tell_errors(app)

    def chosen(number: int) -> Opened:
        if not 0 <= number < len(every):
            raise HTTPException(404, f"There is no run {number}.")
        return every[number]

    def under_lock(number: int, find: Callable[[Opened], dict[str, Any]]) -> dict[str, Any]:
        opened = chosen(number)
        with opened.lock:
            return find(opened)

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def explorer() -> HTMLResponse:
        listed = [order.rows("", "corpus", False, 0, FIRST)["rows"] for order in orders]
        return page("explorer.html", runs=[opened.about() for opened in every], texts=listed)

    @app.get("/api/runs")
    def all_runs() -> dict[str, Any]:
        return {"runs": [opened.about() for opened in every]}

    @app.get("/api/runs/{number}/texts")
    def texts(
        number: int,
        q: Annotated[str, Query(max_length=1000)] = "",
        sort: str = "corpus",
        descending: bool = False,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> dict[str, Any]:
        chosen(number)
        return orders[number].rows(q, sort, descending, offset, limit)

    @app.post("/api/runs/{number}/read")
    def read(number: int, asked: Reference) -> dict[str, Any]:
        return under_lock(number, lambda opened: state_of(opened, number, asked))

    @app.post("/api/runs/{number}/decode")
    def decode(number: int, asked: Weighed) -> dict[str, Any]:
        return under_lock(number, lambda opened: decoded(opened, asked))

    @app.post("/api/runs/{number}/adversary")
    def furthest(number: int, asked: Reference) -> dict[str, Any]:
        return under_lock(number, lambda opened: adversary(opened, asked))

    @app.post("/api/runs/{number}/measure")
    def measure(number: int, asked: Measured) -> dict[str, Any]:
        return under_lock(number, lambda opened: measured(opened, asked))

    @app.post("/api/runs/{number}/steps")
    def steps(number: int, asked: Reference) -> dict[str, Any]:
        return under_lock(number, lambda opened: steps_of(opened, asked))

    return app
