"""Maps of translations as one SVG picture, each in the view that is shown first."""

from __future__ import annotations

import math
from collections.abc import Iterable

from attentest.display.cut import cut, width
from attentest.display.heatmaps.colour import FAINTEST, percent, strength
from attentest.display.heatmaps.grid import Grid
from attentest.display.heatmaps.svg import FONT, LINE, MARGIN, SIZE, WIDTH, legend, safe
from attentest.display.heatmaps.text import one_line

_CELL, _ROW, _SMALL = 30, 24, 11  # points: a cell's sides, and the size of the number in it
_LONGEST = 20  # columns of a token
_ABOUT = (WIDTH - 2 * MARGIN) // 8  # columns of a line of small print
_TURNED = 55  # degrees of the source's tokens
_CHARACTER = SIZE * 0.602


def picture(grids: Iterable[Grid]) -> str:
    body, y, right = legend(MARGIN + SIZE), MARGIN + SIZE + LINE + LINE // 2, float(WIDTH)
    for grid in grids:
        parts, y, end = _one(grid, y)
        body += parts
        right = max(right, end)
    wide, height = math.ceil(right), y
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {height}" width="{wide}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="{SIZE}"><title>Attention of translations</title>'
        f'<rect width="{wide}" height="{height}" fill="#ffffff"/>{"".join(body)}</svg>\n'
    )


def _one(grid: Grid, y: int) -> tuple[list[str], int, float]:
    """Its parts, where the next one begins, and how far it reaches to the right."""
    about = " · ".join(part for part in (grid.title, grid.shown, "cells: weight in %") if part)
    texts = ((line, "#111111") for line in (grid.source, f"→ {grid.translation}"))
    small = ((line, "#555555") for line in (about, grid.left_out) if line)
    parts = []
    for line, colour in (*small, *texts):
        shown = safe(cut(one_line(line), _ABOUT))
        parts.append(f'<text x="{MARGIN}" y="{y}" fill="{colour}" font-size="13">{shown}</text>')
        y += LINE - 4
    rows, columns = ([cut(one_line(token), _LONGEST) for token in side] for side in grid.drawn)
    left = MARGIN + max((width(row) for row in rows), default=0) * _CHARACTER + 8
    longest = max((width(column) for column in columns), default=0) * _CHARACTER
    angle = math.radians(_TURNED)
    top = y + longest * math.sin(angle) + SIZE
    for place, column in enumerate(columns):
        x = left + (place + 0.5) * _CELL + SIZE / 3
        turned = f"translate({x:.1f} {top - 6:.1f}) rotate(-{_TURNED})"
        parts.append(f'<text transform="{turned}" fill="#111111">{safe(column)}</text>')
    for number, row in enumerate(rows):
        middle = top + (number + 0.5) * _ROW
        parts.append(
            f'<text x="{left - 8:.1f}" y="{middle + SIZE / 3:.1f}" text-anchor="end" fill="#111111">{safe(row)}</text>'
        )
        for place, weight in enumerate(grid.weights[number, : len(columns)].tolist()):
            parts.append(_cell(weight, left + place * _CELL, top + number * _ROW))
    end = left + len(columns) * _CELL + longest * math.cos(angle) + MARGIN
    return parts, math.ceil(top + len(rows) * _ROW) + LINE, end


def _cell(weight: float, x: float, y: float) -> str:
    deep = strength(weight)
    shade = f"{deep:.2f}" if deep >= FAINTEST else "0"
    number = (
        f'<text x="{x + _CELL / 2:.1f}" y="{y + _ROW / 2 + 4:.1f}" text-anchor="middle" font-size="{_SMALL}" '
        f'fill="#111111" pointer-events="none">{percent(weight)}</text>'
        if percent(weight)
        else ""
    )
    return (
        f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{_CELL - 2}" height="{_ROW - 2}" rx="3" fill="#e66101" '
        f'fill-opacity="{shade}" stroke="#dddddd"><title>{weight:.4f}</title></rect>{number}'
    )
