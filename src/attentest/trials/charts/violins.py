"""Violins: densities of a value by the largest weight and the predicted class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from attentest.trials.base import BIN_NAMES, Chart, column, words
from attentest.trials.charts.classes import class_groups, one_group
from attentest.trials.charts.frame import CLICKED, colour, fading, frame, number, see_through, tooltip, unless_faded

POINTS = 81  # of the grid on which a density is drawn
_CELLS = 2000  # values are counted in so many cells first, so that many texts cost no more than few
_HEIGHT = 0.44  # of a violin's half, where rows are 1 apart


def density(values: Float[np.ndarray, "texts"], largest: float) -> tuple[np.ndarray, np.ndarray]:
    """A grid on [0, largest] and the values' density on it: a Gaussian kernel, reflected at both ends, so that all of
    its mass lies within the range. The bandwidth is Silverman's, at least a step of the grid."""
    grid = np.linspace(0, largest, POINTS)
    counts, edges = np.histogram(np.clip(values, 0, largest), _CELLS, (0, largest))
    centres = (edges[1:] + edges[:-1]) / 2
    low, high = np.quantile(values, [0.25, 0.75])
    spread = min(float(np.std(values)), (high - low) / 1.34) or float(np.std(values))
    width = max(0.9 * spread * len(values) ** -0.2, grid[1])
    some = counts > 0
    counts, centres = counts[some], centres[some]
    images = np.concatenate((centres, -centres, 2 * largest - centres))
    kernel = np.exp(-0.5 * ((grid[:, None] - images) / width) ** 2)
    # a matrix product would add up in an order that depends on where in memory its factors lie
    found = (kernel * np.tile(counts, 3)).sum(1)
    return grid, found / np.trapezoid(found, grid)


def violins_by_bin(
    table: pa.Table, value: str, title: str, description: str, largest: float = 1.0, by_class: bool = True
) -> Chart:
    """Of two classes the first lies above the line of its bin and the second below it (Wiegreffe & Pinter 2019
    Fig. 3); more lie on one
    another. Each is as high as its own peak; a line marks its median."""
    groups = class_groups(table) if by_class else one_group(table)
    values, bins = column(table, value), words(table, "bin")
    rows: list[dict[str, Any]] = []
    totals = []
    for place, name in enumerate(BIN_NAMES):
        defined = (bins == name) & ~np.isnan(values)
        totals.append(int(defined.sum()))
        for side, group in enumerate(groups):
            found = values[defined & group.there]
            if len(found):
                rows.append({"class": group.name, "bin": name, **_violin(found, largest, place, side, len(groups))})
    names = [group.name for group in groups]
    shown = {"color": colour("class", "predicted" if by_class else None, names)}
    told = {
        "class": "predicted" if by_class else "of",
        "bin": "largest weight",
        "n": "texts|,",
        "median": f"median of {title}|.3f",
    }
    labels = [[name, f"n = {total:,}"] for name, total in zip(BIN_NAMES, totals, strict=True)]
    axis = {"values": list(range(len(BIN_NAMES))), "labelExpr": f"{labels}[datum.value]", "grid": False, "ticks": False}
    y = number("edge", "largest attention weight", [-0.5, len(BIN_NAMES) - 0.5]) | {"axis": axis, "stack": None}
    return frame(
        description,
        rows,
        width=420,
        height=64 * len(BIN_NAMES),
        params=fading("class"),
        layer=[
            {
                "transform": [{"flatten": ["value", "edge"]}],
                "name": CLICKED,
                "mark": {"type": "area", "line": {"strokeWidth": 1}, "clip": True},
                "encoding": shown
                | {
                    "x": number("value", title, [0, largest]) | {"axis": {"tickCount": 7}},
                    "y": y,
                    "y2": {"field": "line"},
                    "detail": {"field": "bin"},
                    "opacity": see_through(len(groups)),
                    "tooltip": tooltip(**told),
                },
            },
            {
                "mark": {"type": "rule", "color": "black", "strokeWidth": 1.5},
                "encoding": {
                    "x": {"field": "median", "type": "quantitative"},
                    "y": {"field": "line", "type": "quantitative"},
                    "y2": {"field": "top"},
                    "opacity": unless_faded(1),
                    "tooltip": tooltip(**told),
                },
            },
        ],
    )


def _violin(values: np.ndarray, largest: float, place: int, side: int, sides: int) -> dict[str, Any]:
    """Its outline, from the line it stands on; the side of the second of two classes hangs below that."""
    grid, found = density(values, largest)
    line, height = (place, _HEIGHT * (-1) ** side) if sides == 2 else (place - _HEIGHT, 2 * _HEIGHT)
    edge = line + height * found / found.max()
    median = float(np.median(values))
    return {
        "n": len(values),
        "median": median,
        "line": line,
        "top": float(np.interp(median, grid, edge)),
        "value": grid,
        "edge": edge,
    }
