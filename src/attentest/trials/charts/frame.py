"""What every figure has: a frame with a description, axes, colours, tooltips, and numbers that fit a file."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attentest.display.cut import JOINERS, cut, is_tag
from attentest.trials.base import Chart

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by everyone (Okabe–Ito)
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")
CHOSEN = "chosen"  # the legend entries that were clicked
CLICKED = "clicked"  # the view whose legend they are of
FADED = 0.08
LONGEST_NAME = 40  # columns
_DIGITS = 4
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_UNCUT = {"labelLimit": 0, "titleLimit": 0}  # Vega would cut by the width of a font, and cut an emoji in two
_CONFIG = {
    "background": "white",
    "range": {"category": list(PALETTE), "symbol": list(SHAPES)},
    "view": {"stroke": "transparent"},
    "axis": {**_UNCUT, "labelFlush": False, "titleFontWeight": "normal", "gridColor": "#e5e5e5"},
    "legend": {**_UNCUT, "titleFontWeight": "normal", "symbolOpacity": 1},
    "header": {**_UNCUT, "titleFontWeight": "normal"},
    "title": {"limit": 0},
    "text": {"limit": 0},
}


def frame(description: str, rows: Sequence[Mapping[str, Any]], **parts: Any) -> Chart:
    """A specification; `description` is the sentence that screen readers read."""
    data = {"values": [plain(row) for row in rows]}
    return {"$schema": _SCHEMA, "description": description, "config": _CONFIG, "data": data, **parts}


def plain(value: Any) -> Any:
    """As JSON has it: numbers of few digits, and None for those that are not defined."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def readable(name: str) -> str:
    """A name from a corpus, fit for a label: in one line, not long, nothing that cannot be printed."""
    printed = (c if c.isprintable() or c in JOINERS or is_tag(c) else " " for c in str(name))
    shown = " ".join("".join(printed).split())
    return cut(shown, LONGEST_NAME) if seen(shown) else "(not printable)"


def seen(name: str) -> str:
    """What of a name can be seen: names that differ in nothing else look the same."""
    visible = (c for c in name if not (c in JOINERS or is_tag(c) or "\ufe00" <= c <= "\ufe0f"))
    return unicodedata.normalize("NFC", "".join(visible))


def number(field: str, title: str, domain: Sequence[float] | None = None, zero: bool = False) -> dict[str, Any]:
    """A numeric position; the axis reaches from and to what is in `domain`, or as far as the values do."""
    scale: dict[str, Any] = {"zero": zero} if domain is None else {"domain": list(domain), "nice": False}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale}


def category(field: str, title: str | None, order: Sequence[str]) -> dict[str, Any]:
    return {"field": field, "type": "nominal", "title": title, "sort": list(order)}


def colour(field: str, title: str | None, names: Sequence[str]) -> dict[str, Any]:
    """The same colour for the same place in `names`, whichever of them occur."""
    return {"field": field, "type": "nominal", "title": title, "scale": {"domain": list(names)}}


def fading(field: str) -> list[dict[str, Any]]:
    """A click on an entry of the legend chooses it; for the whole chart, with a view that is named CLICKED."""
    # within a view, Altair would name it twice
    return [{"name": CHOSEN, "select": {"type": "point", "fields": [field]}, "bind": "legend", "views": [CLICKED]}]


def see_through(classes: int) -> dict[str, Any]:
    """For areas that lie on one another: the more there are, the lighter they are."""
    return unless_faded(0.6 if classes <= 2 else 0.3)


def unless_faded(opacity: float) -> dict[str, Any]:
    return {"condition": {"param": CHOSEN, "value": opacity}, "value": FADED}


def tooltip(**fields: str) -> list[dict[str, Any]]:
    """Of `field="title"`, or `field="title|format"`: numbers have a format, the rest is text."""
    found = []
    for field, said in fields.items():
        title, _, form = said.partition("|")
        kind: dict[str, Any] = {"type": "quantitative", "format": form} if form else {"type": "nominal"}
        found.append({"field": field, "title": title, **kind})
    return found
