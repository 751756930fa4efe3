"""Runs whose figures on dev are made up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import attentest


def told(run: attentest.Run, folder: Path, **dev: float) -> attentest.Run:
    """A copy of a run that says these on dev, after every epoch."""
    shutil.copytree(run.path, folder)
    rows = pq.read_table(folder / "history.parquet").to_pylist()
    pq.write_table(pa.Table.from_pylist([row | dev for row in rows]), folder / "history.parquet")
    return attentest.open_run(folder)
