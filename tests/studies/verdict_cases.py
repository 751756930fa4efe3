"""Summaries and calibrations made by hand, for tests of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from attentest.measures.intervals import Estimate
from attentest.studies.verdict import CRITERIA, Calibration, Rates, Verdict, judge
from attentest.studies.verdict.calibration import TestRates
from attentest.studies.verdict.judge import Ruling, Summaries

KEYS = {  # what a trial or experiment calls the figure of a criterion
    "used.decisions": "decisions",
    "used.permutation": "moved",
    "used.accuracy": "lost",
    "needed.trained": "accuracy change",
    "needed.f1": "change",
    "stable.seeds": "agreement",
    "exclusive.texts": "far",
    "exclusive.model": "change",
    "faithful.exchange": "position",
    "faithful.comprehensiveness": "comprehensiveness position",
    "faithful.sufficiency": "sufficiency position",
    "faithful.leave-one-out": "leave-one-out",
    "faithful.removal": "mass-matched",
    "faithful.top": "top position",
    "informative.information": "position",
    "plausible.auprc": "auprc",
    "plausible.heaviest": "heaviest",
    "plausible.weight": "more weight",
}
NOTHING = Calibration()


def of(low: float, high: float, value: float | None = None, n: int = 50) -> Estimate:
    return Estimate((low + high) / 2 if value is None else value, low, high, n)


def summaries(figures: Mapping[str, Estimate]) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Summaries that have these figures, by criterion."""
    made: dict[tuple[str, str], dict[str, Estimate]] = {}
    for name, figure in figures.items():
        asked = CRITERIA[name].asks
        made.setdefault((asked.kind, asked.name), {})[asked.keys[KEYS[name]]] = figure
    return made


def rates_of(threshold: float = 0.3, first_auroc: float = 0.9, decides: bool = True, why: str = "") -> TestRates:
    """Of a test that was measured at 50 and 200 texts."""
    at = [Rates(50, 0.7, 0.05, 0.1, 0.3, 40), Rates(200, 0.9, 0.02, 0.04, 0.1, 40)]
    return TestRates(threshold, of(0.8, 1.0), first_auroc, 0.5, decides, why, at)


def calibrated(**first_aurocs: float) -> Calibration:
    """Tests of `faithful` that decide, by their names within it."""
    named = {f"faithful.{name.replace('_', '-')}": area for name, area in first_aurocs.items()}
    return Calibration({name: rates_of(first_auroc=area) for name, area in named.items()})


def verdict(
    name: str,
    found: Summaries,
    thresholds: Mapping[str, float] | None = None,
    rates: Calibration = NOTHING,
    controls: Mapping[str, Summaries] | None = None,
) -> Verdict:
    verdicts = judge(found, thresholds, controls=controls, rates=rates)
    return next(one for one in verdicts if one.definition.name == name)


def ruling(
    name: str, found: Summaries, thresholds: Mapping[str, float] | None = None, rates: Calibration = NOTHING
) -> Ruling:
    rulings = verdict(name.partition(".")[0], found, thresholds, rates).rulings
    return next(one for one in rulings if one.criterion.name == name)
