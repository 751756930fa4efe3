"""A model that is exactly at a threshold meets it: how often do simulated audits say no?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from verdict_cases import KEYS, rates_of, verdict

from attentest.measures.intervals import Estimate, mean, ratio, share
from attentest.studies.verdict import CRITERIA, Calibration
from attentest.studies.verdict.judge import NO

ALLOWED = 0.05
Draw = Callable[[np.random.Generator, int], Estimate]


def decisions(generator: np.random.Generator, texts: int) -> Estimate:
    """One decision in twenty changes."""
    return share((generator.random(texts) < 0.05).astype(float))


def agreement(generator: np.random.Generator, texts: int) -> Estimate:
    """Values between 0 and 1, most of them near either end; their mean is 0.5."""
    return mean(generator.beta(0.4, 0.4, texts), (0, 1))


def rare(generator: np.random.Generator, texts: int) -> Estimate:
    """0 for nearly all texts; the mean of the others is 0.25, so that of all is 0.01."""
    return mean(np.where(generator.random(texts) < 0.04, generator.beta(1, 3, texts), 0.0), (0, 1))


def position(generator: np.random.Generator, texts: int) -> Estimate:
    """Half of what leave-one-out reaches, on average."""
    most = generator.gamma(2.0, 0.15, texts)
    return ratio(most * generator.beta(1, 1, texts), most)


CASES: dict[str, tuple[str, float, Draw]] = {  # the criterion that decides, its threshold, the figure at it
    "a share": ("used.decisions", 0.05, decisions),
    "a mean": ("faithful.leave-one-out", 0.5, agreement),
    "a mean of rare values": ("faithful.top", 0.01, rare),
    "a position": ("faithful.comprehensiveness", 0.5, position),
}


def false_no(name: str, threshold: float, draw: Draw, audits: int, texts: int) -> float:
    """The share of audits that say no, of a model that is at the threshold."""
    asked = CRITERIA[name].asks
    rates = Calibration({name: rates_of(threshold=threshold)})
    generator = np.random.default_rng(14)
    answers = []
    for _ in range(audits):
        found = {(asked.kind, asked.name): {asked.keys[KEYS[name]]: draw(generator, texts)}}
        one = verdict(name.partition(".")[0], found, rates=rates)
        assert one.deciding is not None
        assert (one.deciding.criterion.name, one.deciding.threshold) == (name, threshold)
        answers.append(one.answer == NO)
    return float(np.mean(answers))


def most(audits: int) -> float:
    """That a true rate of 5 % stays below with a probability of 97.7 %: two standard errors of a binomial share."""
    return ALLOWED + 2 * math.sqrt(ALLOWED * (1 - ALLOWED) / audits)


@pytest.mark.parametrize("case", CASES)
def test_few_simulated_audits_at_the_threshold_say_no(case: str) -> None:
    assert false_no(*CASES[case], audits=150, texts=100) <= most(150)


@pytest.mark.slow
@pytest.mark.parametrize("texts", [20, 100, 400])
@pytest.mark.parametrize("case", CASES)
def test_of_2000_simulated_audits_at_the_threshold_5_percent_say_no_at_most(case: str, texts: int) -> None:
    found = false_no(*CASES[case], audits=2000, texts=texts)
    print(f"{case}, {texts} texts: {found:.2%} say no")
    assert found <= most(2000)
