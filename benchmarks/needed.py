"""`python -m benchmarks.needed`: what attention is worth on single texts and pairs, for the docs.

Needs the benchmarks in ATTENTEST_DATA. What is in the store (ATTENTEST_STORE or a cache) is not done again.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from typing import Any

import attentest
from attentest.studies import Study, find_study
from attentest.studies.expand import with_budget
from attentest.studies.published import of_corpus
from benchmarks.directions import STUDIES, run
from benchmarks.reproduction import PAGE, replaced

DECODERS = ({"decoder": "context"}, {"decoder": "context+query"})
UNIFORM = {"uniform": {"weights": ("uniform",)}}
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (  # what is other than in the paper's study at the budget standard
    ("sst_jw", {}),
    ("babi1", {"models": DECODERS}),
    ("babi1-generated", {"models": DECODERS[1:], "experiments": {}}),
    ("babi2", {"models": DECODERS, "experiments": UNIFORM}),
    ("snli", {"models": DECODERS[:1], "experiments": UNIFORM}),
    ("snli", {"models": (*DECODERS[1:], {"pairing": "conditional"}), "experiments": {}}),
    ("babi3", {"models": DECODERS[:1], "experiments": {}}),
)
COLUMNS = {
    "uniform, trained": "uniform, trained and inferred",
    "uniform": "uniform, inferred",
    "random": "random, inferred",
    "permuted": "permuted, inferred",
}


def main() -> int:
    lines = [
        "| corpus | model | accuracy | published | "
        + " | ".join(f"{name} | published" for name in COLUMNS)
        + " | on the fact |",
        "|---|---|---|---|" + "---|---|" * len(COLUMNS) + "---|",
    ]
    try:
        for study in (of(number, *entry) for number, entry in enumerate(CHANGES)):
            run(study)
            lines += _lines(study)
    except attentest.InputError as error:
        print(error, file=sys.stderr)
        return 2
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), "needed", "\n".join(lines)), encoding="utf-8")
    print(PAGE)
    return 0


def of(number: int, corpus: str, changes: dict[str, Any]) -> Study:
    study = with_budget(find_study("vashishth2019"), "standard")
    trials: dict[str, dict[str, Any]] = {"uniform": {}, **({"rationale": {}} if corpus.startswith("babi") else {})}
    on = {**study.training_on, "babi1-generated": study.training_on["babi1"]}
    everything = {"training_on": on, "rows": None, "texts": None, "trials": trials, "corpora": (corpus,)}
    return replace(study, name=f"vashishth2019-{number}-{corpus}", **{**everything, **changes})


def _lines(study: Study) -> list[str]:
    with (STUDIES / study.name / "ours.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    theirs = of_corpus("vashishth2019", study.corpora[0])
    found = []
    for model in dict.fromkeys(row["model"] for row in rows):
        ours = {(row["variant"], row["measure"]): row for row in rows if row["model"] == model}
        cells = [_cell(ours.get(("base", "accuracy %"))), _theirs(theirs.get((model, "base", "accuracy %")))]
        for variant in COLUMNS.values():
            cells.append(_cell(ours.get((variant, "delta accuracy %")), signed=True))
            cells.append(_theirs(theirs.get((model, variant, "delta accuracy %"))))
        cells.append(_cell(ours.get(("attention", "heaviest in rationale %"))))
        found.append(f"| {study.corpora[0]} | {model} | {' | '.join(cells)} |")
    return found


def _cell(row: dict[str, str] | None, signed: bool = False) -> str:
    if row is None:
        return ""
    sign = "+" if signed else ""
    value, low, high = (f"{float(row[key]):{sign}.1f}" for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _theirs(cell: Any) -> str:
    return "" if cell is None else f"{cell.value:g}"


if __name__ == "__main__":
    sys.exit(main())
