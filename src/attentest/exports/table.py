"""CSV: one row for each test of each verdict."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from attentest.display.heatmaps.text import one_line
from attentest.exports.formulas import guarded
from attentest.files import without_nan
from attentest.measures.intervals import Estimate
from attentest.reports.contents import Block, Report
from attentest.studies.verdict import Rates

_ESTIMATE = [field.name for field in fields(Estimate)]
_RATES = [field.name for field in fields(Rates)]


def table(report: Report, blocks: Sequence[Block]) -> str:
    controls = dict.fromkeys(
        name for block in blocks for verdict in block.verdicts for ruling in verdict.rulings for name in ruling.controls
    )
    rows = list(_rows(blocks, list(controls)))
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return written.getvalue()


def _rows(blocks: Sequence[Block], controls: Sequence[str]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        for verdict in block.verdicts:
            about = {"model": block.name, "definition": verdict.definition.name, "verdict": verdict.answer}
            for ruling in verdict.rulings:
                yield about | {"of_consequence": verdict.of_consequence} | _flat(ruling.as_dict(), controls)


def _flat(ruling: Mapping[str, Any], controls: Sequence[str]) -> dict[str, Any]:
    """A ruling without anything nested: each number of its figures has a column."""
    row: dict[str, Any] = {}
    for name, value in ruling.items():
        if name in ("figure", "null", "ceiling"):
            row |= _spread(name, value, _ESTIMATE)
        elif name == "rates":
            row |= _spread(name, value, _RATES)
        elif name == "controls":
            for control in controls:
                row |= _spread(f"control {one_line(control)}", value.get(control), _ESTIMATE)
        else:
            row["test" if name == "name" else name] = value
    return row


def _spread(name: str, values: Mapping[str, Any] | None, keys: Sequence[str]) -> dict[str, Any]:
    return {f"{name} {key}": None if values is None else values[key] for key in keys}


def _cell(value: Any) -> Any:
    """Numbers stay numbers; a text that looks like a formula gets a quote before it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return guarded(one_line(value))
    return without_nan(value)
