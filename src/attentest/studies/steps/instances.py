"""Single texts under other weights, for heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.files import write_table
from attentest.models.pretrained.precision import AUTO
from attentest.progress import Listener
from attentest.studies.experiments.adversary import FAR, best_far_on_dev, furthest_on_dev, on_dev
from attentest.studies.experiments.base import Difference, difference
from attentest.training.run import Run, choose_device
from attentest.trials.instances import ORIGINAL, SCHEMA, TRAINED, instances
from attentest.trials.subject import subject_of

FILE = "instances.parquet"


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    base = Run(inputs["run"])
    device = str(choose_device(settings["device"]))
    examined = base.computed_in(settings.get("dtype", AUTO))
    table = instances(subject_of(examined, device=device, memory=settings.get("memory")), settings["texts"])
    adversaries = [Run(path) for role, path in inputs.items() if role.startswith("adversary ")]
    if adversaries:
        table = _with_adversary(table, base, adversaries)
    write_table(out / FILE, table)


def _with_adversary(table: pa.Table, base: Run, adversaries: list[Run]) -> pa.Table:
    """And the weights of a trained adversary (Wiegreffe & Pinter 2019 Fig. 2): on dev the one with the best F1 of those
    far away, or else the furthest."""
    found = {adversary: on_dev([adversary]) for adversary in adversaries}
    chosen = best_far_on_dev(found, FAR) or furthest_on_dev(found)
    rows = table.to_pylist()
    texts = [row for row in rows if row["variant"] == ORIGINAL]
    order = {row["id"]: place for place, row in enumerate(texts)}
    together = sorted([*rows, *_rows(texts, difference(base, chosen), chosen)], key=lambda row: order[row["id"]])
    return pa.Table.from_pylist(together, SCHEMA)


def _rows(texts: list[dict[str, Any]], apart: Difference, adversary: Run) -> list[dict[str, Any]]:
    predictions, weights = adversary.predictions, adversary.word_shares
    place = {id: row for row, id in enumerate(predictions["id"].to_pylist())}
    found = []
    for text in (text for text in texts if text["id"] in place):  # of a window the adversary's tables say nothing
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
