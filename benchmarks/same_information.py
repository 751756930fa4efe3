"""`python -m benchmarks.same_information [--seeds N]`: the trial information (T13) on 100, 400 and 1,000 texts.

Of the same model the intervals should overlap, whatever the number of texts; of a model whose weights are random they
should not lie above 0, where the information under the weights is that under equal ones.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import combinations

import attentest
from attentest.measures.intervals import Estimate
from attentest.trials import make_trial
from attentest.trials.hold import hold
from attentest.trials.information import Information
from attentest.trials.subject import subject_of

TEXTS = (100, 400, 1000)
ROWS = 7500  # a seventh is for test


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    corpus = attentest.load("planted", rows=ROWS, difficulty=0.3)
    failures = 0
    for seed in range(given.seeds):
        for projection in ("softmax", "random"):
            run = attentest.train(corpus, projection=projection, hidden=32, epochs=3, seed=seed)
            found = {texts: position(run, texts) for texts in TEXTS}
            print(
                f"seed {seed}, {projection}: " + ", ".join(f"{n} texts {one}" for n, one in found.items()), flush=True
            )
            failures += sum(not overlap(*pair) for pair in combinations(found.values(), 2))
            if projection == "random":
                failures += sum(one.low > 0 for one in found.values())
    print(f"{failures} intervals that do not overlap, or lie above the null without information")
    return 1 if failures else 0


def position(run: attentest.Run, texts: int) -> Estimate:
    subject = replace(subject_of(run, texts=texts), folder=None)
    assert len(subject.rows) == texts, "too few test texts"
    (finding,) = hold([make_trial("information")], subject)
    return finding.summary[Information.keys["position"]]


def overlap(one: Estimate, other: Estimate) -> bool:
    return one.low <= other.high and other.low <= one.high


if __name__ == "__main__":
    sys.exit(main())
