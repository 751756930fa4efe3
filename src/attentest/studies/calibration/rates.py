"""Thresholds and error rates of tests and verdicts, from models of known truth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attentest.measures.intervals import Estimate
from attentest.measures.roc import auroc
from attentest.studies.calibration.models import KnownModel, truth_of
from attentest.studies.verdict.calibration import Calibration, Confusion, Rates, TestRates
from attentest.studies.verdict.criterion import AT_MOST, CALIBRATED, Criterion
from attentest.studies.verdict.definitions import CRITERIA, DEFINITIONS
from attentest.studies.verdict.judge import NO, UNCLEAR, YES, answer_of, figure_of, judge

BEST_ALARM = 0.05  # false alarms that a threshold may have where it is set …
WORST_ALARM, WORST_MISS = 0.1, 0.1  # … and with a no to true models, on other architectures, for the test to decide
LEAST_AREA = 0.85  # AUROC of a test that decides
ONE_ANSWER = 0.9  # a test that answers nearly always the same tells nothing


@dataclass(frozen=True)
class Case:
    """A model with a known truth, and a figure of it."""

    model: KnownModel
    truth: bool
    figures: Mapping[int, Estimate | None]  # by number of texts; None where it is not defined

    @property
    def score(self) -> float:
        """The figure from all texts; NaN where it is not defined."""
        last = self.figures[max(self.figures)]
        return math.nan if last is None else last.value

    def at(self, texts: int) -> Estimate | None:
        """From so many texts, or from as many as there are."""
        return self.figures[max(n for n in self.figures if n <= texts)]


def calibrate(models: Sequence[KnownModel], set_on: Sequence[str], signature: Mapping[str, Any]) -> Calibration:
    """Thresholds from the architectures `set_on`, and rates from the others."""
    tests = {}
    for criterion in CRITERIA.values():
        cases = cases_of(criterion, models)
        first = [case for case in cases if case.model.architecture in set_on]
        second = [case for case in cases if case.model.architecture not in set_on]
        if criterion.role == CALIBRATED and _both(first) and _both(second):
            tests[criterion.name] = _test(criterion, first, second)
    found = Calibration(tests, {}, dict(signature))
    held_out = [model for model in models if model.architecture not in set_on]
    return replace(found, verdicts=confusions(held_out, found))


def cases_of(criterion: Criterion, models: Sequence[KnownModel]) -> list[Case]:
    definition = criterion.name.partition(".")[0]
    found = []
    for model in models:
        truth = truth_of(model, definition)
        figures = {
            texts: figure if figure is not None and not math.isnan(figure.value) else None
            for texts, summaries in sorted(model.summaries.items())
            if (criterion.kind, criterion.trial) in summaries
            for figure in (figure_of(criterion, summaries),)
        }
        if truth is not None and figures:
            found.append(Case(model, truth, figures))
    return found


def _both(cases: Sequence[Case]) -> bool:
    return {case.truth for case in cases if not math.isnan(case.score)} == {True, False}


def _scores(criterion: Criterion, cases: Sequence[Case], truth: bool) -> np.ndarray:
    """Higher means rather yes."""
    sign = -1 if criterion.side == AT_MOST else 1
    return np.array([sign * case.score for case in cases if case.truth == truth])


def area(criterion: Criterion, cases: Sequence[Case]) -> Estimate:
    clusters = tuple(np.array([c.model.cluster for c in cases if c.truth == truth]) for truth in (True, False))
    return auroc(_scores(criterion, cases, True), _scores(criterion, cases, False), (clusters[0], clusters[1]))


def best_threshold(positive: np.ndarray, negative: np.ndarray) -> float:
    """Half way between two neighbouring scores: where hits minus false alarms are most, with few false alarms."""
    positive, negative = (scores[~np.isnan(scores)] for scores in (positive, negative))
    values = np.unique(np.concatenate([positive, negative]))
    between = np.concatenate([[values[0] - 1e-6], (values[1:] + values[:-1]) / 2, [values[-1] + 1e-6]])
    hits = (positive[None] >= between[:, None]).mean(1)
    alarms = (negative[None] >= between[:, None]).mean(1)
    gains = np.where(alarms <= BEST_ALARM, hits - alarms, -1)
    return float(between[int(gains.argmax())])


def _test(criterion: Criterion, first: Sequence[Case], second: Sequence[Case]) -> TestRates:
    sign = -1 if criterion.side == AT_MOST else 1
    threshold = sign * best_threshold(_scores(criterion, first, True), _scores(criterion, first, False))
    threshold = float(f"{threshold:.3g}")
    rates = [rates_at(criterion, threshold, second, texts) for texts in sizes_of(second)]
    every = (*first, *second)
    answers = Counter(_answer(criterion, threshold, case.at(max(case.figures))) for case in every)
    one = max(answers.values()) / len(every)
    measured = area(criterion, second)
    reasons = [
        *([f"AUROC {measured.value:.2f} is below {LEAST_AREA}"] if measured.value < LEAST_AREA else []),
        *([f"{rates[-1].false_alarm:.0%} false alarms"] if rates[-1].false_alarm > WORST_ALARM else []),
        *([f"it says no to {rates[-1].miss:.0%} of true models"] if rates[-1].miss > WORST_MISS else []),
        *([f"it gives {one:.0%} of all models the same answer"] if one > ONE_ANSWER else []),
    ]
    return TestRates(threshold, measured, area(criterion, first).value, one, not reasons, "; ".join(reasons), rates)


def _answer(criterion: Criterion, threshold: float, figure: Estimate | None) -> str:
    """A figure that is not defined decides nothing."""
    return UNCLEAR if figure is None else answer_of(criterion.side, threshold, figure)


def sizes_of(cases: Sequence[Case]) -> list[int]:
    """Numbers of texts that all cases have, and the largest of all: corpora differ in how many texts are marked."""
    shared = set.intersection(*(set(case.figures) for case in cases))
    return sorted({*shared, max(max(case.figures) for case in cases)})


def rates_at(criterion: Criterion, threshold: float, cases: Sequence[Case], texts: int) -> Rates:
    """Of cases that have fewer texts, all of these count."""
    there = [case for case in cases if min(case.figures) <= texts]
    answers = [(case.truth, _answer(criterion, threshold, case.at(texts))) for case in there]

    def share(truth: bool | None, answer: str) -> float:
        some = [given == answer for known, given in answers if truth is None or known == truth]
        return sum(some) / len(some) if some else math.nan

    return Rates(texts, share(True, YES), share(False, YES), share(True, NO), share(None, UNCLEAR), len(there))


def _plain(counts: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    return {key: dict(row) for key, row in counts.items()}


def confusions(models: Sequence[KnownModel], rates: Calibration) -> dict[str, Confusion]:
    """What `judge` says of these models under each definition whose truth is known, from all their texts."""
    found: dict[str, Confusion] = {}
    for name in DEFINITIONS:
        counts: dict[str, Counter[str]] = {YES: Counter(), NO: Counter()}
        by_kind: dict[str, Counter[str]] = {}
        texts = 0
        for model in models:
            truth = truth_of(model, name)
            if truth is None:
                continue
            texts = max(texts, model.most_texts)
            verdicts = judge(model.summaries[model.most_texts], rates=rates)
            answer = next(verdict.answer for verdict in verdicts if verdict.definition.name == name)
            counts[YES if truth else NO][answer] += 1
            by_kind.setdefault(model.kind, Counter())[answer] += 1
        if any(counts.values()):
            found[name] = Confusion(texts, _plain(counts), _plain(by_kind))
    return found
