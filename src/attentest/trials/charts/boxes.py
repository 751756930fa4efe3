"""Box plots from numbers that are found beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attentest.trials.base import Chart
from attentest.trials.charts.frame import PALETTE, category, colour, frame, number, tooltip
from attentest.trials.charts.side_by_side import panels, placed_by

Row = Mapping[str, Any]
_NUMBERS = {"median": "median|.3f", "q1": "lower quartile|.3f", "q3": "upper quartile|.3f"}
_WHISKERS = {"low": "lower whisker|.3f", "high": "upper whisker|.3f", "n": "values|,"}


def box(group: str, values: np.ndarray) -> list[dict[str, Any]]:
    """A row for a box plot, or none where nothing is defined: the quartiles, and whiskers that end at the furthest
    values within 1.5 interquartile ranges of them (Serrano & Smith 2019 Fig. 5)."""
    kept = np.asarray(values, float)
    kept = kept[np.isfinite(kept)]
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
    # more boxes than colours are told apart by their place alone
    shown = {"color": colour("group", None, order) | {"legend": None}} if len(order) <= len(PALETTE) else {}
    layers = box_layers(number("q1", title, domain), place | shown, {"group": kind}, across="x")
    return frame(description, rows, width=420, height={"step": 34}, layer=layers)


def boxes_side_by_side(
    rows: Sequence[Row], by: tuple[str, str], title: str, description: str, domain: Sequence[float]
) -> Chart:
    """Upright boxes by the two keys of the rows, the second within the first; a panel a corpus."""
    told = {"corpus": "corpus", **{key: key for key in by}}
    layers = box_layers(number("q1", title, domain), placed_by(rows, by), told, across="y")
    return panels(rows, layers, choose_in=1, by=by[1], description=description)


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
            "mark": {"type": "bar", "size": 16, "stroke": "black", "strokeWidth": 0.5, "color": PALETTE[0]},
            "encoding": dict(placed) | told | {across: at("q1"), end: {"field": "q3"}},
        },
        {
            "mark": {"type": "tick", "size": 16, "thickness": 2.5, "color": "black"},
            "encoding": plain | told | {across: at("median")},
        },
    ]
