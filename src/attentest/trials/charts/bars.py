"""Bars of a score, each with its interval (Vashishth et al. 2019 Fig. 1)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import CLICKED, PALETTE, category, colour, fading, frame, number, plain, tooltip
from attentest.trials.charts.side_by_side import panels, placed_by

Row = Mapping[str, Any]
_STEP, _LINE = 96, 14  # points from bar to bar, and the characters that fit into so many
_TOLD = {"value": "score|.3f", "low": "from|.3f", "high": "to|.3f", "n": "texts|,"}


def bars(
    rows: Sequence[Row], title: str, description: str, kind: str, domain: Sequence[float] | None = (0, 1)
) -> Chart:
    """One beside the other in the order of the rows, which come from `interval`; `kind` says what a group is. Without
    a domain the axis reaches as far as the bars do."""
    order = list(dict.fromkeys(row["group"] for row in rows))
    placed = {"x": category("group", kind, order) | {"axis": {"labelAngle": 0, **_in_lines(order)}}}
    shown = {"color": colour("group", None, order) | {"legend": None}}
    layers = bar_layers(title, placed | shown, {"group": kind}, domain)
    return frame(description, rows, width={"step": _STEP}, height=220, layer=layers)


def _in_lines(names: Sequence[str]) -> dict[str, str]:
    """Names that are wider than their bars are broken between words."""
    broken = {name: wrap(name, _LINE, break_long_words=False) for name in names}
    several = any(len(lines) > 1 for lines in broken.values())
    return {"labelExpr": f"({json.dumps(broken)})[datum.label]"} if several else {}


def bars_in_groups(
    rows: Sequence[Row],
    by: tuple[str, str],
    title: str,
    description: str,
    coloured: bool = True,
    rule: tuple[str, float] | None = None,
) -> Chart:
    """Bars by the two keys of the rows, the second within the first; the axis reaches as far as they do. `rule` is the
    name and the value of a line across all of them."""
    placed = placed_by(rows, by)
    placed["xOffset"] |= {"scale": {"paddingInner": 0.15}}
    if not coloured:  # there are too many in a group to tell them by colours
        placed = {"x": placed["x"], "xOffset": placed["xOffset"], "color": {"value": PALETTE[0]}}
    layers = bar_layers(title, placed, {key: key for key in by}, domain=None)
    layers[0]["name"] = CLICKED
    if rule is not None and math.isfinite(rule[1]):
        layers += _across(*rule)
    params = {"params": fading(by[1])} if coloured else {}
    width = {"step": 14 if coloured else 7, "for": "offset"}
    return frame(description, rows, width=width, height=220, layer=layers, **params)


def _across(name: str, value: float) -> list[dict[str, Any]]:
    """A line with its name at its right end."""
    at = {"y": {"datum": plain(value)}}
    named = {"type": "text", "text": name, "align": "right", "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
    once: dict[str, Any] = {"data": {"values": [{}]}}  # not once for each bar
    return [
        {**once, "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5}, "encoding": at},
        {**once, "mark": named, "encoding": at | {"x": {"value": "width"}}},
    ]


def bars_side_by_side(rows: Sequence[Row], by: tuple[str, str], title: str, description: str) -> Chart:
    """Bars by the two keys of the rows, the second within the first; a panel a corpus."""
    layers = bar_layers(title, placed_by(rows, by), {"corpus": "corpus", **{key: key for key in by}})
    return panels(rows, layers, choose_in=0, by=by[1], description=description)


def bar_layers(
    title: str, placed: Mapping[str, Any], named: Mapping[str, str], domain: Sequence[float] | None = (0, 1)
) -> list[dict[str, Any]]:
    value = number("value", title, domain, zero=True)
    told = {"tooltip": tooltip(**named, **_TOLD)}
    plain = {key: channel for key, channel in placed.items() if key != "color"}
    return [
        {"mark": {"type": "bar"}, "encoding": dict(placed) | told | {"y": value}},
        {
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": plain | told | {"y": value | {"field": "low"}, "y2": {"field": "high"}},
        },
    ]
