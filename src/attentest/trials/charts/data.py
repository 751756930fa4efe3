"""The numbers behind a chart, as the rows of a table."""

from __future__ import annotations

import csv
import io
from typing import Any

from attentest.trials.base import Chart


def rows_of(chart: Chart) -> list[dict[str, Any]]:
    """A row whose cells are lists is as many rows as they are long."""
    return [flat for row in chart.get("data", {}).get("values", []) for flat in _flattened(row)]


def _flattened(row: dict[str, Any]) -> list[dict[str, Any]]:
    lists = [len(cell) for cell in row.values() if isinstance(cell, list)]
    if not lists:
        return [row]
    return [{key: cell[i] if isinstance(cell, list) else cell for key, cell in row.items()} for i in range(max(lists))]


def table_of(chart: Chart) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and the cells of each row; None where a row has no such cell."""
    rows = rows_of(chart)
    head = list(dict.fromkeys(key for row in rows for key in row))
    return head, [[row.get(key) for key in head] for row in rows]


def csv_of(chart: Chart) -> str:
    head, rows = table_of(chart)
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([head, *rows])
    return written.getvalue()
