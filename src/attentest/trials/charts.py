"""Figures in the papers' forms, as Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from attentest.trials.base import BIN_NAMES

Chart = Mapping[str, Any]
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by everyone (Okabe–Ito)
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_CONFIG = {"range": {"category": list(PALETTE)}, "view": {"stroke": "transparent"}}


def violins_by_bin(table: pa.Table, value: str, title: str, largest: float = 1.0) -> Chart:
    """Densities of a value by the largest weight and the predicted class (JW's and WP's violins)."""
    rows = _rows(table, "bin", "predicted", value)
    return _chart(
        rows,
        mark={"type": "area", "opacity": 0.6, "tooltip": True},
        transform=[
            {
                "density": value,
                "groupby": ["bin", "predicted"],
                "extent": [0, largest],
                "as": ["value", "density"],
                "resolve": "shared",
            }
        ],
        encoding={
            "x": _axis("value", title),
            "y": {"field": "density", "type": "quantitative", "title": "density", "stack": None, "axis": None},
            "row": {
                "field": "bin",
                "type": "nominal",
                "title": "largest attention weight",
                "sort": list(reversed(BIN_NAMES)),
            },
            "color": {"field": "predicted", "type": "nominal", "title": "predicted"},
        },
        resolve={"scale": {"y": "independent"}},  # a violin is as high as its own peak
        height=60,
        width=360,
    )


def histogram(table: pa.Table, value: str, title: str, largest: float) -> Chart:
    """Texts by a value, one colour a predicted class (JW's ε-max JSD)."""
    return _chart(
        _rows(table, "predicted", value),
        mark={"type": "bar", "opacity": 0.6, "tooltip": True},
        encoding={
            "x": _axis(value, title)
            | {
                "bin": {"extent": [0, largest], "step": largest / 28},
                "axis": {"values": [round(largest * i / 7, 2) for i in range(8)]},
            },
            "y": {"aggregate": "count", "type": "quantitative", "title": "texts", "stack": None},
            "color": {"field": "predicted", "type": "nominal", "title": "predicted"},
        },
        height=220,
        width=420,
    )


def scatter(table: pa.Table, x: str, y: str, x_title: str, y_title: str) -> Chart:
    """One point a text (SS Fig. 3)."""
    return _chart(
        _rows(table, x, y, "predicted"),
        mark={"type": "point", "filled": True, "opacity": 0.35, "size": 18, "tooltip": True},
        encoding={
            "x": _axis(x, x_title),
            "y": _axis(y, y_title),
            "color": {"field": "predicted", "type": "nominal", "title": "predicted"},
        },
        height=260,
        width=420,
    )


def boxes(rows: Sequence[Mapping[str, Any]], group: str, value: str, title: str, order: Sequence[str]) -> Chart:
    """Box plots of a value by group (SS Fig. 5)."""
    return _chart(
        list(rows),
        mark={"type": "boxplot", "extent": "min-max", "size": 18},
        encoding={
            "y": {
                "field": group,
                "type": "nominal",
                "title": None,
                "sort": list(order),
                "axis": {"labelLimit": 400},
            },
            "x": _axis(value, title),
            "color": {"field": group, "type": "nominal", "legend": None, "sort": list(order)},
        },
        height={"step": 28},
        width=420,
    )


def two_by_two(rows: Sequence[Mapping[str, Any]], x: str, y: str, x_title: str, y_title: str) -> Chart:
    """A table of shares as coloured cells (SS Table 2); rows have the keys x, y and `share`."""
    encoding = {
        "x": {"field": x, "type": "nominal", "title": x_title},
        "y": {"field": y, "type": "nominal", "title": y_title},
    }
    share = {"field": "share", "type": "quantitative"}
    colour = share | {"title": "share of texts", "scale": {"scheme": "blues"}, "legend": {"format": ".0%"}}
    return {
        "$schema": _SCHEMA,
        "config": _CONFIG,
        "data": {"values": list(rows)},
        "width": 200,
        "height": 140,
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "rect", "tooltip": True}, "encoding": {"color": colour}},
            {
                "mark": {"type": "text", "fontSize": 16},
                "encoding": {
                    "text": share | {"format": ".1%"},
                    "color": {"condition": {"test": "datum.share > 0.5", "value": "white"}, "value": "black"},
                },
            },
        ],
    }


def lines(rows: Sequence[Mapping[str, Any]], x: str, y: str, group: str, x_title: str, y_title: str) -> Chart:
    return _chart(
        list(rows),
        mark={"type": "line", "point": True, "tooltip": True},
        encoding={
            "x": _axis(x, x_title),
            "y": _axis(y, y_title),
            "color": {"field": group, "type": "nominal", "title": None},
        },
        height=220,
        width=420,
    )


def points(rows: Sequence[Mapping[str, Any]], group: str, title: str) -> Chart:
    """A point with its interval a group; rows have the keys group, value, low and high."""
    group_axis = {"field": group, "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 400}}
    plain = {"zero": False}
    value = _axis("value", title) | {"scale": plain}
    return {
        "$schema": _SCHEMA,
        "config": _CONFIG,
        "data": {"values": [dict(row) for row in rows]},
        "width": 420,
        "height": {"step": 28},
        "encoding": {"y": group_axis},
        "layer": [
            {
                "mark": {"type": "rule", "color": PALETTE[0]},
                "encoding": {"x": _axis("low", title) | {"scale": plain}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": PALETTE[0], "tooltip": True},
                "encoding": {"x": value},
            },
        ],
    }


def curve(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """JSD against TVD (WP Fig. 5 and 6): a line over λ, with seeds, uniform weights and instance adversaries."""
    shapes = {"adversary": "circle", "seed": "triangle-up", "uniform": "square", "instance adversary": "cross"}
    encoding = {
        "x": _axis("tvd", "TVD to the base model's predictions"),
        "y": _axis("jsd", "JSD to the base model's attention") | {"scale": {"domain": [0, 0.7]}},
        "color": {"field": "class", "type": "nominal", "title": "predicted"},
    }
    line = {
        "mark": {"type": "line", "strokeDash": [3, 3]},
        "transform": [{"filter": "datum.kind == 'adversary'"}],
        "encoding": encoding | {"order": {"field": "lambda", "type": "quantitative"}},
    }
    kind = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(shapes), "range": list(shapes.values())},
    }
    marks = {
        "mark": {"type": "point", "size": 60, "tooltip": True},
        "encoding": encoding | {"shape": kind},
    }
    data = {"values": [dict(row) for row in rows]}
    return {"$schema": _SCHEMA, "config": _CONFIG, "data": data, "width": 420, "height": 300, "layer": [line, marks]}


def _chart(rows: Sequence[Mapping[str, Any]], **parts: Any) -> Chart:
    return {"$schema": _SCHEMA, "config": _CONFIG, "data": {"values": list(rows)}, **parts}


def _axis(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title}


def _rows(table: pa.Table, *columns: str) -> list[dict[str, Any]]:
    return [
        {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}
        for row in table.select(list(columns)).to_pylist()
    ]
