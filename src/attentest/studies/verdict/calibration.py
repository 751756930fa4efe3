"""How often each test is right on models of known truth, as `attentest calibrate` found it; kept in the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attentest.files import read_as
from attentest.measures.intervals import Estimate, share

FILE = "calibration.json"


@dataclass(frozen=True)
class Rates:
    """How a test or a verdict answers at one number of texts, on architectures that its threshold was not set on."""

    texts: int
    hit: float  # yes, of the models whose attention is what the definition says
    false_alarm: float  # yes, of the others
    miss: float  # no, of the former
    unclear: float  # of all
    models: int

    @property
    def right(self) -> str:
        return f"hit rate {self.hit:.0%}, false alarms {self.false_alarm:.0%}, unclear {self.unclear:.0%}"


@dataclass(frozen=True)
class TestRates:
    threshold: float
    auroc: Estimate  # on the architectures that the threshold was not set on
    first_auroc: float  # on those that it was set on: tests are ranked by it
    one_answer: float  # largest share of models that get the same answer
    decides: bool
    why: str  # it does not decide; or how it was chosen
    rates: list[Rates] = field(default_factory=list)

    def at(self, texts: int) -> Rates | None:
        """At the largest number of texts that was measured and is not above this one, or the smallest."""
        fitting = [rates for rates in self.rates if rates.texts <= texts]
        return fitting[-1] if fitting else self.rates[0] if self.rates else None


@dataclass(frozen=True)
class Confusion:
    """A verdict on held-out architectures: truth -> answer -> how many models."""

    texts: int
    counts: dict[str, dict[str, int]]
    by_kind: dict[str, dict[str, int]] = field(default_factory=dict)  # kind of model -> answer -> how many

    def share_right(self) -> Estimate:
        """Of the yes and no that were given; models of one corpus and architecture are taken as independent."""
        given = [(truth, answer, n) for truth, row in self.counts.items() for answer, n in row.items()]
        decided = [truth == answer for truth, answer, n in given if answer in ("yes", "no") for _ in range(n)]
        return share(np.array(decided, float))

    def share_unclear(self) -> float:
        every = sum(sum(row.values()) for row in self.counts.values())
        decided = sum(row.get(answer, 0) for row in self.counts.values() for answer in ("yes", "no"))
        return 1 - decided / every if every else float("nan")


@dataclass(frozen=True)
class Calibration:
    tests: dict[str, TestRates] = field(default_factory=dict)
    verdicts: dict[str, Confusion] = field(default_factory=dict)
    signature: dict[str, Any] = field(default_factory=dict)  # what produced it

    def ranked(self, names: Sequence[str]) -> list[str]:
        """Tests that decide, the best first."""
        known = [name for name in names if name in self.tests and self.tests[name].decides]
        return sorted(known, key=lambda name: -self.tests[name].first_auroc)

    def thresholds(self) -> Mapping[str, float]:
        return {name: test.threshold for name, test in self.tests.items()}


@cache
def calibration() -> Calibration:
    return read_as(Path(__file__).with_name(FILE), Calibration)
