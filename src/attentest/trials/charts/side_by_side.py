"""Marks of several models beside one another, a panel a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import CLICKED, category, colour, fading, frame, unless_faded


def placed_by(rows: Sequence[Mapping[str, Any]], by: tuple[str, str]) -> dict[str, Any]:
    """Where a row's marks are and which colour they have: places by the first key, and within them by the second."""
    (place, hue), (places, hues) = by, (_in_order(rows, key) for key in by)
    return {
        "x": category(place, place, places) | {"axis": {"labelAngle": -30}},
        "xOffset": category(hue, hue, hues),
        "color": colour(hue, hue, hues),
        "opacity": unless_faded(1),
    }


def panels(
    rows: Sequence[Mapping[str, Any]], layers: list[dict[str, Any]], choose_in: int, by: str, description: str
) -> Chart:
    """A panel a corpus; the layer `choose_in` is the one with a legend, of the key `by`."""
    layers[choose_in]["name"] = CLICKED
    facet = category("corpus", None, _in_order(rows, "corpus")) | {"header": {"labelFontWeight": "bold"}}
    view = {"width": {"step": 24}, "height": 240, "layer": layers}
    resolve = {"scale": {"x": "independent"}}  # not every model reads every corpus
    return frame(description, rows, facet=facet, columns=3, spec=view, resolve=resolve, params=fading(by))


def _in_order(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))
