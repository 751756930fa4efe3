"""Values by rank of attention, one panel under the other, each with its own scale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attentest.trials.base import Chart
from attentest.trials.charts.frame import category, colour, frame, number, tooltip

MOST_RANKS = 300


def by_rank(series: Mapping[str, np.ndarray], description: str) -> Chart:
    """Series by their title; of very many ranks, evenly spread ones are drawn."""
    names = list(series)
    ranks = min(len(values) for values in series.values())
    drawn = np.unique(np.linspace(0, ranks - 1, min(ranks, MOST_RANKS)).astype(int))
    rows = [{"of": name, "rank": drawn + 1, "value": values[drawn]} for name, values in series.items()]
    told = tooltip(of="of", rank="rank|,", value="value|.4f")
    encoding = {
        "x": number("rank", "rank of attention (1: heaviest)", [1, max(2, ranks)]) | {"axis": {"tickMinStep": 1}},
        "y": number("value", "", zero=True),
        "color": colour("of", None, names) | {"legend": None},
        "tooltip": told,
    }
    view = {
        "width": 420,
        "height": 110,
        "transform": [{"flatten": ["rank", "value"]}],
        "mark": {"type": "line", "point": ranks <= MOST_RANKS // 6},
        "encoding": encoding,
    }
    facet = {"row": category("of", None, names) | {"header": {"labelOrient": "top", "labelAnchor": "start"}}}
    return frame(description, rows, facet=facet, spec=view, resolve={"scale": {"y": "independent"}})
