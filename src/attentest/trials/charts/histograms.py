"""Histograms by predicted class, one panel or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attentest.trials.base import Chart
from attentest.trials.charts.classes import ClassGroup
from attentest.trials.charts.frame import CLICKED, category, colour, fading, frame, number, see_through, tooltip


def histograms(
    panels: Mapping[str, np.ndarray],
    groups: Sequence[ClassGroup],
    edges: np.ndarray,
    title: str,
    description: str,
) -> Chart:
    """The share of each class's texts between any two of `edges`; values that are not defined count for nothing."""
    rows = []
    for panel, values in panels.items():
        for group in groups:
            found = values[group.there & ~np.isnan(values)]
            counts, _ = np.histogram(found, edges)
            some = counts > 0
            if some.any():
                bins = {"from": edges[:-1][some], "to": edges[1:][some], "texts": counts[some]}
                rows.append({"panel": panel, "class": group.name, **bins, "share": counts[some] / len(found)})
    view: dict[str, Any] = {
        "width": 420 if len(panels) == 1 else 300,
        "height": 220,
        "transform": [{"flatten": ["from", "to", "texts", "share"]}],
        "name": CLICKED,
        "mark": {"type": "bar", "binSpacing": 0},
        "encoding": {
            "x": number("from", title, [edges[0], edges[-1]])
            | {"bin": "binned", "axis": {"tickCount": 7 if len(panels) == 1 else 5}},
            "x2": {"field": "to"},
            "y": number("share", "share of the class's texts", zero=True) | {"stack": None},
            "color": colour("class", "predicted", [group.name for group in groups]),
            "opacity": see_through(len(groups)),
            "tooltip": tooltip(
                **{"class": "predicted", "from": "from|.3f", "to": "to|.3f", "texts": "texts|,", "share": "share|.1%"}
            ),
        },
    }
    if len(panels) == 1:
        return frame(description, rows, params=fading("class"), **view)
    facet = {"column": category("panel", None, list(panels))}
    return frame(description, rows, params=fading("class"), facet=facet, spacing=32, spec=view)
