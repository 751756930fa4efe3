"""Whose answers count, by the rule that was fixed when the study was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from attentest.people.study import KNOWN, Exclusion, PeopleStudy

Answer = Mapping[str, Any]  # a row of ANSWER_SCHEMA


@dataclass(frozen=True)
class Reliability:
    """How an annotator answered."""

    annotator: str
    answers: int
    known: int  # items with a known answer that were answered
    right: int  # of these
    median_milliseconds: float | None  # of the times that are known
    excluded: str  # why; empty if the answers count


def reliability(study: PeopleStudy, answers: Sequence[Answer]) -> list[Reliability]:
    by_annotator: dict[str, list[Answer]] = {}
    for answer in answers:
        by_annotator.setdefault(answer["annotator"], []).append(answer)
    return [_of(study, name, given) for name, given in sorted(by_annotator.items())]


def _of(study: PeopleStudy, annotator: str, given: Sequence[Answer]) -> Reliability:
    known = [answer for answer in given if study.by_id[answer["item"]].condition == KNOWN]
    right = sum(answer["relevant"] == study.by_id[answer["item"]].expected for answer in known)
    times = [answer["milliseconds"] for answer in given if answer["milliseconds"] is not None]
    time = median(times) if times else None
    why = _why(study.record.exclusion, len(known), right, time)
    return Reliability(annotator, len(given), len(known), right, time, why)


def _why(rule: Exclusion, known: int, right: int, time: float | None) -> str:
    """What is not known excludes nobody: neither without known items nor without times."""
    reasons = []
    if known and right < rule.least_known * known:
        reasons.append(f"{right} of {known} known answers right, below {rule.least_known:.0%}")
    if time is not None and time < rule.least_milliseconds:
        reasons.append(f"median time {time:,.0f} ms, below {rule.least_milliseconds:,} ms")
    return "; ".join(reasons)
