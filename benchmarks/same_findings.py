"""Whether two folders of one audit or study hold the same findings, to the last digit.

python -m benchmarks.same_findings BEFORE AFTER: tables, summaries and cells are compared, by model, kind and name;
exit code 1 and a line for each that differs. For a change that must change no result.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Key = tuple[str, str, str]  # model, kind and name of a finding


def main(before: Path, after: Path) -> int:
    old, new = findings(before), findings(after)
    told = [f"only in {side}: {key}" for key, side in _alone(old, new, before, after)]
    for key in sorted(old.keys() & new.keys()):
        told += [f"{key}: {what} differ" for what in differing(old[key], new[key])]
    told += [f"{name} differ" for name in ("ours.parquet", "directions.parquet") if not _same_rows(before, after, name)]
    print("\n".join(told) or f"{len(new)} findings and all cells are the same to the last digit")
    return 1 if told else 0


def findings(folder: Path) -> dict[Key, Path]:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {
        (row["block"], row["kind"].replace("finding", "trial"), row["name"]): folder / row["folder"]
        for row in summary["findings"]
    }


def differing(old: Path, new: Path) -> list[str]:
    parts = {"summaries": _summary, "tables": _table}
    return [name for name, read in parts.items() if read(old) != read(new)]


def _summary(folder: Path) -> Any:
    return json.loads((folder / "finding.json").read_text(encoding="utf-8"))["summary"]


def _table(folder: Path) -> Any:
    return _as_text(pq.read_table(folder / "table.parquet"))


def _as_text(table: pa.Table) -> str:
    """Every value with all its digits; NaN is the same as NaN."""
    return repr(table.to_pydict())


def _same_rows(before: Path, after: Path, name: str) -> bool:
    there = [(folder / name).is_file() for folder in (before, after)]
    return there == [False, False] or (
        there == [True, True] and _as_text(pq.read_table(before / name)) == _as_text(pq.read_table(after / name))
    )


def _alone(old: dict[Key, Path], new: dict[Key, Path], before: Path, after: Path) -> list[tuple[Key, Path]]:
    return [(key, before if key in old else after) for key in sorted(old.keys() ^ new.keys())]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
