"""Charts of what layers matter, from the names that a summary has for each change (Vashishth et al. 2019 Fig. 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attentest.layer_interventions import KINDS
from attentest.measures.intervals import Estimate
from attentest.trials.base import Chart
from attentest.trials.charts import bars_in_groups, interval, lines
from attentest.trials.layer_choices import ABOVE, BELOW

SITE = r"([\w.-]{1,60})"  # in names of columns and of the summary
KIND = f"({'|'.join(KINDS)})"


def curves_of_layers(summary: Mapping[str, Estimate], measure: str, axis: str, description: str) -> dict[str, Chart]:
    """A measure by the number of changed layers, a chart for each direction (and stack); with 0 it is the model's."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, estimate in summary.items():
        found = re.fullmatch(rf"{measure}, {KIND}, (\d{{1,4}}) ({BELOW}|{ABOVE})(?: of {SITE})?", name)
        if not found:
            continue
        kind, n, direction, stack = found.groups()
        title = f"{measure} by layers changed {direction}" + (f", {stack}" if stack else "")
        of_kind = rows.setdefault(title, [])
        if n == "1":
            of_kind.append(_point(kind, 0, summary[measure]))
        of_kind.append(_point(kind, int(n), estimate))
    return {title: lines(of_chart, "layers changed", axis, description, bands=True) for title, of_chart in rows.items()}


def bars_of_layers(summary: Mapping[str, Estimate], measure: str, axis: str, description: str) -> dict[str, Chart]:
    """A measure when the weights of a single layer are replaced."""
    rows = []
    for name, estimate in summary.items():
        found = re.fullmatch(rf"{measure}, {KIND}, {SITE}", name)
        if found:
            rows += [{**row, "weights": found[1]} for row in interval(found[2], estimate)]
    rows = [{"layer": row["group"], **row} for row in rows]
    chart = bars_in_groups(rows, ("layer", "weights"), axis, description)
    return {f"{measure} by single layers": chart} if rows else {}


def _point(series: str, x: int, estimate: Estimate) -> dict[str, Any]:
    return {"series": series, "x": x, **estimate.as_dict()}
