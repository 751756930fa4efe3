"""Intervals over trainings and texts, of pairs of trainings, and of differences between figures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import torch

from attentest.measures.divergences import jsd
from attentest.measures.f1 import F1Parts, f1_parts
from attentest.measures.intervals import independent_difference, mean, ratio, share, two_level
from attentest.studies.experiments.pairs import Pairs
from attentest.studies.experiments.repeated import estimate_over, f1_over
from benchmarks.coverage.row import SIGNED, TRAININGS, UNIT, Coverage, of_estimates
from benchmarks.coverage.texts import MANY, Decisions

TOKENS = 12


def of_two_levels(trainings: int, n: int, between: float, simulations: int, seed: int = 0) -> Coverage:
    """Normal effects of trainings (`between`), texts (0.3) and both together (0.2)."""
    generator = np.random.default_rng(seed)
    found = [two_level(_effects(generator, trainings, n, between)) for _ in range(simulations)]
    return of_estimates("mean over trainings", f"{trainings} trainings, sd {between:g}", n, found, 0)


def of_rare_two_levels(trainings: int, n: int, rate: float, simulations: int, seed: int = 0) -> Coverage:
    generator = np.random.default_rng(seed)
    rates = np.clip(rate * generator.uniform(0.5, 1.5, (simulations, trainings, 1)), 0, 1)
    values = (generator.random((simulations, trainings, n)) < rates).astype(float)
    found = [two_level(each, UNIT) for each in values]
    return of_estimates("mean over trainings", f"{trainings} trainings, rate {rate:g}", n, found, rate)


def _effects(generator: np.random.Generator, trainings: int, n: int, between: float) -> np.ndarray:
    of_trainings, of_texts = generator.normal(0, between, (trainings, 1)), generator.normal(0, 0.3, (1, n))
    values: np.ndarray = of_trainings + of_texts + generator.normal(0, 0.2, (trainings, n))
    return values


def of_shares_over(trainings: int, n: int, rate: float, simulations: int, seed: int = 0) -> Coverage:
    """A share of each training, on the same texts: some texts are hit more easily in all of them."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(simulations):
        rates = rate * generator.uniform(0.5, 1.5, (trainings, 1)) * generator.uniform(0, 2, (1, n))
        hits = generator.random((trainings, n)) < np.clip(rates, 0, 1)
        found.append(estimate_over([share(each) for each in hits]))
    # clipped where rates are high: what is left of the mean
    many = rate * generator.uniform(0.5, 1.5, MANY) * generator.uniform(0, 2, MANY)
    truth = float(np.clip(many, 0, 1).mean())
    return of_estimates("figure over trainings", f"{trainings} shares of {rate:g}", n, found, truth)


def of_positions_over(trainings: int, n: int, between: float, simulations: int, seed: int = 0) -> Coverage:
    """A position of each training between the null and ceiling of its own texts."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(simulations):
        each = []
        common = generator.beta(2, 2, n)
        for position in generator.normal(0.6, between, trainings):
            bottom = common * generator.uniform(0.5, 1.5, n)
            each.append(ratio(bottom * position + generator.normal(0, 0.2, n), bottom))
        found.append(estimate_over(each))
    return of_estimates("figure over trainings", f"{trainings} positions, sd {between:g}", n, found, 0.6)


def of_f1_over(trainings: int, n: int, decisions: Decisions, simulations: int, seed: int = 0) -> Iterator[Coverage]:
    """F1 of trainings, and of these less that of as many others, which decide as well."""
    generator = np.random.default_rng(seed)

    def draw(texts: int, times: int) -> list[list[F1Parts]]:
        labels, decided = decisions.draw(generator, texts, 2 * times)
        parts = [f1_parts(labels, each, decisions.classes) for each in decided]
        return [parts[:times], [one - other for one, other in zip(parts[:times], parts[times:], strict=True)]]

    drawn = [draw(n, trainings) for _ in range(simulations)]
    many = draw(MANY, 1)
    data = f"{trainings} trainings, {decisions}"
    yield of_estimates(
        "F1 over trainings", data, n, [f1_over(each, UNIT) for each, _ in drawn], float(many[0][0].values.mean())
    )
    # the first decides as well as all the others, which differ from it independently
    yield of_estimates("F1 over trainings, difference", data, n, [f1_over(each, SIGNED) for _, each in drawn], 0)


def of_pairs(trainings: int, n: int, spread: float, simulations: int, seed: int = 0) -> Iterator[Coverage]:
    """JSD of the weights of each two trainings, and their agreement above that of permuted weights. Trainings differ in
    how far they are from what they have in common."""
    generator = torch.Generator().manual_seed(seed)
    found = [_pairs(trainings, n, spread, generator) for _ in range(simulations)]
    many = _pairs(400, 60, spread, generator, of_all=False)
    apart, chance = many.apart.mean(), many.permuted.mean()
    data = f"{trainings} trainings, spread {spread:g}"
    yield of_estimates("distance of pairs", data, n, [each.mean(each.apart) for each in found], float(apart))
    yield of_estimates("agreement of pairs", data, n, [each.agreement() for each in found], float(1 - apart / chance))


def _pairs(trainings: int, n: int, spread: float, generator: torch.Generator, of_all: bool = True) -> Pairs:
    common = 1.5 * torch.randn(1, n, TOKENS, generator=generator)
    own = spread * (0.5 + torch.rand(trainings, 1, 1, generator=generator))
    weights = (common + own * torch.randn(trainings, n, TOKENS, generator=generator)).softmax(-1)
    order = torch.rand(trainings, n, TOKENS, generator=generator).argsort(-1)
    mixed = weights.gather(-1, order)
    numbers = list(combinations(range(trainings), 2)) if of_all else [(i, i + 1) for i in range(0, trainings, 2)]
    first, second = (list(side) for side in zip(*numbers, strict=True))
    return Pairs(
        numbers,
        jsd(weights[first].flatten(0, 1), weights[second].flatten(0, 1)).reshape(len(numbers), n).numpy(),
        jsd(mixed[first].flatten(0, 1), weights[second].flatten(0, 1)).reshape(len(numbers), n).numpy(),
    )


def of_differences(rate: float, n: int, simulations: int, seed: int = 0) -> Iterator[Coverage]:
    """Figures of other texts, or of other trainings on the same: what they have in common only makes it too wide."""
    generator = np.random.default_rng(seed)
    hits = generator.random((2, simulations, n)) < np.array([rate, rate / 2])[:, None, None]
    shares = [independent_difference(share(a), share(b)) for a, b in zip(*hits, strict=True)]
    yield of_estimates("difference of figures", f"shares of {rate:g} and half of it", n, shares, rate / 2)
    values = hits * generator.beta(2, 2, hits.shape)
    means = [independent_difference(mean(a, UNIT), mean(b, UNIT)) for a, b in zip(*values, strict=True)]
    yield of_estimates("difference of figures", f"means, {rate:g} are not 0", n, means, rate / 4)


def rows(n: int, simulations: int) -> Iterator[Coverage]:
    for rate in (0.003, 0.03, 0.5):
        yield from of_differences(rate, n, simulations)
    for trainings in TRAININGS:
        yield from (of_two_levels(trainings, n, between, simulations) for between in (0, 0.02, 0.1))
        yield from (of_rare_two_levels(trainings, n, rate, simulations) for rate in (0.003, 0.03, 0.3))
        yield from (of_shares_over(trainings, n, rate, simulations) for rate in (0.003, 0.3))
        yield of_positions_over(trainings, n, 0.1, simulations)
        for decisions in (Decisions(2, 0.03, 0.2), Decisions(4, 0.25, 0.2)):
            yield from of_f1_over(trainings, n, decisions, simulations)
        for spread in (0.3, 1):
            yield from of_pairs(trainings, n, spread, simulations)
