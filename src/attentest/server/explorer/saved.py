"""What is on the screen as one HTML file: it opens from disk, needs no server, and its weights can still be dragged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field

from attentest.errors import InputError
from attentest.reports.parts.islands import code, fingerprint, island
from attentest.reports.parts.modules import in_order, joined
from attentest.server.explorer import answers
from attentest.server.explorer.asked import Measured, Name, Reference, reference
from attentest.server.explorer.front import SCRIPT, STYLES
from attentest.server.explorer.opened import Opened
from attentest.server.explorer.state import state_of
from attentest.server.explorer.steps import steps_of
from attentest.server.explorer.weighing import adversary, measured
from attentest.server.pages import assets, rendered
from attentest.version import __version__

MOST_TOKENS = 20_000  # of a pane: the file has some hundred bytes for each
TABLES_OF_STEPS = 2_000  # tokens; of longer texts the steps are left out of the file


class Pane(Reference):
    """A text as it is shown: its model, what stands next to it, and its changed weights as an address writes them."""

    run: Annotated[int, Field(ge=0, le=1)] = 0
    measures: Annotated[list[Name], Field(max_length=50, default_factory=list)]
    packed: Annotated[str, Field(max_length=500_000)] = ""
    sinks: bool = False
    step: Annotated[int, Field(ge=0, le=100)] | None = None
    at: Annotated[int, Field(ge=0, le=2**31)] | None = None


class Shown(BaseModel):
    model_config = ConfigDict(extra="forbid")

    panes: Annotated[list[Pane], Field(min_length=1, max_length=2)]


def saving(every: Sequence[Opened]) -> APIRouter:
    router = APIRouter()

    @router.post("/api/save", response_class=HTMLResponse, responses=answers.REFUSALS)
    def save(asked: Shown) -> HTMLResponse:
        return HTMLResponse(saved_page(every, asked.panes))

    return router


def saved_page(every: Sequence[Opened], panes: Sequence[Pane]) -> str:
    numbers = sorted({pane.run for pane in panes})
    if numbers[-1] >= len(every):
        raise InputError(f"There is no run {numbers[-1]}.")
    runs = [every[number].about() for number in numbers]
    kept = [{**_kept(every[pane.run], pane), "run": numbers.index(pane.run)} for pane in panes]
    early, late, style = _code()
    return rendered(
        "saved.html",
        runs=runs,
        panes=kept,
        policy=_policy([early, late], style),
        early=Markup(early),
        late=Markup(late),
        style=Markup(style),
        island=island({"runs": runs, "panes": kept}),
        version=__version__,
    )


def _kept(opened: Opened, pane: Pane) -> dict[str, Any]:
    """All that the page would ask the server for."""
    asked = reference(pane)
    with opened.answering():
        state = state_of(opened, pane.run, asked)
        if len(state["tokens"]) > MOST_TOKENS:
            raise InputError(f"A text of at most {MOST_TOKENS:,} tokens can be saved as a file.")
        scores = {
            name: measured(opened, Measured(**asked.model_dump(), measure=name))["scores"]
            for name in dict.fromkeys(pane.measures)
        }
        return {
            "wish": pane.model_dump(),
            "state": state,
            "scores": scores,
            "adversary": adversary(opened, asked) if state["affine"] is not None else None,
            "steps": steps_of(opened, asked) if len(state["tokens"]) <= TABLES_OF_STEPS else None,
        }


@cache
def _code() -> tuple[str, str, str]:
    """What runs before the page is drawn, what runs when it is there, and how it looks."""
    modules = joined(*(assets()[name] for name in in_order(SCRIPT, assets())))
    early, late = (str(code(f'"use strict";\n(() => {{\n{text}\n}})();')) for text in (assets()["theme.js"], modules))
    return early, late, "\n".join(assets()[name] for name in STYLES)


def _policy(scripts: Sequence[str], style: str) -> str:
    """Nothing is fetched, and no script or style counts but ours."""
    return (
        f"default-src 'none'; script-src {' '.join(map(fingerprint, scripts))}; style-src {fingerprint(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
