"""`python -m benchmarks.reproduction`: train on the papers' corpora and put ours beside theirs in the docs.

Needs the benchmarks in ATTENTEST_DATA. Runs lie in runs/reproduction: what is finished there is not done again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attentest
from attentest.cli.terminal import TerminalListener

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "reproduction"
FIGURES = ROOT / "docs" / "reproduction.json"
PAGE = ROOT / "docs" / "reproduction.md"

# accuracy from Meister et al. 2021, Table 3, and Wen et al. 2022, Table 1; F1 from Wiegreffe & Pinter 2019, Table 2
PUBLISHED = {
    "sst_jw": ("0.82", "0.831"),
    "imdb_jw": ("0.90", "0.902"),
    "ag_news_jw": ("0.96", "0.964"),
    "20news_sports_jw": ("0.91–0.92", "0.942"),
}
VECTORS = ("glove-6b-50d", "random")
# mean τ over all instances in the result files of Jain & Wallace 2019: attention – gradient × input, attention –
# leave-one-out, and between
PUBLISHED_TAU = {"sst_jw": ("0.351", "0.291", "0.656"), "imdb_jw": ("0.437", "0.341", "0.517")}
TAUS = (
    "attention – gradient-input-fixed",
    "attention – gradient-input",
    "attention – leave-one-out",
    "gradient-input-fixed – leave-one-out",
    "gradient-input – leave-one-out",
)


def main() -> int:
    try:
        figures = [_train(corpus, vectors) for corpus in PUBLISHED for vectors in VECTORS]
        for row in figures:
            if row["corpus"] in PUBLISHED_TAU:
                row["tau"] = _correlate(RUNS / f"{row['corpus']}-{row['vectors']}")
    except attentest.InputError as error:
        print(error, file=sys.stderr)
        return 2
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    for name, table in (("classification", classification(figures)), ("correlation", correlation(figures))):
        page = replaced(page, name, table)
    PAGE.write_text(page, encoding="utf-8")
    print(PAGE)
    return 0


def replaced(page: str, name: str, table: str) -> str:
    begin, end = f"<!-- {name}: made by `make reproduce` -->", f"<!-- end of {name} -->"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def _correlate(path: Path) -> dict[str, dict[str, float]]:
    """Mean τ with intervals over the whole test split, and the share of texts with p < 0.05."""
    stored = path / "trials" / "correlation" / "finding.json"
    if not stored.exists():
        with TerminalListener() as listener:
            listener.note(f"correlation, {path.name}")
            run = attentest.open_run(path)
            attentest.trial("correlation", run, watch=lambda done, total: listener.progress("read", done, total))
    summary = json.loads(stored.read_text(encoding="utf-8"))["summary"]
    return {pair: summary[f"τ {pair}"] | {"significant": summary[f"significant {pair}"]["value"]} for pair in TAUS}


def _train(name: str, vectors: str) -> dict[str, Any]:
    with TerminalListener() as listener:
        listener.note(f"{name}, {vectors}")
        run = attentest.train(attentest.load(name), RUNS / f"{name}-{vectors}", vectors=vectors, listener=listener)
    rows = {split: sum(counts.values()) for split, counts in run.settings["corpus"]["rows"].items()}
    return {
        "corpus": name,
        "vectors": vectors,
        "test": run.metrics,
        "epoch": json.loads((run.path / "result.json").read_text(encoding="utf-8"))["best_epoch"],
        "train_rows": rows["train"],
        "test_rows": run.predictions.num_rows,
        "corpus_hash": run.settings["corpus"]["fingerprint"],
        "versions": run.settings["versions"],
    }


def classification(figures: list[dict[str, Any]]) -> str:
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


def correlation(figures: list[dict[str, Any]]) -> str:
    lines = [
        "| corpus | vectors | attention – gradient × input, attention fixed | through attention | published "
        "| attention – leave-one-out | published | gradient × input – leave-one-out, fixed | through | published |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in figures:
        if "tau" not in row:
            continue
        fixed, through, erased, ceiling_fixed, ceiling = (_interval(row["tau"][pair]) for pair in TAUS)
        gradient, erasure, between = PUBLISHED_TAU[row["corpus"]]
        lines.append(
            f"| {row['corpus']} | {row['vectors']} | {fixed} | {through} | {gradient} | {erased} | {erasure} "
            f"| {ceiling_fixed} | {ceiling} | {between} |"
        )
    return "\n".join(lines)


def _interval(tau: dict[str, float]) -> str:
    return f"{tau['value']:.3f} [{tau['low']:.3f}, {tau['high']:.3f}]"


if __name__ == "__main__":
    sys.exit(main())
