"""The report of a study with people: what annotators said, with and without those who are excluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from attentest.measures.estimate import Estimate
from attentest.people.answers_table import with_known_times
from attentest.people.exclusions import Reliability, reliability
from attentest.people.given_answers import answers_of
from attentest.people.outcome import Result, result_of
from attentest.people.study import ORIGINAL, PERMUTED, PeopleStudy
from attentest.studies.verdict.criterion import People
from attentest.trials.finding import Finding
from attentest.version import __version__

QUESTION = "Do people find the three heaviest words relevant to the prediction?"


@dataclass(frozen=True)
class PeopleReport:
    study: PeopleStudy
    annotators: Sequence[Reliability]
    kept: Result | None  # None: nobody's answers count
    every: Result

    @property
    def excluded(self) -> list[Reliability]:
        return [one for one in self.annotators if one.excluded]

    @property
    def answer(self) -> str:
        """In one sentence."""
        if self.kept is None:
            return "No conclusion: the exclusion rule leaves no annotator."
        first, second = (self.kept.shares[name] for name in (ORIGINAL, PERMUTED))
        said = "People call the three heaviest words relevant in"
        if not first.n:
            return f"{said} {second.value:.0%} of the texts with permuted weights; the model's own have no answers yet."
        said += f" {first.value:.0%} of the texts with the model's own weights"
        if not second.n:
            return f"{said}; permuted weights have no answers yet."
        return f"{said} and in {second.value:.0%} of those with permuted ones."

    def as_dict(self) -> dict[str, Any]:
        record = self.study.record
        return {
            "folder": str(self.study.folder),
            "answer": self.answer,
            "samples": record.samples,
            "known": record.known,
            "seed": record.seed,
            "detect": record.detect,
            "exclusion": asdict(record.exclusion),
            "annotators": [asdict(one) for one in self.annotators],
            "kept": None if self.kept is None else _plain(self.kept),
            "every": _plain(self.every),
        }

    @property
    def finding(self) -> Finding:
        """What an audit takes from it: the answers that count."""
        said = {} if self.kept is None else self.kept.by_text
        counting = 0 if self.kept is None else len(self.kept.annotators)
        rows = [
            {"id": self.study.by_id[item].source, "condition": condition, "relevant": relevant, "answers": count}
            for item, (condition, relevant, count) in said.items()
        ]
        return Finding(
            trial=People.name,
            question=QUESTION,
            answer=self.answer,
            table=pa.Table.from_pylist(rows, _SCHEMA),
            summary=self._summary,
            signature=dict(self.study.record.signature) | {"annotators": counting, "attentest": __version__},
            notes=tuple(f"Excluded: {one.annotator} ({one.excluded})." for one in self.excluded),
            kind=People.kind,
            headline=People.keys["relevant"],
        )

    @property
    def _summary(self) -> Mapping[str, Estimate]:
        if self.kept is None:
            return {}
        figures = {
            "relevant": self.kept.shares[ORIGINAL],
            "permuted": self.kept.shares[PERMUTED],
            "difference": self.kept.difference,
        }
        named = {People.keys[key]: found for key, found in figures.items()}
        return named | {one.name: one.estimate for one in self.kept.agreement if one.estimate is not None}


_SCHEMA = pa.schema({"id": pa.string(), "condition": pa.string(), "relevant": pa.float64(), "answers": pa.int32()})


def report_of(study: PeopleStudy, database: str | None = None) -> PeopleReport:
    """From the answers in the study's own database, or in another one by its URL."""
    answers = with_known_times(answers_of(study, database)).to_pylist()
    annotators = reliability(study, answers)
    every = result_of(study, answers, {one.annotator for one in annotators})
    assert every is not None  # answers_of refuses a study without answers
    return PeopleReport(study, annotators, result_of(study, answers, _counting(annotators)), every)


def _counting(annotators: Sequence[Reliability]) -> set[str]:
    return {one.annotator for one in annotators if not one.excluded}


def _plain(result: Result) -> dict[str, Any]:
    found = asdict(result)
    found["agreement"] = {
        one.name: {"estimate": one.estimate and one.estimate.as_dict(), "why": one.why} for one in result.agreement
    }
    del found["by_text"]
    return found
