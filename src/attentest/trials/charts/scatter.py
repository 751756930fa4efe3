"""Scatters: a point a text, of many texts a sample."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from attentest.trials.base import Chart, column
from attentest.trials.charts.classes import class_groups, one_group
from attentest.trials.charts.frame import CLICKED, colour, fading, frame, number, tooltip, unless_faded

MOST_POINTS = 1500


def scatter(
    table: pa.Table, x: str, y: str, x_title: str, y_title: str, description: str, by_class: bool = True
) -> Chart:
    """y against x (Serrano & Smith Fig. 3), with the line where y is zero; one colour and shape a predicted class."""
    across, along = column(table, x), column(table, y)
    defined = np.flatnonzero(~(np.isnan(across) | np.isnan(along)))
    drawn = defined
    if len(defined) > MOST_POINTS:
        drawn = np.sort(np.random.default_rng(0).permutation(defined)[:MOST_POINTS])
        description = f"{description} Drawn is a sample of {MOST_POINTS:,} of {len(defined):,} texts."
    groups = class_groups(table) if by_class else one_group(table)
    told_as = "predicted" if by_class else None
    rows = []
    for group in groups:
        some = drawn[group.there[drawn]]
        rows.append({"class": group.name, "x": across[some], "y": along[some]})
    names = [group.name for group in groups]
    told = tooltip(**{"class": told_as or "of", "x": f"{x_title}|.3f", "y": f"{y_title}|.4f"})
    zero = {"mark": {"type": "rule", "color": "#555555"}, "encoding": {"y": {"datum": 0}}}
    points = {
        "transform": [{"flatten": ["x", "y"]}],
        "name": CLICKED,
        "mark": {"type": "point", "filled": True, "size": 22, "aria": False},
        "encoding": {
            "x": number("x", x_title, [0, 1]),
            "y": number("y", y_title),
            "color": colour("class", told_as, names),
            "shape": colour("class", told_as, names),
            "opacity": unless_faded(0.45),
            "tooltip": told,
        },
    }
    return frame(description, rows, width=420, height=280, params=fading("class"), layer=[zero, points])
