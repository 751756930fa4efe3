"""Figures as files: the specification, a picture to scale, and one of points."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from attentest.errors import InputError
from attentest.files import write_bytes
from attentest.trials.base import Chart
from attentest.trials.charts.data import csv_of

_SPELLED = {"τ": "tau", "λ": "lambda", "α": "alpha", "Δ": "delta "}
Picture = TypeVar("Picture", str, bytes)
_PICTURES, _NO_PICTURE = ("svg", "png"), ("csv",)
_IDS = re.compile(r'<(clipPath|linearGradient|radialGradient) id="(\w+)"')
_REFERENCES = re.compile(r'(<(?:clipPath|linearGradient|radialGradient) id="|="url\(#)(\w+)(\)?")')
_PICTURES_KEPT = 256  # a finding that is saved and shown, or a page that is written again, is drawn once
_PNG_SCALE = 2  # pixels a point


def svg_of(chart: Chart) -> str:
    """The picture of a chart; nothing is loaded for it, and the same chart gives the same bytes."""
    drawn = _drawn(lambda: _converted(as_text(chart)), "SVG")
    if "<image" in drawn:  # whoever shows the picture would load it
        raise InputError("The chart cannot be drawn as SVG: it has an image.")
    return _renumbered(drawn)


@lru_cache(maxsize=_PICTURES_KEPT)
def _converted(spec: str) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))


def png_of(chart: Chart) -> bytes:
    # by way of the SVG, which has nothing to load: the converter's own way would load images
    return _png(svg_of(chart))


def _png(svg: str) -> bytes:
    import vl_convert

    return _drawn(lambda: bytes(vl_convert.svg_to_png(svg, scale=_PNG_SCALE)), "PNG")


def _renumbered(svg: str) -> str:
    """With ids that begin at 0: Vega goes on counting from picture to picture, as long as the process lives."""
    ids = {name: f"{kind}{n}" for n, (kind, name) in enumerate(_IDS.findall(svg))}
    return _REFERENCES.sub(lambda found: found[1] + ids.get(found[2], found[2]) + found[3], svg)


def _drawn(draw: Callable[[], Picture], form: str) -> Picture:
    """What cannot be drawn is told as one line: the converter's own message has a stack of JavaScript in it."""
    try:
        return draw()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if not line.endswith(":")), type(error).__name__)
        raise InputError(f"The chart cannot be drawn as {form}: {reason.rstrip('.')}.") from error


def as_text(chart: Chart) -> str:
    """A specification in JSON, without blanks: its numbers are many."""
    return json.dumps(chart, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def slug(title: str) -> str:
    """A title as the name of a file."""
    for letter, word in _SPELLED.items():
        title = title.replace(letter, word)
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def listed(charts: Mapping[str, Chart], undrawn: Container[str] = (), folder: str = "") -> list[dict[str, Any]]:
    """The charts by title, with the names of their files as `save_charts` gives them, after `folder`."""
    return [
        {
            "title": title,
            "description": str(chart["description"]),
            "spec": f"{folder}{slug(title)}.json",
            **dict.fromkeys((*_PICTURES, *_NO_PICTURE)),
            **{end: f"{folder}{slug(title)}.{end}" for end in (_NO_PICTURE if title in undrawn else _PICTURES)},
        }
        for title, chart in charts.items()
    ]


def save_charts(folder: Path, charts: Mapping[str, Chart]) -> dict[str, str]:
    """Write them; a note for each that cannot be drawn, by title: it leaves its numbers as a table."""
    undrawn = {}
    if charts:
        folder.mkdir(parents=True, exist_ok=True)
    for title, chart in charts.items():
        contents = {"json": as_text(chart).encode("utf-8", "backslashreplace")}
        try:
            svg = svg_of(chart)
            contents |= {"svg": svg.encode(), "png": _png(svg)}
        except InputError as error:
            contents["csv"] = csv_of(chart).encode("utf-8", "replace")
            undrawn[title] = f"{title}: {error} Its data is given as a table instead."
        for end, content in contents.items():
            write_bytes(folder / f"{slug(title)}.{end}", content)
    return undrawn
