"""Box plots from numbers that are found beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attentest.trials.base import Chart
from attentest.trials.charts.frame import category, colour, fading, frame, number, tooltip, unless_faded

Row = Mapping[str, Any]
_NUMBERS = {"median": "median|.3f", "q1": "lower quartile|.3f", "q3": "upper quartile|.3f"}
_WHISKERS = {"low": "lower whisker|.3f", "high": "upper whisker|.3f", "n": "values|,"}


def box(group: str, values: np.ndarray) -> list[dict[str, Any]]:
    """A row for a box plot, or none where nothing is defined: the quartiles, and whiskers that end at the furthest
    values within 1.5 interquartile ranges of them (SS Fig. 5)."""
    kept = np.asarray(values, float)
    kept = kept[~np.isnan(kept)]
    if not len(kept):
        return []
    q1, median, q3 = (float(q) for q in np.quantile(kept, [0.25, 0.5, 0.75]))
    reach = 1.5 * (q3 - q1)
    within = kept[(kept >= q1 - reach) & (kept <= q3 + reach)]
    ends = {"low": float(within.min()), "high": float(within.max())}
    return [{"group": group, **ends, "q1": q1, "median": median, "q3": q3, "n": len(kept)}]


def boxes(
    rows: Sequence[Row], title: str, description: str, domain: Sequence[float] | None = None, kind: str = "group"
) -> Chart:
    """One box under the other, in the order of the rows; `kind` says what a group is."""
    order = list(dict.fromkeys(row["group"] for row in rows))
    place = {"y": category("group", None, order)}
    shown = {"color": colour("group", None, order) | {"legend": None}}
    layers = box_layers(number("q1", title, domain), place | shown, {"group": kind}, across="x")
    return frame(description, rows, width=420, height={"step": 34}, layer=layers)


def boxes_side_by_side(
    rows: Sequence[Row], place: str, hue: str, title: str, description: str, domain: Sequence[float] | None = None
) -> Chart:
    """Upright boxes at each `place`, one a `hue` beside the other, a panel a corpus; the words are keys of the rows."""
    places, hues, corpora = (list(dict.fromkeys(row[key] for row in rows)) for key in (place, hue, "corpus"))
    placed = {
        "x": category(place, place, places) | {"axis": {"labelAngle": -30}},
        "xOffset": category(hue, hue, hues),
        "color": colour(hue, hue, hues),
        "opacity": unless_faded(1),
    }
    told = {"corpus": "corpus", place: place, hue: hue}
    layers = box_layers(number("q1", title, domain), placed, told, across="y")
    layers[-2]["params"] = fading(hue)
    view = {"width": {"step": 26}, "height": 240, "layer": layers}
    facet = category("corpus", None, corpora) | {"header": {"labelFontWeight": "bold"}}
    return frame(description, rows, facet=facet, columns=3, spec=view, resolve={"scale": {"x": "independent"}})


def box_layers(
    value: Mapping[str, Any], placed: Mapping[str, Any], named: Mapping[str, str], across: str
) -> list[dict[str, Any]]:
    """Whiskers, box and median; `across` is the channel, x or y, along which values lie."""
    told = {"tooltip": tooltip(**named, **_NUMBERS, **_WHISKERS)}
    end = f"{across}2"
    plain = {key: channel for key, channel in placed.items() if key != "color"}

    def at(field: str) -> dict[str, Any]:
        return dict(value) | {"field": field}

    return [
        {"mark": {"type": "rule"}, "encoding": plain | told | {across: at("low"), end: {"field": "high"}}},
        {
            "mark": {"type": "bar", "size": 16, "stroke": "black", "strokeWidth": 0.5},
            "encoding": dict(placed) | told | {across: at("q1"), end: {"field": "q3"}},
        },
        {
            "mark": {"type": "tick", "size": 16, "thickness": 2.5, "color": "black"},
            "encoding": plain | told | {across: at("median")},
        },
    ]
