"""`python -m benchmarks.coverage [SIMULATIONS]`: how often each kind of 95 % interval covers the truth.

"false no" is the share of intervals that lie wholly below the truth: of an audit of a model exactly at a threshold,
the chance of a wrong "no". Writes docs/coverage.json, from which `make docs` makes the table of the page of verdicts.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from attentest.files import write_json
from benchmarks.coverage import models, texts, trainings
from benchmarks.coverage.row import TEXTS

FILE = Path(__file__).parents[2] / "docs" / "coverage.json"


def main(arguments: list[str]) -> int:
    simulations = int(arguments[0]) if arguments else 2000
    head = f"{'interval':<28} {'data':<40} {'n':>5}   covered  false no  false yes  without    width"
    print(head, flush=True)
    found = []
    for n in TEXTS:
        for part in (texts, trainings, models):
            for row in part.rows(n, simulations):
                print(row, flush=True)
                found.append(row)
    write_json(FILE, [asdict(row) for row in found])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
