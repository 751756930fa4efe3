"""Points with their intervals, one under the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attentest.measures.intervals import Estimate
from attentest.trials.base import Chart
from attentest.trials.charts.frame import PALETTE, category, frame, number, tooltip


def interval(group: str, estimate: Estimate) -> list[dict[str, Any]]:
    """A row with an estimate, or none where it is not defined."""
    return [] if math.isnan(estimate.value) else [{"group": group, **estimate.as_dict()}]


def intervals(rows: Sequence[Mapping[str, Any]], title: str, description: str, kind: str) -> Chart:
    """In the order of the rows; `kind` says what a group is."""
    told = tooltip(group=kind, value=f"{title}|.3f", low="from|.3f", high="to|.3f", n="texts|,")
    shared = {"y": category("group", None, list(dict.fromkeys(row["group"] for row in rows))), "tooltip": told}
    value = number("value", title)
    return frame(
        description,
        rows,
        width=420,
        height={"step": 28},
        encoding=shared,
        layer=[
            {
                "mark": {"type": "rule", "color": PALETTE[0], "strokeWidth": 2},
                "encoding": {"x": value | {"field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "color": PALETTE[0]},
                "encoding": {"x": value},
            },
        ],
    )
