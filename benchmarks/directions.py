"""`python -m benchmarks.directions`: run the papers' studies (budget standard) and put the results into the docs.

Needs the benchmarks in ATTENTEST_DATA. What is in the store (ATTENTEST_STORE or a cache) is not done again.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import attentest
from attentest.cli.terminal import TerminalWatcher
from attentest.engine.local import LocalPool
from attentest.studies import Study, find_study
from attentest.studies.expand import with_budget
from attentest.studies.run_study import run_study
from attentest.studies.steps.summary import directions_table
from benchmarks.reproduction import PAGE, ROOT, replaced

STUDIES = ROOT / "runs" / "studies"
PAPERS = ("jain2019", "wiegreffe2019", "meister2021", "wen2022")
IMDB_ROWS = 4000


def main() -> int:
    studies = [replace(standard(paper), corpora=("sst_jw",)) for paper in PAPERS]
    studies += [on_imdb(paper) for paper in PAPERS]
    try:
        summaries = [run(study) for study in studies]
    except attentest.InputError as error:
        print(error, file=sys.stderr)
        return 2
    lines = directions_table([row for summary in summaries for row in summary["directions"]])
    counted = [
        f"| {summary['study']} | {summary['cells']['published']} | {summary['cells']['with public data']} "
        f"| {summary['cells']['ours']} | {summary['cells']['within tolerance']} |"
        for summary in summaries
    ]
    head = ["| study | published cells | with public data | ours | within tolerance |", "|---|---|---|---|---|"]
    page = replaced(PAGE.read_text(encoding="utf-8"), "directions", "\n".join(lines))
    PAGE.write_text(replaced(page, "cells", "\n".join(head + counted)), encoding="utf-8")
    print(PAGE)
    return 0


def standard(paper: str) -> Study:
    return replace(with_budget(find_study(paper), "standard"), name=f"{paper}-sst")


def on_imdb(paper: str) -> Study:
    """What the directions need, and no more: an epoch takes nine times as long as on SST."""
    study = replace(standard(paper), name=f"{paper}-imdb", corpora=("imdb_jw",), rows=IMDB_ROWS)
    fewer: dict[str, dict[str, Any]] = {
        "wiegreffe2019": {
            "experiments": {
                "guides": study.experiments.get("guides", {}),
                "adversary": {**study.experiments.get("adversary", {}), "lambdas": [0.001, 0.01], "seeds": 1},
            }
        },
        "meister2021": {
            "models": study.models[:1],
            "trials": {},
            # the weaker λ: with the stronger one so few rows teach a new model nothing
            "experiments": {"frozen": {"strength": 0.001, "epochs": 15, "patience": 5, "frozen_strengths": (0.1, 1.0)}},
        },
        "wen2022": {
            "models": tuple(model for model in study.models if model["alignment"] != "deep"),
            "experiments": {"fix": study.experiments.get("fix", {})},
        },
    }
    return replace(study, **fewer.get(paper, {}))


def run(study: Study) -> dict[str, Any]:
    out = STUDIES / study.name
    with TerminalWatcher() as watcher:
        watcher.note(study.name)
        applied = replace(study, budgets={"standard": {}})
        outcome = run_study(applied, out, LocalPool, budget="standard", watchers=[watcher])
    if outcome.failed:
        raise attentest.InputError(f"{study.name}: {outcome.failed}")
    found: dict[str, Any] = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main())
