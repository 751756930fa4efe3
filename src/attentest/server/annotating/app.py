"""Annotating: a page, and JSON of items and of an annotator's own answers.

Nothing that is sent depends on anybody else's answers, and of an item only `Shown` is sent.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from attentest.errors import InputError
from attentest.people.answers import Answers, KeyUsedError
from attentest.people.database import DatabaseError
from attentest.people.order import order_for
from attentest.people.study import MARKED, Item, PeopleStudy
from attentest.server.annotating.door import Door
from attentest.server.annotating.sent import LONGEST_COMMENT, SentAnswer, SentUndo, given_of
from attentest.server.annotating.shown import Shown, shown
from attentest.server.pages import asset, page
from attentest.server.refusals import refusal, tell_errors
from attentest.version import __version__

QUESTION = "Are the marked words relevant to this prediction?"
MOST_ITEMS = 100  # in one answer


def annotating_app(study: PeopleStudy, answers: Answers, door: Door | None = None) -> FastAPI:
    app = FastAPI(title="attentest annotate", version=__version__, docs_url=None, redoc_url=None)
    tell_errors(app)
    _tell_database_errors(app)
    _tell_used_keys(app)
    record, by_id = study.record, study.by_id
    annotator = Depends(door or Door(answers))
    # what the browser keeps answers under: a hash, as whoever knows the secret itself can order items by condition
    study_id = hashlib.sha256(f"queue of {record.id}".encode()).hexdigest()[:16]
    order = lru_cache(maxsize=1000)(lambda name: order_for(study, name))
    instructions = {
        "question": QUESTION,
        "marked": MARKED,
        "items": len(by_id),
        "asked": asdict(record.asked),
        "longest_comment": LONGEST_COMMENT,
    }

    def named(item: str) -> Item:
        if item not in by_id:
            raise InputError("item: there is no such item in this study.")
        return by_id[item]

    @app.get("/static/{name}", include_in_schema=False)
    def own_asset(name: str) -> Response:
        if not name.startswith("annotate") and name not in ("dom.js", "report.css"):
            raise HTTPException(404, "There is no such file.")
        return asset(name)

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def start() -> HTMLResponse:
        return page("annotate.html", **instructions)

    @app.get("/api/instructions")
    def what_is_asked() -> dict[str, Any]:
        """What the page says before the first item."""
        return instructions

    @app.get("/api/progress")
    def progress(who: str = annotator) -> dict[str, Any]:
        """Your items in your order, and your own answers, the latest last."""
        given = [asdict(one) for one in answers.current(who).values()]
        return {"study": study_id, "annotator": who, "items": order(who), "answers": given}

    @app.get("/api/items")
    def items(
        start: Annotated[int, Query(ge=0, le=2**31)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 50,
        who: str = annotator,
    ) -> list[Shown]:
        """Some of your items, in your order."""
        return [shown(by_id[item]) for item in order(who)[start : start + limit]]

    @app.post("/api/answers")
    def answer(sent: SentAnswer, who: str = annotator) -> dict[str, Any]:
        """Told after it was committed. The same again changes nothing; something else with the same key is refused."""
        saved = answers.save(who, given_of(sent, named(sent.item), record.asked), sent.key)
        return {"saved": sent.key, "repeated": saved.repeated}

    @app.post("/api/undone")
    def undo(sent: SentUndo, who: str = annotator) -> dict[str, Any]:
        """Withdraw your answer to an item."""
        saved = answers.undo(who, named(sent.item).id, sent.key)
        return {"saved": sent.key, "repeated": saved.repeated}

    return app


def _tell_used_keys(app: FastAPI) -> None:
    @app.exception_handler(KeyUsedError)
    def used(request: Request, error: KeyUsedError) -> JSONResponse:
        return refusal(str(error), 409)


def _tell_database_errors(app: FastAPI) -> None:
    """Whoever serves is told where the database is; annotators are not. Their pages try again."""

    @app.exception_handler(DatabaseError)
    def unavailable(request: Request, error: DatabaseError) -> JSONResponse:
        logging.getLogger(__name__).warning("%s", error)
        return JSONResponse({"error": "Answers cannot be stored at the moment; wait."}, 503, {"retry-after": "2"})
