"""A deciding figure on a line: value and interval, threshold, null, ceiling and controls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from attentest.measures.intervals import Estimate
from attentest.reports.parts.formatting import estimate, name, number
from attentest.studies.experiments.controls import POSITIVE
from attentest.studies.verdict import Ruling
from attentest.studies.verdict.criterion import AT_MOST

WIDTH, HEIGHT, MARGIN = 240, 46, 10
OWN, OTHERS, AXIS, WORDS = 9, 23, 32, 44  # heights of the model's figure, what it is compared with, the axis, its ends
_APART = 34  # between numbers below the axis
_WIDE = 0.5  # figures beyond it are shown on a line that reaches 1
_ROOM = 0.15
_LARGEST = 1e9  # no figure of ours comes near; what is beyond cannot be drawn


@dataclass(frozen=True)
class Line:
    """From values to places on the picture; 0 is always on it."""

    low: float
    high: float

    def x(self, value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - self.low) / (self.high - self.low)


def line_of(ruling: Ruling) -> Line | None:
    """As long as all that is shown needs; none where there is nothing to show."""
    if ruling.figure is None or not _is_drawable(ruling.figure.value) or not _is_drawable(ruling.threshold):
        return None
    figures = [ruling.figure, *(found for found in (ruling.null, ruling.ceiling) if found), *ruling.controls.values()]
    ends = (end for figure in figures for end in (figure.value, figure.low, figure.high))
    values = [0.0, ruling.threshold, *filter(_is_drawable, ends)]
    low, high = min(values), max(values)
    high = max(high, 1.0) if high > _WIDE else high
    room = _ROOM * (high - low or 1.0)  # for the side that meets the threshold
    if ruling.criterion.side == AT_MOST:
        return Line(min(low, ruling.threshold - room), high)
    return Line(low, max(high, ruling.threshold + room))


def picture_of(ruling: Ruling) -> Markup:
    """An inline SVG that is read out as its numbers; empty where there is nothing to show."""
    line = line_of(ruling)
    if line is None or ruling.figure is None:
        return Markup("")
    parts = [*_ground(line, ruling), *_references(line, ruling), *_own(line, ruling.figure)]
    return Markup(
        f'<svg class="figure-line" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(described(ruling))}">{"".join(parts)}</svg>'
    )


def described(ruling: Ruling) -> str:
    """The picture in words."""
    told = [
        f"{ruling.criterion.short} {estimate(ruling.figure)}",
        f"threshold {ruling.criterion.side} {ruling.threshold:g}",
        *(f"null {number(found.value)}" for found in (ruling.null,) if found),
        *(f"ceiling {number(found.value)}" for found in (ruling.ceiling,) if found),
        *(f"{name(label)} control {number(found.value)}" for label, found in ruling.controls.items()),
    ]
    return "; ".join(told)


def legend() -> list[tuple[Markup, str]]:
    """Marks and what they mean."""
    signs = {
        "this model, 95 % interval": _stroke("own", 1, 7, 21) + _dot("own", 11, 7, 4),
        "threshold (shaded: meets it)": '<rect class="meets" x="11" y="0" width="11" height="14"/>'
        + _upright("threshold", 11, 0, 14),
        "null": _dot("null", 11, 7, 4),
        "ceiling": _triangle(11, 7),
        "positive control": _plus(11, 7),
        "other controls": _cross(11, 7),
    }
    return [
        (
            Markup(
                f'<svg class="figure-line" viewBox="0 0 22 14" width="22" height="14" aria-hidden="true">{sign}</svg>'
            ),
            says,
        )
        for says, sign in signs.items()
    ]


def _ground(line: Line, ruling: Ruling) -> list[str]:
    at = line.x(ruling.threshold)
    told = _title(f"threshold {ruling.criterion.side} {ruling.threshold:g}")
    left, right = (line.x(line.low), at) if ruling.criterion.side == AT_MOST else (at, line.x(line.high))
    ends = [(line.low, "start"), (line.high, "end")]
    if min(line.x(0) - line.x(line.low), line.x(line.high) - line.x(0)) > _APART:
        ends.append((0.0, "middle"))
    return [
        f'<rect class="meets" x="{left:.1f}" y="0" width="{right - left:.1f}" height="{AXIS}"/>',
        _stroke("axis", line.x(line.low), AXIS, line.x(line.high)),
        *(f'<text x="{line.x(end):.1f}" y="{WORDS}" text-anchor="{side}">{_short(end)}</text>' for end, side in ends),
        f"<g>{told}{_upright('threshold', at, 0, AXIS)}</g>",
    ]


def _references(line: Line, ruling: Ruling) -> list[str]:
    marks = []
    if ruling.null and _is_drawable(ruling.null.value):
        marks.append((f"null {estimate(ruling.null)}", _dot("null", line.x(ruling.null.value), OTHERS, 4)))
    if ruling.ceiling and _is_drawable(ruling.ceiling.value):
        marks.append((f"ceiling {estimate(ruling.ceiling)}", _triangle(line.x(ruling.ceiling.value), OTHERS)))
    for label, found in ruling.controls.items():
        if _is_drawable(found.value):
            draw = _plus if label == POSITIVE else _cross
            marks.append((f"{name(label)} control {estimate(found)}", draw(line.x(found.value), OTHERS)))
    return [f"<g>{_title(says)}{mark}</g>" for says, mark in marks]


def _own(line: Line, figure: Estimate) -> list[str]:
    interval = ""
    if _is_drawable(figure.low) and _is_drawable(figure.high):
        interval = _stroke("own", line.x(figure.low), OWN, line.x(figure.high))
    return [f"<g>{_title(f'this model {estimate(figure)}')}{interval}{_dot('own', line.x(figure.value), OWN, 4)}</g>"]


def _is_drawable(value: float) -> bool:
    return math.isfinite(value) and abs(value) < _LARGEST


def _short(value: float) -> str:
    return f"{value:.2g}".replace("-", "−")


def _title(says: str) -> str:
    return f"<title>{escape(says)}</title>"


def _stroke(kind: str, x1: float, y: float, x2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y}" x2="{x2:.1f}" y2="{y}"/>'


def _upright(kind: str, x: float, y1: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y1}" x2="{x:.1f}" y2="{y2}"/>'


def _dot(kind: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y}" r="{radius}"/>'


def _triangle(x: float, y: float) -> str:
    return _path("ceiling", ((x - 4, y + 4), (x, y - 4), (x + 4, y + 4), (x - 4, y + 4)))


def _plus(x: float, y: float) -> str:
    return _path("positive", ((x - 4, y), (x + 4, y)), ((x, y - 4), (x, y + 4)))


def _cross(x: float, y: float) -> str:
    return _path("negative", ((x - 3, y - 3), (x + 3, y + 3)), ((x - 3, y + 3), (x + 3, y - 3)))


def _path(kind: str, *strokes: Iterable[tuple[float, float]]) -> str:
    drawn = "".join("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in stroke) for stroke in strokes)
    return f'<path class="{kind}" d="{drawn}"/>'
