"""`python -m benchmarks.five_models [--rows N] [--seeds N]`: the verdict *faithful* on five models of known truth.

On texts whose deciding words are planted, at two difficulties and with several seeds: a model without context and with
sparse weights, whose attention is what it decides by (yes); weights that are random, with and without context, and a
trained adversary of Wiegreffe & Pinter 2019 (no); and an ordinary BiLSTM, whose truth nobody knows, for comparison.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import attentest
from attentest.studies.verdict import Verdict, judge
from attentest.training.run import Run
from attentest.trials import make_trial
from attentest.trials.hold import hold
from attentest.trials.subject import subject_of

TRIALS = ("uniform", "exchange", "erasure")
TRAINING: dict[str, Any] = {"hidden": 64, "epochs": 10, "patience": 4, "select_by": "f1", "batch_size": 64, "lr": 2e-3}
TRUTH = {
    "average, sparsemax": "yes",
    "BiLSTM, softmax": "not known",
    "BiLSTM, random weights": "no",
    "average, random weights": "no",
    "adversary of the BiLSTM, λ = 0.01": "no",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    wrong = 0
    for difficulty in (0.3, 0.0):
        for seed in range(given.seeds):
            for name, run in models(given.rows, difficulty, seed):
                began = time.monotonic()
                found = faithful(run)
                right = TRUTH[name] in (found.answer, "not known")
                wrong += not right
                print(
                    f"difficulty {difficulty:g} seed {seed} {name:36} {found.answer:10} (truth: {TRUTH[name]}) "
                    f"{found.deciding.figure if found.deciding else ''} {time.monotonic() - began:.1f} s"
                    f"{'' if right else '  WRONG'}",
                    flush=True,
                )
    print(f"{wrong} wrong or undecided")


def models(rows: int, difficulty: float, seed: int) -> Iterator[tuple[str, Run]]:
    corpus = attentest.load("planted", rows=rows, difficulty=difficulty)
    settings: dict[str, Any] = {**TRAINING, "seed": seed}
    yield "average, sparsemax", attentest.train(corpus, encoder="average", projection="sparsemax", **settings)
    base = attentest.train(corpus, **settings)
    yield "BiLSTM, softmax", base
    yield "BiLSTM, random weights", attentest.train(corpus, projection="random", **settings)
    yield "average, random weights", attentest.train(corpus, encoder="average", projection="random", **settings)
    imitation: dict[str, Any] = {**settings, "objective": "adversary", "strength": 0.01, "select_by": "loss"}
    yield "adversary of the BiLSTM, λ = 0.01", attentest.train(corpus, base=base, **imitation)


def faithful(run: Run) -> Verdict:
    """From all test texts, without controls."""
    subject = replace(subject_of(run), folder=None)
    findings = hold([make_trial(name) for name in TRIALS], subject)
    verdicts = judge({("trial", finding.trial): finding.summary for finding in findings})
    return next(verdict for verdict in verdicts if verdict.definition.name == "faithful")


if __name__ == "__main__":
    main()
