"""Parquet files, read whole by the thread that asks: a small table is not worth a pool of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    # pyarrow's own read_table scans with two thread pools and was seen to wait on them for ever on a loaded machine
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return file.read(columns=None if columns is None else list(columns), use_threads=False)
