"""Pages and what they are made of: templates that escape every text, and assets that are known by name beforehand."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def assets() -> dict[str, str]:
    """Name -> text of every file in the folder, and the colours of the reports; nothing else can be asked for, so no
    path comes from a request."""
    folder: Any = files("attentest.server") / "assets"
    chosen = [*folder.iterdir(), files("attentest.reports") / "assets" / "report.css"]
    return {file.name: file.read_text(encoding="utf-8") for file in chosen if _ending(file.name) in TYPES}


def _ending(name: str) -> str:
    return name[name.rfind(".") :]


static = APIRouter(include_in_schema=False)


@static.get("/static/{name}")
def asset(name: str) -> Response:
    if name not in assets():
        raise HTTPException(404, "There is no such file.")
    return Response(assets()[name], media_type=TYPES[_ending(name)])


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("attentest.server", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(template: str, **values: Any) -> HTMLResponse:
    return HTMLResponse(_environment().get_template(template).render(**values))
