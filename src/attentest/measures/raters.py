"""How far annotators agree on items, in categories without an order; an annotator may leave items out.

Every coefficient is a function of sums over items, so that its interval comes from resampling items in one product.
Gaps: an item that fewer than two annotators answered has no pair of answers, so it says nothing about agreement. In
Fleiss' κ and Gwet's AC1 it still counts for how common the categories are (Gwet 2014 §2.4), in Krippendorff's α not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attentest.errors import InputError
from attentest.measures.estimate import TAIL, Estimate, undefined
from attentest.measures.resampling import FEWEST, resampled_sums

MOST_UNDEFINED = 0.05  # share of samples in which a coefficient may be undefined, and still have an interval
ONE_CATEGORY = "all answers are in one category, so chance would agree as well"
NO_PAIR = "no item was answered by two annotators"

Answers = Sequence[Sequence[Any]] | np.ndarray  # items × annotators; None and NaN are gaps
Sums = Float[np.ndarray, "samples columns"]
Columns = Float[np.ndarray, "items columns"]


@dataclass(frozen=True)
class Agreement:
    """A coefficient with its 95 % interval over items; None with the reason where it is not defined."""

    name: str
    estimate: Estimate | None
    why: str = ""  # there is no coefficient, or no interval

    @property
    def value(self) -> float | None:
        return None if self.estimate is None else self.estimate.value

    def __str__(self) -> str:
        if self.estimate is None:
            return f"not defined: {self.why}"
        return f"{self.estimate.value:z.3f} (no interval: {self.why})" if self.why else str(self.estimate)


@dataclass(frozen=True)
class Coded:
    """Answers as numbers of categories, −1 in gaps."""

    codes: Int[np.ndarray, "items annotators"]
    categories: int

    @property
    def counts(self) -> Float[np.ndarray, "items categories"]:
        """How many annotators chose each category of each item."""
        found: Float[np.ndarray, "items categories"] = self.chosen.sum(1)
        return found

    @property
    def chosen(self) -> Float[np.ndarray, "items annotators categories"]:
        found: Float[np.ndarray, "items annotators categories"]
        found = (self.codes[:, :, None] == np.arange(self.categories)).astype(float)
        return found


@dataclass(frozen=True)
class Coefficient:
    name: str
    columns: Callable[[Coded], Columns]  # what is summed over items
    of_sums: Callable[[Sums, int], Float[np.ndarray, "samples"]]  # with the number of categories; NaN: not defined


def percent_agreement(answers: Answers, categories: Sequence[Any] | None = None, seed: int = 0) -> Agreement:
    """The share of pairs of annotators that agree, mean over items."""
    return _figure(PERCENT, _coded(answers, categories), seed)


def cohen_kappa(answers: Answers, categories: Sequence[Any] | None = None, seed: int = 0) -> Agreement:
    """Cohen 1960: chance is the product of the two annotators' own shares. With more annotators the mean over all
    pairs for which it is defined (Light 1971), each on the items that both answered."""
    return _figure(COHEN, _coded(answers, categories), seed)


def fleiss_kappa(answers: Answers, categories: Sequence[Any] | None = None, seed: int = 0) -> Agreement:
    """Fleiss 1971: chance is the same for all annotators, the squared shares of the categories."""
    return _figure(FLEISS, _coded(answers, categories), seed)


def krippendorff_alpha(answers: Answers, categories: Sequence[Any] | None = None, seed: int = 0) -> Agreement:
    """Krippendorff 2011, nominal: 1 − observed / expected disagreement of pairs of answers, drawn without
    replacement."""
    return _figure(KRIPPENDORFF, _coded(answers, categories), seed)


def gwet_ac1(answers: Answers, categories: Sequence[Any] | None = None, seed: int = 0) -> Agreement:
    """Gwet 2008: chance only where annotators guess, Σ π (1 − π) / (categories − 1). `categories` are those that could
    have been chosen; without them, those that were."""
    return _figure(GWET, _coded(answers, categories), seed)


def agreements(answers: Answers, categories: Sequence[Any] | None = None, seed: int = 0) -> list[Agreement]:
    """All of them, on the same samples of items."""
    coded = _coded(answers, categories)
    return [_figure(coefficient, coded, seed) for coefficient in COEFFICIENTS]


def _coded(answers: Answers, categories: Sequence[Any] | None) -> Coded:
    table = np.array(answers, dtype=object)
    if table.ndim != 2:
        raise InputError("Answers must be a matrix of items × annotators, with None in gaps.")
    gaps = np.array([[_is_gap(value) for value in row] for row in table], bool).reshape(table.shape)
    known = list(dict.fromkeys(table[~gaps])) if categories is None else list(categories)
    number = {category: n for n, category in enumerate(known)}
    unknown = [value for value in table[~gaps] if value not in number]
    if unknown:
        raise InputError(f"The answer {unknown[0]!r} is in none of the categories {known}.")
    codes = np.full(table.shape, -1)
    codes[~gaps] = [number[value] for value in table[~gaps]]
    return Coded(codes, len(known))


def _is_gap(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def _figure(coefficient: Coefficient, coded: Coded, seed: int) -> Agreement:
    paired = int(((coded.codes >= 0).sum(1) > 1).sum())
    if not paired:
        annotators = int((coded.codes >= 0).any(0).sum())
        why = {0: "nobody answered", 1: "there is one annotator"}.get(annotators, NO_PAIR)
        return Agreement(coefficient.name, None, why)
    columns = coefficient.columns(coded)
    value = float(coefficient.of_sums(columns.sum(0, keepdims=True), coded.categories)[0])
    if math.isnan(value):
        return Agreement(coefficient.name, None, ONE_CATEGORY)
    if paired < FEWEST:
        return Agreement(coefficient.name, undefined(paired, value), f"fewer than {FEWEST} items")
    drawn = coefficient.of_sums(resampled_sums(columns, seed), coded.categories)
    defined = drawn[~np.isnan(drawn)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(drawn):
        return Agreement(coefficient.name, undefined(paired, value), "nearly all answers are in one category")
    low, high = np.quantile(defined, (TAIL, 1 - TAIL))
    return Agreement(coefficient.name, Estimate(value, float(low), float(high), paired))


def _pairs(coded: Coded) -> Columns:
    """Of each item: the share of pairs of answers that agree, whether there is a pair, the share of each category,
    whether there is an answer."""
    counts = coded.counts
    each = counts.sum(1)
    agreeing = (counts * (counts - 1)).sum(1) / np.maximum(each * (each - 1), 1)
    shares = counts / np.maximum(each, 1)[:, None]
    return np.column_stack([agreeing, each > 1, shares, each > 0]).astype(float)


def _observed(sums: Sums) -> Float[np.ndarray, "samples"]:
    return _divided(sums[:, 0], sums[:, 1])


def _shares(sums: Sums) -> Float[np.ndarray, "samples categories"]:
    return _divided(sums[:, 2:-1], sums[:, -1:])


def _fleiss(sums: Sums, categories: int) -> Float[np.ndarray, "samples"]:
    return _beyond_chance(_observed(sums), np.square(_shares(sums)).sum(1))


def _gwet(sums: Sums, categories: int) -> Float[np.ndarray, "samples"]:
    if categories < 2:
        return np.full(len(sums), np.nan)
    shares = _shares(sums)
    return _beyond_chance(_observed(sums), (shares * (1 - shares)).sum(1) / (categories - 1))


def _coincidences(coded: Coded) -> Columns:
    """Of each item with a pair: how many answers agree with another (Σ o_cc), and the answers in each category."""
    counts = coded.counts * (coded.counts.sum(1, keepdims=True) > 1)
    each = counts.sum(1)
    return np.column_stack([(counts * (counts - 1)).sum(1) / np.maximum(each - 1, 1), counts])


def _krippendorff(sums: Sums, categories: int) -> Float[np.ndarray, "samples"]:
    same, counts = sums[:, 0], sums[:, 1:]
    every = counts.sum(1)
    observed = _divided(every - same, every)
    expected = _divided(np.square(every) - np.square(counts).sum(1), every * (every - 1))
    return 1 - _divided(observed, expected)


def _by_pair(coded: Coded) -> Columns:
    """Of each pair of annotators, on an item that both answered: whether they agree, and either's category."""
    chosen = coded.chosen
    columns = []
    for first, second in combinations(range(chosen.shape[1]), 2):
        a, b = chosen[:, first], chosen[:, second]
        both = (a.sum(1) * b.sum(1))[:, None]
        columns += [(a * b).sum(1, keepdims=True), a * both, b * both]
    return np.concatenate(columns, 1)


def _cohen(sums: Sums, categories: int) -> Float[np.ndarray, "samples"]:
    by_pair = sums.reshape(len(sums), -1, 1 + 2 * categories)
    same, first, second = by_pair[..., 0], by_pair[..., 1 : 1 + categories], by_pair[..., 1 + categories :]
    items = first.sum(-1)
    kappas = _beyond_chance(_divided(same, items), _divided((first * second).sum(-1), np.square(items)))
    there = ~np.isnan(kappas)
    return _divided(np.where(there, kappas, 0).sum(1), there.sum(1).astype(float))


def _beyond_chance(observed: np.ndarray, chance: np.ndarray) -> np.ndarray:
    # a chance of 1 may be off by a rounding error
    return _divided(observed - chance, np.where(chance > 1 - 1e-12, 0.0, 1 - chance))


def _divided(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """NaN where the divisor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: np.ndarray = top / np.where(bottom == 0, np.nan, bottom)
    return found


PERCENT = Coefficient("percent agreement", _pairs, lambda sums, categories: _observed(sums))
COHEN = Coefficient("Cohen's κ", _by_pair, _cohen)
FLEISS = Coefficient("Fleiss' κ", _pairs, _fleiss)
KRIPPENDORFF = Coefficient("Krippendorff's α", _coincidences, _krippendorff)
GWET = Coefficient("Gwet's AC1", _pairs, _gwet)
COEFFICIENTS = (PERCENT, COHEN, FLEISS, KRIPPENDORFF, GWET)
