"""What an audit's controls got: models of known truth that were trained next to the one that is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.intervals import Estimate
from attentest.studies.experiments.base import rows_of
from attentest.studies.verdict.judge import Summaries

CONTROLS = "controls"  # the experiment
MOST = 10_000  # figures; ours have some hundreds


def controls_of(table: pa.Table, summary: Mapping[str, Estimate]) -> dict[str, Summaries]:
    """Control -> the summaries of its trials and experiments; the table may be anybody's."""
    if table.num_rows > MOST:
        raise InputError(f"it has {table.num_rows:,} rows; expected at most {MOST:,}.")
    found: dict[str, dict[tuple[str, str], dict[str, Estimate]]] = {}
    for row in rows_of(table, named=["label", "kind", "name", "entry"], numbers=["value", "low", "high", "n"]):
        figures = found.setdefault(row["label"], {}).setdefault((row["kind"], row["name"]), {})
        figures[row["entry"]] = _estimate(row)
    return dict(found)


def _estimate(row: Mapping[str, Any]) -> Estimate:
    value, low, high = (math.nan if row[name] is None else row[name] for name in ("value", "low", "high"))
    texts = row["n"]
    if texts is None or not 0 <= texts <= 2**53:
        raise InputError(f"the column 'n' has {texts} where a number of texts is expected.")
    return Estimate(value, low, high, int(texts))
