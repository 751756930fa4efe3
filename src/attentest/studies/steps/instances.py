"""Single texts under other weights, for heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.files import write_table
from attentest.progress import Listener
from attentest.studies.experiments.adversary import FAR
from attentest.studies.experiments.base import Difference, difference
from attentest.training.run import Run, choose_device
from attentest.trials.instances import ORIGINAL, SCHEMA, TRAINED, instances
from attentest.trials.subject import subject_of

FILE = "instances.parquet"


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    base = Run(inputs["run"])
    device = str(choose_device(settings["device"]))
    table = instances(subject_of(base, device=device), settings["texts"])
    adversaries = [Run(path) for role, path in inputs.items() if role.startswith("adversary ")]
    if adversaries:
        table = _with_adversary(table, base, adversaries)
    write_table(out / FILE, table)


def _with_adversary(table: pa.Table, base: Run, adversaries: list[Run]) -> pa.Table:
    """And the weights of a trained adversary (Wiegreffe & Pinter 2019 Fig. 2): the most accurate of those far away, or
    else the furthest."""
    apart = [(difference(base, other), other) for other in adversaries]
    far = [pair for pair in apart if pair[0].jsd.mean() > FAR]
    chosen = (
        max(far, key=lambda pair: pair[1].metrics["f1"]) if far else max(apart, key=lambda pair: pair[0].jsd.mean())
    )
    rows = table.to_pylist()
    texts = [row for row in rows if row["variant"] == ORIGINAL]
    order = {row["id"]: place for place, row in enumerate(texts)}
    together = sorted([*rows, *_rows(texts, *chosen)], key=lambda row: order[row["id"]])
    return pa.Table.from_pylist(together, SCHEMA)


def _rows(texts: list[dict[str, Any]], apart: Difference, adversary: Run) -> list[dict[str, Any]]:
    predictions, weights = adversary.predictions, adversary.shares
    place = {id: row for row, id in enumerate(predictions["id"].to_pylist())}
    found = []
    for text in texts:
        row = place[text["id"]]
        said = predictions.slice(row, 1).to_pylist()[0]
        found.append(
            text
            | {
                "variant": TRAINED,
                "predicted": said["predicted"],
                "probability": max(said["probability"]),
                "tvd": float(apart.tvd[row]),
                "jsd": float(apart.jsd[row]),
                "weight": weights[row],
            }
        )
    return found
