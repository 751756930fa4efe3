"""`python -m benchmarks.reproduction`: train on the papers' corpora and put ours beside theirs in the docs.

Needs the benchmarks in ATTENTEST_DATA. Runs lie in runs/reproduction: what is finished there is not trained again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import attentest
from attentest.progress import TerminalListener

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "reproduction"
FIGURES = ROOT / "docs" / "reproduction.json"
PAGE = ROOT / "docs" / "reproduction.md"
BEGIN, END = "<!-- classification: made by `make reproduce` -->", "<!-- end of classification -->"

# accuracy as ME Table 3 and WE Table 1 have it, F1 of the positive class as WP Table 2 reproduced it
PUBLISHED = {
    "sst_jw": ("0.82", "0.831"),
    "imdb_jw": ("0.90", "0.902"),
    "ag_news_jw": ("0.96", "0.964"),
    "20news_sports_jw": ("0.91–0.92", "0.942"),
}
VECTORS = ("glove-6b-50d", "random")


def main() -> int:
    try:
        figures = [_train(corpus, vectors) for corpus in PUBLISHED for vectors in VECTORS]
    except attentest.InputError as error:
        print(error, file=sys.stderr)
        return 2
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(figures)}\n{END}{after}", encoding="utf-8")
    print(PAGE)
    return 0


def _train(name: str, vectors: str) -> dict:
    with TerminalListener() as listener:
        listener.note(f"{name}, {vectors}")
        run = attentest.train(attentest.load(name), RUNS / f"{name}-{vectors}", vectors=vectors, listener=listener)
    rows = {split: sum(counts.values()) for split, counts in run.settings["corpus"]["rows"].items()}
    return {
        "corpus": name,
        "vectors": vectors,
        "test": run.metrics,
        "epoch": json.loads((run.path / "result.json").read_text())["best_epoch"],
        "train_rows": rows["train"],
        "test_rows": run.predictions.num_rows,
        "corpus_hash": run.settings["corpus"]["fingerprint"],
        "versions": run.settings["versions"],
    }


def table(figures: list[dict]) -> str:
    lines = [
        "| corpus | training rows | test rows | vectors | epoch | accuracy | published | F1 | published |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in figures:
        accuracy, f1 = PUBLISHED[row["corpus"]]
        lines.append(
            f"| {row['corpus']} | {row['train_rows']:,} | {row['test_rows']:,} | {row['vectors']} | {row['epoch']} "
            f"| {row['test']['accuracy']:.3f} | {accuracy} | {row['test']['f1']:.3f} | {f1} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
