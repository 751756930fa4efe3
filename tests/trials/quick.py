"""The trials that fit every run, and settings under which each takes seconds."""

from __future__ import annotations

from typing import Any

from attentest.trials import TRIALS, trial_class

ON_RUNS = [name for name in TRIALS if not trial_class(name).needs_layers]
QUICK: dict[str, dict[str, Any]] = {
    "adversary": {"steps": 20},
    "information": {"runs": 2, "clusters": 5},
    "dispersion": {"influence_texts": 5},
}
