"""The explorer's page: without script a list of texts, with script everything."""

from __future__ import annotations

from typing import Any

from fastapi.responses import HTMLResponse

from attentest.reports.parts.islands import island
from attentest.reports.parts.modules import in_order
from attentest.server.pages import assets, page

STYLES = ("report.css", "heatmaps.css", "narrow.css", "explorer.css")
SCRIPT = "explorer.js"


def explorer_page(runs: list[dict[str, Any]], texts: list[Any]) -> HTMLResponse:
    """`texts` are the first of each run."""
    modules = in_order(SCRIPT, assets())
    return page("explorer.html", runs=runs, island=island(runs), texts=texts, styles=STYLES, modules=modules)
