"""What annotators said: the tables of Vashishth et al. 2019, Fig. 5, with intervals and tests.

A text is the unit: its figure is the share of its annotators who call the marked words relevant, so that several
answers to one text count as one. Every annotator sees both conditions, so who says yes more often than others does so
in both, and the difference between the conditions is free of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from attentest.measures.estimate import Estimate, independent_difference
from attentest.measures.fisher import fisher_p
from attentest.measures.intervals import mean, over_trainings, share
from attentest.measures.raters import Agreement, agreements
from attentest.people.exclusions import Answer
from attentest.people.study import KNOWN, ORIGINAL, PERMUTED, PeopleStudy

SHUFFLES = 9_999
FEWEST_ANNOTATORS = 3  # for an interval that is also over annotators
CONDITIONS = (ORIGINAL, PERMUTED)
CONFIDENCE = (1, 5)  # from guessing to certain


@dataclass(frozen=True)
class FourFold:
    """Shares of the answers in one condition: marked words relevant × prediction correct, over texts."""

    relevant_correct: Estimate
    relevant_wrong: Estimate
    other_correct: Estimate
    other_wrong: Estimate
    texts: int
    p: float | None  # whether words are called relevant as often where the prediction is wrong
    test: str


@dataclass(frozen=True)
class ByAnnotator:
    annotator: str
    original: Estimate
    permuted: Estimate
    p: float | None  # Fisher's


@dataclass(frozen=True)
class Result:
    """From the answers of some annotators."""

    annotators: Sequence[str]
    answers: int
    tables: Mapping[str, FourFold]
    shares: Mapping[str, Estimate]  # of texts whose marked words are called relevant, over texts
    difference: Estimate  # original − permuted, over texts
    over_annotators: Estimate | None  # the same, over texts and annotators
    p: float | None
    test: str
    by_annotator: Sequence[ByAnnotator]
    agreement: Sequence[Agreement]
    seconds: Mapping[str, Sequence[float]]  # quartiles of the time on an item, by condition, where times are known
    confidence: Mapping[str, Estimate]  # mean by condition, over texts, where it was asked
    by_text: Mapping[str, tuple[str, float, int]]  # item -> condition, share who call it relevant, answers


def result_of(study: PeopleStudy, answers: Sequence[Answer], annotators: Collection[str]) -> Result | None:
    """None without an answer in any of the two conditions."""
    known = {item.id for item in study.items if item.condition == KNOWN}
    counted = [a for a in answers if a["annotator"] in annotators and a["item"] not in known]
    if not counted:
        return None
    names = sorted({answer["annotator"] for answer in counted})
    by_item: dict[str, dict[str, bool]] = {}
    for answer in counted:
        by_item.setdefault(answer["item"], {})[answer["annotator"]] = answer["relevant"]
    condition = {item: study.by_id[item].condition for item in by_item}
    means = {
        name: np.array([np.mean(list(by_item[i].values())) for i in sorted(by_item) if condition[i] == name])
        for name in CONDITIONS
    }
    single = all(len(given) == 1 for given in by_item.values())
    shares = {name: _share(found, single) for name, found in means.items()}
    difference = independent_difference(shares[ORIGINAL], shares[PERMUTED])
    own = [_by_annotator(study, counted, name) for name in names]
    p, test = _tested(means[ORIGINAL], means[PERMUTED], single, study.record.seed, "conditions")
    return Result(
        annotators=names,
        answers=len(counted),
        tables={name: _four_fold(study, by_item, name, single) for name in CONDITIONS},
        shares=shares,
        difference=difference,
        over_annotators=_over_annotators(difference, own),
        p=p,
        test=test,
        by_annotator=own,
        agreement=agreements(
            [[given.get(name) for name in names] for _, given in sorted(by_item.items())],
            (False, True),
            study.record.seed,
        ),
        seconds={
            name: [float(q) for q in np.quantile(times, (0.25, 0.5, 0.75))]
            for name in CONDITIONS
            if (
                times := [
                    a["milliseconds"] / 1000 for a in _with(counted, "milliseconds") if condition[a["item"]] == name
                ]
            )
        },
        confidence={
            name: _mean_confidence([a for a in sure if condition[a["item"]] == name])
            for name in CONDITIONS
            if (sure := _with(counted, "confidence"))
        },
        by_text={i: (condition[i], float(np.mean(list(g.values()))), len(g)) for i, g in sorted(by_item.items())},
    )


def _share(by_text: Float[np.ndarray, "texts"], single: bool) -> Estimate:
    return share(by_text) if single else mean(by_text, (0, 1))


def _four_fold(study: PeopleStudy, by_item: Mapping[str, Mapping[str, bool]], condition: str, single: bool) -> FourFold:
    items = [
        i for i in sorted(by_item) if study.by_id[i].condition == condition and study.by_id[i].is_right is not None
    ]
    relevant = np.array([np.mean(list(by_item[item].values())) for item in items])
    right = np.array([study.by_id[item].is_right for item in items], bool)
    yes_right, yes_wrong, no_right, no_wrong = (
        _share(said * kind, single) for said in (relevant, 1 - relevant) for kind in (right, ~right)
    )
    p, test = _tested(relevant[right], relevant[~right], single, study.record.seed, "kinds of predictions")
    return FourFold(yes_right, yes_wrong, no_right, no_wrong, len(items), p, test)


def _with(answers: Sequence[Answer], name: str) -> list[Answer]:
    return [answer for answer in answers if answer[name] is not None]


def _mean_confidence(answers: Sequence[Answer]) -> Estimate:
    by_item: dict[str, list[int]] = {}
    for answer in answers:
        by_item.setdefault(answer["item"], []).append(answer["confidence"])
    return mean(np.array([np.mean(given) for given in by_item.values()]), CONFIDENCE)


def _by_annotator(study: PeopleStudy, answers: Sequence[Answer], annotator: str) -> ByAnnotator:
    said = {
        name: np.array(
            [a["relevant"] for a in answers
             if a["annotator"] == annotator and study.by_id[a["item"]].condition == name],
            float,
        )
        for name in CONDITIONS
    }  # fmt: skip
    first, second = said[ORIGINAL], said[PERMUTED]
    both = len(first) and len(second)
    p = fisher_p(int(first.sum()), len(first), int(second.sum()), len(second)) if both else None
    return ByAnnotator(annotator, share(first), share(second), p)


def _over_annotators(difference: Estimate, own: Sequence[ByAnnotator]) -> Estimate | None:
    gaps = np.array([one.original.value - one.permuted.value for one in own])
    gaps = gaps[~np.isnan(gaps)]
    if len(gaps) < FEWEST_ANNOTATORS:
        return None
    found = over_trainings(difference, gaps)
    low, high = np.clip((found.low, found.high), -1, 1).tolist()  # no difference of shares is larger
    return replace(found, low=low, high=high)


def _tested(
    first: Float[np.ndarray, "texts"], second: Float[np.ndarray, "others"], single: bool, seed: int, groups: str
) -> tuple[float | None, str]:
    if not len(first) or not len(second):
        return None, f"none: one of the {groups} has no answers"
    if single:
        hits = int(first.sum()), len(first), int(second.sum()), len(second)
        return fisher_p(*hits), "Fisher's exact test, two-sided, one answer a text"
    return shuffled_p(first, second, seed), f"texts shuffled between the {groups} {SHUFFLES:,} times, two-sided"


def shuffled_p(first: Float[np.ndarray, "texts"], second: Float[np.ndarray, "others"], seed: int) -> float:
    """How often the difference of the means is as large when conditions are given to texts at random.

    With one answer a text and as many texts in both conditions that is Fisher's test, but for the drawing.
    """
    every = np.concatenate([first, second])
    observed = abs(first.mean() - second.mean())
    generator = np.random.default_rng(seed)
    beyond = 0
    for _ in range(SHUFFLES):
        order = generator.permutation(every)
        beyond += abs(order[: len(first)].mean() - order[len(first) :].mean()) >= observed - 1e-12
    return (1 + beyond) / (1 + SHUFFLES)
