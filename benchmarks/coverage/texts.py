"""Intervals over texts: shares, means, differences, positions, medians, deviations, correlations, F1, information."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from attentest.measures.f1 import F1Parts, f1_parts
from attentest.measures.informed import States, states
from attentest.measures.intervals import deviation, median, ratio, share
from attentest.measures.jackknife import jackknife
from attentest.measures.means import Bounds, mean_limits
from attentest.measures.spearman import spearman
from attentest.studies.cells import f1_over_texts
from attentest.trials.exchange import NOBODY, over_pairs, partners_of
from benchmarks.coverage.row import RATES, SIGNED, UNIT, Coverage, of_estimates, of_limits

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
MANY = 500_000  # texts whose figure is taken for the truth


@dataclass(frozen=True)
class Case:
    """Values of a known mean; `bounds` as a caller would give them."""

    kind: str
    data: str
    draw: Draw
    truth: float
    bounds: Bounds


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
            yield Case("difference of shares", data, _signs(rate, more), rate * (2 * more - 1), SIGNED)


def _rare(rate: float, other: Draw) -> Draw:
    return lambda generator, size: (generator.random(size) < rate) * other(generator, size)


def _signs(rate: float, more: float) -> Draw:
    return lambda generator, size: (generator.random(size) < rate) * np.where(generator.random(size) < more, 1.0, -1.0)


def of_means(case: Case, n: int, simulations: int, seed: int = 0) -> Coverage:
    values = case.draw(np.random.default_rng(seed), (simulations, n))
    low, high = mean_limits(values, case.bounds)
    bootstrapped = 2 * 1.96 * values.std(1).mean() / np.sqrt(n)  # what the percentile bootstrap tends to
    return of_limits(case.kind, case.data, n, low, high, case.truth, bootstrapped)


def of_shares(rate: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    hits = np.random.default_rng(seed).binomial(n, rate, simulations)
    by_hits = {count: share(np.arange(n) < count) for count in np.unique(hits)}
    return of_estimates("share", f"rate {rate:g}", n, [by_hits[count] for count in hits], rate)


def of_ratios(rate: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    """A position between null and ceiling that is ½ on average."""
    generator = np.random.default_rng(seed)
    bottom = (generator.random((simulations, n)) < rate) * generator.beta(2, 2, (simulations, n))
    top = bottom * generator.random((simulations, n)) + generator.normal(0, 0.05, (simulations, n))
    return of_estimates(
        "position", f"rate {rate:g} below", n, [ratio(*pair) for pair in zip(top, bottom, strict=True)], 0.5
    )


SMOOTH: dict[str, Draw] = {
    "beta(0.5, 5)": lambda g, s: g.beta(0.5, 5, s),
    "uniform": lambda g, s: g.random(s),
    "τ: 2 beta(6, 3) − 1": lambda g, s: 2 * g.beta(6, 3, s) - 1,
    "τ: 2 beta(5, 0.5) − 1": lambda g, s: 2 * g.beta(5, 0.5, s) - 1,
    "one in ten is 0": lambda g, s: (g.random(s) > 0.1) * g.beta(2, 2, s),
}


def of_statistic(kind: str, data: str, n: int, simulations: int, seed: int = 0) -> Coverage:
    """The median or the standard deviation of values that trials have."""
    values = SMOOTH[data](np.random.default_rng(seed), (simulations, n))
    many = SMOOTH[data](np.random.default_rng(seed + 1), (1, MANY))
    measure, truth = {"median": (median, np.median(many)), "standard deviation": (deviation, np.std(many))}[kind]
    return of_estimates(kind, data, n, [measure(each) for each in values], float(truth))


def of_correlations(rho: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    """Spearman's, of two normal columns."""
    generator = np.random.default_rng(seed)
    first = generator.normal(size=(simulations, n))
    second = rho * first + math.sqrt(1 - rho**2) * generator.normal(size=(simulations, n))
    truth = 6 / math.pi * math.asin(rho / 2)
    found = [spearman(*pair) for pair in zip(first, second, strict=True)]
    return of_estimates("rank correlation", f"ρ {truth:.2f}", n, found, truth)


@dataclass(frozen=True)
class Decisions:
    """Two models that decide about the same texts, and differ on a share of them; the first class but one is rare."""

    classes: int
    rate: float
    differ: float

    def __str__(self) -> str:
        return f"{self.classes} classes, rate {self.rate:g}, {self.differ:g} decided anew"

    def draw(self, generator: np.random.Generator, n: int, models: int = 2) -> tuple[np.ndarray, list[np.ndarray]]:
        shares = np.full(self.classes, (1 - self.rate) / (self.classes - 1))
        shares[1] = self.rate
        labels = generator.choice(self.classes, n, p=shares)
        first = self._decide(generator, labels)
        others = [
            np.where(generator.random(n) < self.differ, self._decide(generator, labels), first)
            for _ in range(models - 1)
        ]
        return labels, [first, *others]

    def _decide(self, generator: np.random.Generator, labels: np.ndarray) -> np.ndarray:
        """85 % rightly; of two classes, the rare one is not found in every text of the other."""
        if self.classes == 2:
            alarms = min(0.1, 0.3 * self.rate)
            return (generator.random(len(labels)) < np.where(labels == 1, 0.85, alarms)).astype(int)
        other = generator.integers(0, self.classes, len(labels))
        return np.where(generator.random(len(labels)) < 0.85, labels, other)

    def parts(self, generator: np.random.Generator, n: int) -> list[F1Parts]:
        labels, decided = self.draw(generator, n)
        return [f1_parts(labels, each, self.classes) for each in decided]


DECISIONS = (
    *(Decisions(2, rate, 0.05) for rate in (0.003, 0.03, 0.1, 0.5)),
    *(Decisions(classes, 1 / classes, 0.5) for classes in (2, 4)),
    Decisions(4, 0.03, 0.05),
)


def of_f1(decisions: Decisions, n: int, simulations: int, seed: int = 0) -> Iterator[Coverage]:
    generator = np.random.default_rng(seed)
    many = decisions.parts(np.random.default_rng(seed + 1), MANY)
    drawn = [decisions.parts(generator, n) for _ in range(simulations)]
    alone = [f1_over_texts(first) for first, _ in drawn]
    apart = [f1_over_texts(first - second, SIGNED) for first, second in drawn]
    yield of_estimates("F1", str(decisions), n, alone, float(many[0].values.mean()))
    yield of_estimates("F1, difference", str(decisions), n, apart, float((many[0] - many[1]).values.mean()))


def of_information(follows: float, n: int, simulations: int, seed: int = 0) -> Iterator[Coverage]:
    """The information under the weights, that of the most informative state, and the position between them, as the
    trial information counts them; weights are on the informative state as far as they `follow` it."""
    generator = np.random.default_rng(seed)

    def figures(found: States) -> Callable[[np.ndarray], np.ndarray]:
        def of(kept: np.ndarray) -> np.ndarray:
            own, permuted, most = found.informed(kept, seed)
            return np.array([own, permuted, most, own / most if most > 0 else np.nan])

        return of

    truth = figures(_texts(generator, 20_000, follows))(np.ones(20_000, bool))
    found = [jackknife(figures(_texts(generator, n, follows)), n) for _ in range(simulations)]
    for place, name in enumerate(("own", "permuted", "most", "position")):
        data = f"{name}, weights follow {follows:g}"
        yield of_estimates("information", data, n, [each[place] for each in found], float(truth[place]))


def of_exchanges(rate: float, n: int, simulations: int, seed: int = 0) -> Coverage:
    """The position of the trial exchange, ½ on average: texts of two classes are drawn as pairs, and each has a pull of
    its own on what it gets and on what it gives."""
    generator = np.random.default_rng(seed)
    found, texts = [], np.arange(n)
    for _ in range(simulations):
        decided = (generator.random(n) < rate).astype(int)
        gives, gets = generator.normal(0.5, 0.4, (2, n))
        partners = partners_of(decided, texts, int(generator.integers(2**31)))
        there = partners != NOBODY
        top = np.where(there, gets + gives[partners] + generator.normal(0, 0.2, n), np.nan)
        bottom = np.where(there, 2.0 + generator.normal(0, 0.1, n), np.nan)
        pair = np.where(there, np.minimum(texts, partners), np.nan)
        found.append(ratio(over_pairs(pair, top), over_pairs(pair, bottom)))
    return of_estimates("position of exchanges", f"{rate:g} in the rarer class", n, found, 0.5)


def _texts(generator: np.random.Generator, n: int, follows: float) -> States:
    """Texts of eight states of six kinds; two kinds tell the output, and a text has one of them."""
    outputs = generator.integers(0, 2, n)
    kinds = generator.integers(2, 6, (n, 8))
    place = generator.integers(0, 8, n)
    kinds[np.arange(n), place] = np.where(generator.random(n) < 0.9, outputs, 1 - outputs)
    logits = generator.normal(size=(n, 8))
    logits[np.arange(n), place] += follows
    weights = np.exp(logits)
    return states(kinds, weights / weights.sum(1, keepdims=True), generator.random((n, 8)), outputs)


def rows(n: int, simulations: int) -> Iterator[Coverage]:
    yield from (of_shares(rate, n, simulations) for rate in RATES)
    yield from (of_means(case, n, simulations) for case in mean_cases())
    yield from (of_ratios(rate, n, simulations) for rate in (0.03, 0.1, 0.3, 0.5, 1))
    for kind in ("median", "standard deviation"):
        yield from (of_statistic(kind, data, n, simulations) for data in SMOOTH)
    yield from (of_correlations(rho, n, simulations) for rho in (0, 0.5, 0.9))
    for decisions in DECISIONS:
        yield from of_f1(decisions, n, simulations)
    yield from (of_exchanges(rate, n, simulations) for rate in (0.1, 0.3, 0.5))
    for follows in (0, 3):
        yield from of_information(follows, n, simulations)
