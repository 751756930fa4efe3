"""How many texts a study with people takes to see a difference between its two conditions.

The test is Fisher's, two-sided, at .05; a difference is found with a probability of .8. Shares are as far from certain
as they can be (around one half), where a difference is hardest to see. One answer for each text is counted: more
annotators only make the figures more certain.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int

from attentest.errors import InputError
from attentest.measures.quantiles import NORMAL

LEVEL, POWER = 0.05, 0.8
_NORMAL_OF_POWER = 0.8416212335729143  # quantile of the normal distribution at .8
MOST_EXACT = 1500  # texts in a condition: above that, the formula differs from the exact number by less than 1 %
_STEADY = 10  # numbers of texts in a row with enough power: it goes up and down a little from one to the next
LEAST = 1e-4  # difference: a smaller one takes more than 400 million texts
_FAR = 6.5  # times the root of n: by Hoeffding's inequality, what lies farther away has a probability below 1e-17
_NEVER = 1e-18


def samples_for(difference: float) -> int:
    """Texts in each condition with which a difference of two shares is found."""
    if not LEAST <= difference <= 1:
        raise InputError(f"`detect` is {difference}; expected a difference of shares from {LEAST:g} to 1.")
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
    away = math.ceil(_FAR * math.sqrt(n))
    totals = np.arange(max(0, n - away), min(2 * n, n + away) + 1)  # relevant texts in both: n of them on average
    most = _most_found(n, totals)
    return _chance(less, more, totals, most) + _chance(more, less, totals, most)


def _most_found(n: int, totals: Int[np.ndarray, "totals"]) -> Int[np.ndarray, "totals"]:
    """For each total, the most hits in the condition with fewer of them with which the test finds a difference.

    As many texts in both: the tables that are no more likely are those at least as far from the middle.
    """
    logs = _log_factorials(2 * n)
    away = math.ceil(_FAR * math.sqrt(n))
    hits = totals[:, None] // 2 - np.arange(away, -1, -1)
    others = totals[:, None] - hits
    possible = (hits >= 0) & (others <= n)
    hits, others = np.where(possible, hits, 0), np.where(possible, others, 0)
    tables = 2 * logs[n] - logs[hits] - logs[n - hits] - logs[others] - logs[n - others]
    tables -= (logs[2 * n] - logs[totals] - logs[2 * n - totals])[:, None]
    beyond = np.cumsum(np.where(possible, np.exp(tables), 0.0), axis=1)
    found: Int[np.ndarray, "totals"] = totals // 2 - away - 1 + (2 * beyond <= LEVEL).sum(axis=1)
    return found


def _chance(
    fewer: Float[np.ndarray, "hits"],
    others: Float[np.ndarray, "hits"],
    totals: Int[np.ndarray, "totals"],
    most: Int[np.ndarray, "totals"],
) -> float:
    """Of a table with at most so many hits in the one condition, by their probabilities in each."""
    hits = np.flatnonzero(fewer > _NEVER)
    rest = totals[:, None] - hits
    found = (hits <= most[:, None]) & (rest >= 0) & (rest < len(others))
    return float((fewer[hits] * np.where(found, others[np.where(found, rest, 0)], 0.0)).sum())


def _binomial(n: int, share: float) -> Float[np.ndarray, "hits"]:
    if share in (0, 1):
        certain: Float[np.ndarray, "hits"] = (np.arange(n + 1) == (n if share else 0)).astype(float)
        return certain
    hits, logs = np.arange(n + 1), _log_factorials(n)
    found: Float[np.ndarray, "hits"] = np.exp(
        logs[n] - logs[hits] - logs[n - hits] + hits * math.log(share) + (n - hits) * math.log1p(-share)
    )
    return found


def _log_factorials(most: int) -> Float[np.ndarray, "numbers"]:
    found: Float[np.ndarray, "numbers"] = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    return found
