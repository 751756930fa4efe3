"""A table of two decisions as coloured cells (Serrano & Smith 2019 Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import category, frame, tooltip


def cross_table(
    rows: Sequence[Mapping[str, Any]], x_title: str, y_title: str, order: Sequence[str], description: str
) -> Chart:
    """Rows have the keys x, y and share; `order` is that of the decisions, on both sides."""
    share = {"field": "share", "type": "quantitative"}
    filled = share | {"title": "share of texts", "scale": {"scheme": "blues", "domain": [0, 1]}}
    upright = {"labelAngle": 0, "orient": "top"}
    return frame(
        description,
        rows,
        width=220,
        height=150,
        encoding={
            "x": category("x", x_title, order) | {"axis": upright},
            "y": category("y", y_title, order),
            "tooltip": tooltip(y=y_title, x=x_title, share="share of texts|.2%"),
        },
        layer=[
            {"mark": "rect", "encoding": {"color": filled | {"legend": {"format": ".0%"}}}},
            {
                "mark": {"type": "text", "fontSize": 16},
                "encoding": {
                    "text": share | {"format": ".1%"},
                    "color": {"condition": {"test": "datum.share > 0.55", "value": "white"}, "value": "black"},
                },
            },
        ],
    )
