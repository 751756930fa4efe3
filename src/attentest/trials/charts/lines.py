"""Lines of values against a setting or a rank, with intervals where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import CLICKED, colour, fading, frame, number, tooltip, unless_faded


def lines(
    rows: Sequence[Mapping[str, Any]],
    x_title: str,
    y_title: str,
    description: str,
    symmetric_log: bool = False,
    y_domain: Sequence[float] | None = None,
    bands: bool = False,
) -> Chart:
    """Rows have the keys series, x, value, low and high; rows without a value or its place are left out.

    With `symmetric_log` the x axis is logarithmic away from 0 on both sides (Meister et al. 2021 Fig. 3 has λ < 0 so).
    With `bands`, for few places, intervals are areas along the lines.
    """
    kept = [row for row in rows if row["value"] is not None and row["x"] is not None]
    names = list(dict.fromkeys(row["series"] for row in kept))
    x = number("x", x_title)
    if symmetric_log or bands:
        x |= {"axis": {"values": sorted({row["x"] for row in kept}), "format": "~g"}}
    if symmetric_log:
        x |= {"scale": {"type": "symlog"}}
    shared = {
        "x": x,
        "color": colour("series", None, names),
        "opacity": unless_faded(1),
        "tooltip": tooltip(series="of", x=f"{x_title}|", value="value|.3f", low="from|.3f", high="to|.3f"),
    }
    y = number("value", y_title, y_domain)
    limits = {"y": y | {"field": "low"}, "y2": {"field": "high"}}
    band = {"mark": {"type": "area"}, "encoding": limits | {"opacity": unless_faded(0.15)}}
    return frame(
        description,
        kept,
        width=420,
        height=240,
        encoding=shared,
        params=fading("series"),
        layer=[
            band if bands else {"mark": {"type": "rule"}, "encoding": limits},
            {"mark": {"type": "line"}, "encoding": {"y": y}},
            {
                "name": CLICKED,
                "mark": {"type": "point", "filled": True, "size": 50},
                "encoding": {"y": y, "shape": colour("series", None, names)},
            },
        ],
    )
