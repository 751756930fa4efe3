"""`python -m benchmarks [NAME …]`: print the table and write benchmarks/latest.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import attentest  # noqa: F401  (sets how threads wait, before torch is imported)
from attentest.errors import InputError, unknown_name
from benchmarks.row import Row

BENCHMARKS = {
    "training-sst": "benchmarks.training:sst_like",
    "training-imdb": "benchmarks.training:imdb_like",
    "leave-one-out-sst": "benchmarks.erasure:sst_like",
    "leave-one-out-imdb": "benchmarks.erasure:imdb_like",
    "gradient-input-sst": "benchmarks.gradients:input_sst",
    "gradient-input-imdb": "benchmarks.gradients:input_imdb",
    "influence-sst": "benchmarks.gradients:influence_sst",
    "influence-imdb": "benchmarks.gradients:influence_imdb",
    "memory": "benchmarks.memory:million_rows",
}


def main(names: list[str]) -> int:
    try:
        chosen = [_benchmark(name) for name in names or BENCHMARKS]
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    rows: list[Row] = []
    for benchmark in chosen:
        for row in benchmark():
            print(_line(row), flush=True)
            rows.append(row)
    file = Path(__file__).with_name("latest.json")
    file.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    print(f"\n{file}")
    return 0


def _benchmark(name: str) -> Callable[[], list[Row]]:
    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    module, _, function = BENCHMARKS[name].partition(":")
    benchmark: Callable[[], list[Row]] = getattr(import_module(module), function)
    return benchmark


def _line(row: Row) -> str:
    target = "" if row.target is None else f"target {row.target:g}"
    return (
        f"{row.name:<26} ours {row.ours:9.3f}  twin {row.twin:9.3f}  ratio {row.ratio:6.2f}  {target:<10}  {row.work}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
