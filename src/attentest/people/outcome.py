"""What annotators said: the tables of Vashishth et al. 2019, Fig. 5, with intervals and tests.

A text is the unit: its figure is the share of its annotators who call the marked words relevant, so that several
answers to one text count as one. Every annotator sees both conditions, so who says yes more often than others does so
in both, and the difference between the conditions is free of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class FourFold:
    """Shares of the answers in one condition: marked words relevant × prediction correct, mean over texts."""

    relevant_correct: float
    relevant_wrong: float
    other_correct: float
    other_wrong: float
    texts: int


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
    seconds: Mapping[str, Sequence[float]]  # quartiles of the time on an item, by condition
    by_text: Mapping[str, tuple[str, float, int]]  # item -> condition, share who call it relevant, answers


def result_of(study: PeopleStudy, answers: Sequence[Answer], annotators: Collection[str]) -> Result | None:
    """None without an answer in one of the two conditions."""
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
    shares = {name: share(found) if single else mean(found, (0, 1)) for name, found in means.items()}
    difference = independent_difference(shares[ORIGINAL], shares[PERMUTED])
    own = [_by_annotator(study, counted, name) for name in names]
    p, test = _tested(means[ORIGINAL], means[PERMUTED], single, study.record.seed)
    return Result(
        annotators=names,
        answers=len(counted),
        tables={name: _four_fold(study, by_item, name) for name in CONDITIONS},
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
            if (times := [a["milliseconds"] / 1000 for a in counted if condition[a["item"]] == name])
        },
        by_text={i: (condition[i], float(np.mean(list(g.values()))), len(g)) for i, g in sorted(by_item.items())},
    )


def _four_fold(study: PeopleStudy, by_item: Mapping[str, Mapping[str, bool]], condition: str) -> FourFold:
    cells = np.zeros((2, 2))
    texts = 0
    for item, given in by_item.items():
        about = study.by_id[item]
        if about.condition == condition and about.is_right is not None:
            relevant = float(np.mean(list(given.values())))
            cells[:, 0 if about.is_right else 1] += relevant, 1 - relevant
            texts += 1
    shares = cells / texts if texts else np.full((2, 2), math.nan)
    (yes_right, yes_wrong), (no_right, no_wrong) = shares.tolist()
    return FourFold(yes_right, yes_wrong, no_right, no_wrong, texts)


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
    return over_trainings(difference, gaps) if len(gaps) >= FEWEST_ANNOTATORS else None


def _tested(
    first: Float[np.ndarray, "texts"], second: Float[np.ndarray, "others"], single: bool, seed: int
) -> tuple[float | None, str]:
    if not len(first) or not len(second):
        return None, "none: one of the conditions has no answers"
    if single:
        hits = int(first.sum()), len(first), int(second.sum()), len(second)
        return fisher_p(*hits), "Fisher's exact test, two-sided, one answer a text"
    return shuffled_p(first, second, seed), f"texts shuffled between the conditions {SHUFFLES:,} times, two-sided"


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
