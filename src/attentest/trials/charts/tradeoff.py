"""JSD of attention against TVD of predictions (Wiegreffe & Pinter 2019 Fig. 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.trials.base import Chart
from attentest.trials.charts.frame import CLICKED, PALETTE, category, fading, frame, number, tooltip, unless_faded

KINDS = {
    "trained adversary": ("circle", PALETTE[0]),
    "random seed": ("triangle-up", PALETTE[1]),
    "uniform weights": ("square", PALETTE[2]),
    "instance adversary": ("cross", PALETTE[3]),
}


def tradeoff(rows: Sequence[Mapping[str, Any]], description: str) -> Chart:
    """Rows have the keys kind (of KINDS), class, lambda, tvd, jsd and f1; several classes are several panels."""
    classes = list(dict.fromkeys(row["class"] for row in rows))
    kinds = list(KINDS)
    told = {"kind": "model", "class": "predicted", "lambda": "λ|~g", "tvd": "TVD|.3f", "jsd": "JSD|.3f", "f1": "F1|.3f"}
    place = {
        "x": number("tvd", "TVD to the base's predictions (0–1)", zero=True) | {"axis": {"tickCount": 6}},
        "y": number("jsd", "JSD to the base's attention (nats, at most 0.693)", [0, 0.7]),
    }
    look = {"field": "kind", "type": "nominal", "title": None}
    view = {
        "width": 420 if len(classes) == 1 else 300,
        "height": 300,
        "layer": [
            {
                "transform": [{"filter": f"datum.kind === '{kinds[0]}'"}],
                "mark": {"type": "line", "strokeDash": [2, 3], "color": PALETTE[0]},
                "encoding": place | {"order": {"field": "lambda", "type": "quantitative"}},
            },
            {
                "name": CLICKED,
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": place
                | {
                    "color": look | {"scale": {"domain": kinds, "range": [c for _, c in KINDS.values()]}},
                    "shape": look | {"scale": {"domain": kinds, "range": [s for s, _ in KINDS.values()]}},
                    "opacity": unless_faded(0.9),
                    "tooltip": tooltip(**told),
                },
            },
        ],
    }
    if len(classes) == 1:
        return frame(description, rows, params=fading("kind"), **view)
    facet = category("class", "predicted", classes)
    return frame(description, rows, params=fading("kind"), facet=facet, columns=2, spacing=32, spec=view)
