"""How many texts a study with people takes to see a difference between its two conditions.

The test is Fisher's, two-sided, at .05; a difference is found with a probability of .8. Shares are as far from certain
as they can be (around one half), where a difference is hardest to see. One answer for each text is counted: more
annotators only make the figures more certain.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attentest.errors import InputError
from attentest.measures.fisher import table_logs
from attentest.measures.quantiles import NORMAL

LEVEL, POWER = 0.05, 0.8
_NORMAL_OF_POWER = 0.8416212335729143  # quantile of the normal distribution at .8
MOST_EXACT = 1500  # texts in a condition: above that, the formula differs from the exact number by less than 1 %
_STEADY = 10  # numbers of texts in a row with enough power: it goes up and down a little from one to the next


def samples_for(difference: float) -> int:
    """Texts in each condition with which a difference of two shares is found."""
    if not 0 < difference <= 1:
        raise InputError(f"`detect` is {difference}; expected a difference of shares, above 0 and at most 1.")
    about = approximate_samples(difference)
    if about > MOST_EXACT:
        return about
    n, steady = max(2, int(0.9 * about) - _STEADY), 0
    while steady < _STEADY:
        steady = steady + 1 if power_of(n, difference) >= POWER else 0
        n += 1
    return n - _STEADY


def approximate_samples(difference: float) -> int:
    """By the normal distribution with a correction for exact tests (Casagrande, Pike & Smith 1978)."""
    more, less = 0.5 + difference / 2, 0.5 - difference / 2
    plain = NORMAL * math.sqrt(0.5) + _NORMAL_OF_POWER * math.sqrt(more * (1 - more) + less * (1 - less))
    plain = plain**2 / difference**2
    return math.ceil(plain / 4 * (1 + math.sqrt(1 + 4 / (plain * difference))) ** 2)


def power_of(n: int, difference: float) -> float:
    """The probability that Fisher's test finds the difference with so many texts in each condition."""
    more, less = (_binomial(n, 0.5 + sign * difference / 2) for sign in (1, -1))
    found = 0.0
    for total in range(2 * n + 1):
        hits = np.arange(max(0, total - n), min(n, total) + 1)
        chances = np.exp(table_logs(total, n, n))
        # as many texts in both: the tables that are no more likely are those at least as far from the middle
        beyond = np.cumsum(chances)[np.minimum(hits - hits[0], hits[-1] - hits)]
        p = np.where(2 * hits == total, 1.0, 2 * beyond)
        found += float((more[hits] * less[total - hits])[p <= LEVEL].sum())
    return found


def _binomial(n: int, share: float) -> Float[np.ndarray, "hits"]:
    if share in (0, 1):
        certain: Float[np.ndarray, "hits"] = (np.arange(n + 1) == (n if share else 0)).astype(float)
        return certain
    hits = np.arange(n + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    found: Float[np.ndarray, "hits"] = np.exp(
        logs[n] - logs[hits] - logs[n - hits] + hits * math.log(share) + (n - hits) * math.log1p(-share)
    )
    return found
