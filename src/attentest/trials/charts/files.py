"""Figures as files: the specification, a picture to scale, and one of points."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.files import write_bytes
from attentest.trials.base import Chart

_SPELLED = {"τ": "tau", "λ": "lambda", "α": "alpha", "Δ": "delta "}
_PNG_SCALE = 2  # pixels a point


def svg_of(chart: Chart) -> str:
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(dict(chart))
    return text


def png_of(chart: Chart) -> bytes:
    import vl_convert

    picture: bytes = vl_convert.vegalite_to_png(dict(chart), scale=_PNG_SCALE)
    return picture


def as_text(chart: Chart) -> str:
    """A specification in JSON, without blanks: its numbers are many."""
    return json.dumps(chart, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def slug(title: str) -> str:
    """A title as the name of a file."""
    for letter, word in _SPELLED.items():
        title = title.replace(letter, word)
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def listed(charts: Mapping[str, Chart], folder: str = "") -> list[dict[str, str]]:
    """The charts by title, with the names of their files as `save_charts` gives them, after `folder`."""
    return [
        {
            "title": title,
            "description": str(chart["description"]),
            **{
                kind: f"{folder}{slug(title)}.{end}" for kind, end in (("spec", "json"), ("svg", "svg"), ("png", "png"))
            },
        }
        for title, chart in charts.items()
    ]


def save_charts(folder: Path, charts: Mapping[str, Chart]) -> None:
    if charts:
        folder.mkdir(parents=True, exist_ok=True)
    for files, chart in zip(listed(charts), charts.values(), strict=True):
        contents: dict[str, Any] = {
            "spec": as_text(chart).encode(),
            "svg": svg_of(chart).encode(),
            "png": png_of(chart),
        }
        for kind, content in contents.items():
            write_bytes(folder / files[kind], content)
