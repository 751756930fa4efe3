"""Fisher's exact test: do two groups differ in a share?"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_SAME = 1 + 1e-7  # tables that are as likely but for rounding


def fisher_p(hits: int, of: int, other_hits: int, of_other: int) -> float:
    """Two-sided p: the probability of all tables with these sums that are no more likely than this one."""
    total = hits + other_hits
    least = max(0, total - of_other)
    logs = table_logs(total, of, of_other)
    return float(min(1.0, np.exp(logs[logs <= logs[hits - least] + np.log(_SAME)]).sum()))


def table_logs(total: int, of: int, of_other: int) -> Float[np.ndarray, "tables"]:
    """Log probabilities of the hits in the first group, from the fewest to the most, where `total` are in both."""
    hits = np.arange(max(0, total - of_other), min(of, total) + 1)
    found: Float[np.ndarray, "tables"]
    found = _choose(of, hits) + _choose(of_other, total - hits) - _choose(of + of_other, np.array(total))
    return found


def _choose(n: int, k: np.ndarray) -> Float[np.ndarray, "*tables"]:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    found: Float[np.ndarray, "*tables"] = logs[n] - logs[k] - logs[n - k]
    return found
