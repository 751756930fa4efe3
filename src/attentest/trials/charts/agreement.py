"""Figures against figures: a dot for each pair, with the line where both are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import CLICKED, colour, fading, frame, number, tooltip, unless_faded


def agreement(
    rows: Sequence[Mapping[str, Any]],
    titles: tuple[str, str],
    description: str,
    groups: Sequence[str],
    told: Mapping[str, str],
) -> Chart:
    """Rows have `theirs`, `ours` and `status`, which is one of `groups` and gives colour and shape; `told` are the
    columns that a dot says when it is pointed at, as `tooltip` takes them."""
    values = [row[name] for row in rows for name in ("theirs", "ours")]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.03 * (high - low or 1.0)
    ends = [low - room, high + room]
    whole = {"type": "quantitative", "scale": {"domain": ends, "nice": False}}
    line = {
        "mark": {"type": "rule", "color": "#888888", "strokeDash": [4, 3]},
        "encoding": {
            **{name: {"datum": ends[0], **whole} for name in ("x", "y")},
            **{name: {"datum": ends[1]} for name in ("x2", "y2")},
        },
    }
    dots = {
        "name": CLICKED,
        "mark": {"type": "point", "filled": True, "size": 40, "aria": False},
        "encoding": {
            "x": number("theirs", titles[0], ends),
            "y": number("ours", titles[1], ends),
            "color": colour("status", None, groups),
            "shape": colour("status", None, groups),
            "opacity": unless_faded(0.7),
            "tooltip": tooltip(**told),
        },
    }
    return frame(description, rows, width=420, height=420, params=fading("status"), layer=[line, dots])
