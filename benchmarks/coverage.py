"""`python -m benchmarks.coverage [SIMULATIONS]`: how often each kind of 95 % interval covers the truth.

"false no" is the share of intervals that lie wholly below the truth: of an audit of a model exactly at a threshold,
the chance of a wrong "no". "width" is relative to that of the percentile bootstrap, which covers less.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from attentest.measures.intervals import Estimate, ratio, share, two_level, two_level_difference
from attentest.measures.means import Bounds, mean_limits
from attentest.measures.roc import auroc

TEXTS = (20, 100, 400)
TRAININGS = (3, 5, 9)
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
UNIT, SIGNED = (0.0, 1.0), (-1.0, 1.0)
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


@dataclass(frozen=True)
class Case:
    """Values of a known mean; `bounds` as a caller would give them."""

    kind: str
    data: str
    draw: Draw
    truth: float
    bounds: Bounds


@dataclass(frozen=True)
class Coverage:
    kind: str
    data: str
    n: int
    covered: float
    below: float  # the interval is wholly below the truth
    above: float
    width: float | None  # relative to the percentile bootstrap's

    def __str__(self) -> str:
        width = "" if self.width is None else f"{self.width:7.2f}"
        shares = f"{self.covered:8.3f}  {self.below:8.3f}  {self.above:9.3f}"
        return f"{self.kind:<24} {self.data:<32} {self.n:>5}  {shares}  {width}"


def mean_cases() -> Iterator[Case]:
    for rate in RATES:
        yield Case("mean", f"0, rarely 1 ({rate:g})", _rare(rate, lambda g, s: np.ones(s)), rate, UNIT)
        yield Case("mean", f"0, rarely 0.1 ({rate:g})", _rare(rate, lambda g, s: np.full(s, 0.1)), rate / 10, UNIT)
        yield Case("mean", f"0, rarely uniform ({rate:g})", _rare(rate, lambda g, s: g.random(s)), rate / 2, UNIT)
    smooth: list[tuple[str, Draw, float, tuple[float, float]]] = [
        ("beta(0.5, 5)", lambda g, s: g.beta(0.5, 5, s), 1 / 11, UNIT),
        ("beta(5, 0.5)", lambda g, s: g.beta(5, 0.5, s), 10 / 11, UNIT),
        ("normal(0.5, 0.1)", lambda g, s: g.normal(0.5, 0.1, s), 0.5, UNIT),
        ("uniform", lambda g, s: g.random(s), 0.5, UNIT),
        ("τ: 2 beta(6, 3) − 1", lambda g, s: 2 * g.beta(6, 3, s) - 1, 1 / 3, SIGNED),
        ("τ: 2 beta(5, 0.5) − 1", lambda g, s: 2 * g.beta(5, 0.5, s) - 1, 9 / 11, SIGNED),
    ]
    for data, draw, truth, bounds in smooth:
        yield Case("mean", data, draw, truth, bounds)
        yield Case("mean without bounds", data, draw, truth, None)
    for rate in RATES:
        for more in (0.5, 0.9):
            data = f"{rate:g} differ, {more:g} of them up"
            yield Case("share_difference", data, _signs(rate, more), rate * (2 * more - 1), SIGNED)


def _rare(rate: float, other: Draw) -> Draw:
    return lambda generator, size: (generator.random(size) < rate) * other(generator, size)


def _signs(rate: float, more: float) -> Draw:
    return lambda generator, size: (generator.random(size) < rate) * np.where(generator.random(size) < more, 1.0, -1.0)


def of_means(case: Case, n: int, simulations: int, seed: int = 0) -> Coverage:
    values = case.draw(np.random.default_rng(seed), (simulations, n))
    low, high = mean_limits(values, case.bounds)
    bootstrapped = 2 * 1.96 * values.std(1).mean() / np.sqrt(n)  # what the percentile bootstrap tends to
    return _coverage(case.kind, case.data, n, low, high, case.truth, bootstrapped)


def of_shares(rate: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    hits = np.random.default_rng(seed).binomial(n, rate, simulations)
    by_hits = {count: share(np.arange(n) < count) for count in np.unique(hits)}
    return _of_estimates("share", f"rate {rate:g}", n, [by_hits[count] for count in hits], rate)


def of_ratios(rate: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    """A position between null and ceiling that is ½ on average; where it is not defined, nothing is claimed."""
    generator = np.random.default_rng(seed)
    bottom = (generator.random((simulations, n)) < rate) * generator.beta(2, 2, (simulations, n))
    top = bottom * generator.random((simulations, n)) + generator.normal(0, 0.05, (simulations, n))
    return _of_estimates(
        "ratio", f"rate {rate:g} below", n, [ratio(*pair) for pair in zip(top, bottom, strict=True)], 0.5
    )


def of_two_levels(trainings: int, n: int, between: float, simulations: int, seed: int = 0) -> Coverage:
    """Normal effects of trainings (`between`), texts (0.3) and both together (0.2)."""
    generator = np.random.default_rng(seed)
    found = [two_level(_effects(generator, trainings, n, between)) for _ in range(simulations)]
    return _of_estimates("two_level", f"{trainings} trainings, sd {between:g}", n, found, 0)


def of_rare_two_levels(trainings: int, n: int, rate: float, simulations: int, seed: int = 0) -> Coverage:
    generator = np.random.default_rng(seed)
    rates = np.clip(rate * generator.uniform(0.5, 1.5, (simulations, trainings, 1)), 0, 1)
    values = (generator.random((simulations, trainings, n)) < rates).astype(float)
    return _of_estimates(
        "two_level", f"{trainings} trainings, rate {rate:g}", n, [two_level(each, UNIT) for each in values], rate
    )


def of_two_level_differences(trainings: int, n: int, between: float, simulations: int, seed: int = 0) -> Coverage:
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(simulations):
        texts = generator.normal(0, 0.3, n)
        more, less = (_effects(generator, k, n, between) + texts for k in (trainings, 3))
        found.append(two_level_difference(more, less))
    return _of_estimates("two_level_difference", f"{trainings} and 3 trainings, sd {between:g}", n, found, 0)


def of_areas(apart: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    generator = np.random.default_rng(seed)
    truth = (1 + math.erf(apart / 2)) / 2
    found = [auroc(generator.normal(apart, 1, n), generator.normal(0, 1, n)) for _ in range(simulations)]
    return _of_estimates("auroc", f"{truth:.2f}, {n} on each side", 2 * n, found, truth)


def _effects(generator: np.random.Generator, trainings: int, n: int, between: float) -> np.ndarray:
    of_trainings, of_texts = generator.normal(0, between, (trainings, 1)), generator.normal(0, 0.3, (1, n))
    values: np.ndarray = of_trainings + of_texts + generator.normal(0, 0.2, (trainings, n))
    return values


def _of_estimates(kind: str, data: str, n: int, found: list[Estimate], truth: float) -> Coverage:
    low, high = np.array([(each.low, each.high) for each in found]).T
    return _coverage(kind, data, n, low, high, truth, None)


def _coverage(
    kind: str, data: str, n: int, low: np.ndarray, high: np.ndarray, truth: float, bootstrapped: float | None
) -> Coverage:
    """An interval that is not defined claims nothing, so it is not wrong."""
    rounding = 1e-12
    below, above = float((high < truth - rounding).mean()), float((low > truth + rounding).mean())
    width = None if bootstrapped is None else float((high - low).mean() / bootstrapped)
    return Coverage(kind, data, n, 1 - below - above, below, above, width)


def table(simulations: int) -> Iterator[Coverage]:
    for n in TEXTS:
        yield from (of_shares(rate, n, simulations) for rate in RATES)
        yield from (of_means(case, n, simulations) for case in mean_cases())
        yield from (of_ratios(rate, n, simulations) for rate in (0.1, 0.3, 0.5, 1))
        for trainings in TRAININGS:
            yield from (of_two_levels(trainings, n, between, simulations) for between in (0, 0.02, 0.1))
            yield from (of_rare_two_levels(trainings, n, rate, simulations) for rate in (0.003, 0.03, 0.3))
            yield from (of_two_level_differences(trainings, n, between, simulations) for between in (0, 0.02, 0.1))
        yield from (of_areas(apart, n, simulations) for apart in (0, 1.5, 3) if n < 400)


def main(arguments: list[str]) -> int:
    simulations = int(arguments[0]) if arguments else 2000
    print(f"{'interval':<24} {'data':<32} {'n':>5}   covered  false no  false yes    width", flush=True)
    for row in table(simulations):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
