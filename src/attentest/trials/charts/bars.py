"""Bars of a score, each with its interval (VA Fig. 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import category, colour, fading, frame, number, tooltip, unless_faded

Row = Mapping[str, Any]
_TOLD = {"value": "score|.3f", "low": "from|.3f", "high": "to|.3f", "n": "texts|,"}


def bars(rows: Sequence[Row], title: str, description: str, kind: str) -> Chart:
    """One beside the other in the order of the rows, which come from `interval`; `kind` says what a group is."""
    order = list(dict.fromkeys(row["group"] for row in rows))
    placed = {"x": category("group", kind, order) | {"axis": {"labelAngle": 0, "labelLimit": 90}}}
    shown = {"color": colour("group", None, order) | {"legend": None}}
    layers = bar_layers(title, placed | shown, {"group": kind})
    return frame(description, rows, width={"step": 96}, height=220, layer=layers)


def bars_side_by_side(rows: Sequence[Row], place: str, hue: str, title: str, description: str) -> Chart:
    """Bars at each `place`, one a `hue` beside the other, a panel a corpus; the words are keys of the rows."""
    places, hues, corpora = (list(dict.fromkeys(row[key] for row in rows)) for key in (place, hue, "corpus"))
    placed = {
        "x": category(place, place, places) | {"axis": {"labelAngle": -30}},
        "xOffset": category(hue, hue, hues),
        "color": colour(hue, hue, hues),
        "opacity": unless_faded(1),
    }
    layers = bar_layers(title, placed, {"corpus": "corpus", place: place, hue: hue})
    layers[0]["params"] = fading(hue)
    view = {"width": {"step": 26}, "height": 240, "layer": layers}
    facet = category("corpus", None, corpora) | {"header": {"labelFontWeight": "bold"}}
    return frame(description, rows, facet=facet, columns=3, spec=view, resolve={"scale": {"x": "independent"}})


def bar_layers(title: str, placed: Mapping[str, Any], named: Mapping[str, str]) -> list[dict[str, Any]]:
    value = number("value", title, [0, 1])
    told = {"tooltip": tooltip(**named, **_TOLD)}
    plain = {key: channel for key, channel in placed.items() if key != "color"}
    return [
        {"mark": {"type": "bar"}, "encoding": dict(placed) | told | {"y": value}},
        {
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": plain | told | {"y": value | {"field": "low"}, "y2": {"field": "high"}},
        },
    ]
