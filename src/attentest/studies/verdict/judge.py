"""From findings to verdicts: yes, no, unclear or not tested, under each definition."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attentest.errors import InputError, unknown_name
from attentest.measures.intervals import Estimate
from attentest.studies.verdict.definitions import (
    AT_LEAST,
    AT_MOST,
    CRITERIA,
    DEFINITIONS,
    MORE_THAN,
    PEOPLE,
    TEXTS,
    Criterion,
    Definition,
)

YES, NO, UNCLEAR, UNTESTED = "yes", "no", "unclear", "not tested"
FEWEST = 20  # texts that a figure must stand on
Broken = Collection[tuple[str, str]]  # trial or experiment, and its name
Impossible = Mapping[tuple[str, str], str]  # trial or experiment that cannot be run -> why
Summaries = Mapping[tuple[str, str], Mapping[str, Estimate]]  # (trial or experiment, name) -> its summary


@dataclass(frozen=True)
class Ruling:
    """What one criterion says: its figure against the threshold."""

    criterion: Criterion
    threshold: float
    figure: Estimate | None
    answer: str
    why: str

    def as_dict(self) -> dict[str, Any]:
        named = {name: getattr(self.criterion, name) for name in ("name", "number", "kind", "trial", "says", "side")}
        figure = None if self.figure is None else self.figure.as_dict()
        return named | {
            "threshold": self.threshold,
            "source": self.criterion.source,
            "figure": figure,
            "answer": self.answer,
            "why": self.why,
        }


@dataclass(frozen=True)
class Verdict:
    definition: Definition
    answer: str
    rulings: Sequence[Ruling]
    confidence: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "definition": self.definition.name,
            "means": self.definition.means,
            "answer": self.answer,
            "confidence": self.confidence,
            "caveat": self.definition.caveat,
            "paper": self.definition.paper,
            "rulings": [ruling.as_dict() for ruling in self.rulings],
        }


def judge(
    summaries: Summaries,
    thresholds: Mapping[str, float] | None = None,
    broken: Broken = frozenset(),
    impossible: Impossible | None = None,
) -> list[Verdict]:
    """A verdict under each definition, with thresholds other than the usual ones where given.

    `broken` are trials and experiments that failed, `impossible` those that could not be run.
    """
    chosen = check_thresholds(thresholds or {})
    reasons = {place: f"the {' '.join(place)} failed" for place in broken} | dict(impossible or {})
    return [_verdict(definition, summaries, chosen, reasons) for definition in DEFINITIONS.values()]


def check_thresholds(given: Mapping[str, Any]) -> dict[str, float]:
    for name, value in given.items():
        if name not in CRITERIA:
            raise unknown_name("threshold", name, CRITERIA)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) <= sys.float_info.max:  # neither NaN nor a whole number that no float holds
            raise InputError(f"The threshold {name} is {value!r}; expected a number.")
    return {name: float(given.get(name, criterion.threshold)) for name, criterion in CRITERIA.items()}


def _verdict(
    definition: Definition, summaries: Summaries, thresholds: Mapping[str, float], reasons: Impossible
) -> Verdict:
    rulings = [_rule(criterion, thresholds[criterion.name], summaries, reasons) for criterion in definition.criteria]
    answers = [ruling.answer for ruling in rulings if ruling.answer != UNTESTED]
    answer = next((word for word in (NO, UNCLEAR, YES) if word in answers), UNTESTED)
    return Verdict(definition, answer, rulings, _confidence(answer, rulings))


def _rule(criterion: Criterion, threshold: float, summaries: Summaries, reasons: Impossible) -> Ruling:
    def figures(kind: str, name: str, entry: str) -> Estimate | None:
        return summaries.get((kind, name), {}).get(entry)

    figure = criterion.figure(figures)
    if figure is None:
        return Ruling(criterion, threshold, None, UNTESTED, _why_untested(criterion, summaries, reasons))
    if math.isnan(figure.value):
        return Ruling(criterion, threshold, None, UNTESTED, "the figure is not defined for these texts")
    if math.isnan(figure.low) or math.isnan(figure.high):
        return Ruling(criterion, threshold, figure, UNCLEAR, "the figure has no interval")
    if criterion.over == TEXTS and figure.n < FEWEST:
        return Ruling(criterion, threshold, figure, UNCLEAR, f"{figure.n:,} texts are too few")
    answer = _answer(criterion.side, threshold, _with_width(figure))
    place = {
        YES: "the whole interval meets the threshold",
        NO: "the whole interval fails the threshold",
        UNCLEAR: "the 95 % interval includes the threshold",
    }
    return Ruling(criterion, threshold, figure, answer, place[answer])


def _with_width(figure: Estimate) -> Estimate:
    """Where all values are the same, resampling them gives no width; with n of them, 3/n is what it may miss."""
    if figure.low < figure.high or not figure.n:
        return figure
    return Estimate(figure.value, figure.low - 3 / figure.n, figure.high + 3 / figure.n, figure.n)


def _answer(side: str, threshold: float, figure: Estimate) -> str:
    passed = {
        AT_LEAST: (figure.low >= threshold, figure.high < threshold),
        MORE_THAN: (figure.low > threshold, figure.high <= threshold),
        AT_MOST: (figure.high <= threshold, figure.low > threshold),
    }
    holds, fails = passed[side]
    return YES if holds else NO if fails else UNCLEAR


def _why_untested(criterion: Criterion, summaries: Summaries, reasons: Impossible) -> str:
    for asked in (criterion.against, criterion.asks) if criterion.against else (criterion.asks,):
        place = (asked.kind, asked.name)
        if asked.kind != PEOPLE and place not in summaries:
            return reasons.get(place, f"the {asked.kind} {asked.name} was not run")
    return criterion.absent or "the figure is not defined for these texts"


def _confidence(answer: str, rulings: Sequence[Ruling]) -> str:
    """How many tests decide, which ones, and which had no figure; 95 % intervals throughout."""
    run = [ruling for ruling in rulings if ruling.answer != UNTESTED]
    if not run:  # people are never asked
        return f"Not tested: {'; '.join(dict.fromkeys(r.why for r in rulings if r.criterion.kind != PEOPLE))}."
    decisive = [ruling for ruling in run if ruling.answer == answer]
    count = f"{len(decisive)} of {len(run)} {'test' if len(run) == 1 else 'tests'}"
    words = {
        YES: f"Passes {count}",
        NO: f"Fails {count}: {_shorts(decisive)}",
        UNCLEAR: "Inconclusive: " + "; ".join(f"{why} ({names})" for why, names in _by_reason(decisive).items()),
    }
    left = [ruling for ruling in rulings if ruling not in run]
    return f"{words[answer]}{f'; not tested: {_shorts(left)}' if left else ''}."


def _shorts(rulings: Sequence[Ruling]) -> str:
    return ", ".join(ruling.criterion.short for ruling in rulings)


def _by_reason(rulings: Sequence[Ruling]) -> dict[str, str]:
    """Reason -> the tests it holds for."""
    reasons = dict.fromkeys(ruling.why for ruling in rulings)
    return {why: _shorts([ruling for ruling in rulings if ruling.why == why]) for why in reasons}


FAILURES = {
    f"{word}-{name}": (name, answer)
    for name in DEFINITIONS
    for word, answer in (("not", NO), ("unclear", UNCLEAR), ("untested", UNTESTED))
}


def check_failures(given: Iterable[str]) -> list[str]:
    """Names such as not-faithful, which a verdict may be asked to fail on."""
    names = list(given)
    for name in names:
        if name not in FAILURES:
            raise unknown_name("verdict to fail on", name, FAILURES)
    return names


def failed(verdicts: Sequence[Verdict], on: Iterable[str]) -> list[str]:
    """Those of the names in `on` that came true; none of a model that has no verdicts, as its training failed."""
    answers = {verdict.definition.name: verdict.answer for verdict in verdicts}
    return [name for name in on if answers.get(FAILURES[name][0]) == FAILURES[name][1]]
