"""The trials that fit every run, and settings under which each takes seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.measures.intervals import Estimate
from attentest.trials import TRIALS, trial_class

ON_RUNS = [name for name in TRIALS if not trial_class(name).needs_layers]
QUICK: dict[str, dict[str, Any]] = {
    "adversary": {"steps": 20},
    "information": {"runs": 2, "clusters": 5},
    "dispersion": {"influence_texts": 5},
}


# figures whose interval would not cover what it promises with fewer texts, so that they have none: medians by group
# (their labels begin with a bin of weights), deviations, information
FEWEST = {"[": 6, "std ": 100, "weighted τ": 100, "information ": 100, "position of the weights": 100}


def is_whole(label: str, estimate: Estimate) -> bool:
    """Whether a figure lies within its interval, is not defined, or has too few texts to have an interval."""
    if np.isnan(estimate.low) and np.isnan(estimate.high):
        few = [least for begin, least in FEWEST.items() if label.startswith(begin)]
        return bool(np.isnan(estimate.value)) or (bool(few) and estimate.n < few[0])
    return estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
