"""A report as tables, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attentest.measures.estimate import Estimate
from attentest.people.exclusions import Reliability
from attentest.people.outcome import CONDITIONS, CONFIDENCE, Result
from attentest.people.report import PeopleReport


@dataclass(frozen=True)
class ReportTable:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""


def tables_of(report: PeopleReport) -> Iterator[ReportTable]:
    if report.kept is not None:
        yield from _result_tables(report.kept, "" if not report.excluded else ", without excluded annotators")
    if report.excluded:
        yield from _result_tables(report.every, ", with excluded annotators")
    yield ReportTable(
        "Annotators",
        ("annotator", "answers", "known answers right", "median seconds", "excluded"),
        [
            (one.annotator, one.answers, f"{one.right} of {one.known}", _seconds(one), one.excluded or "no")
            for one in report.annotators
        ],
        _rule(report),
    )  # fmt: skip


def _rule(report: PeopleReport) -> str:
    rule = report.study.record.exclusion
    untimed = [one.annotator for one in report.annotators if one.median_milliseconds is None]
    said = (
        f"Excluded, as fixed when the study was made: below {rule.least_known:.0%} of the known answers right, or a "
        f"median time below {rule.least_milliseconds:,} ms."
    )
    return said + (f" Times are not known, so that rule is left out: {', '.join(untimed)}." if untimed else "")


def _seconds(one: Reliability) -> str:
    return "not known" if one.median_milliseconds is None else f"{one.median_milliseconds / 1000:.1f}"


def _result_tables(result: Result, which: str) -> Iterator[ReportTable]:
    for condition in CONDITIONS:
        table = result.tables[condition]
        yield ReportTable(
            f"{condition.capitalize()} weights, % of {table.texts:,} texts [95 % interval]{which}",
            ("three heaviest words", "prediction correct", "prediction wrong"),
            [
                ("relevant", _percent(table.relevant_correct), _percent(table.relevant_wrong)),
                ("not relevant", _percent(table.other_correct), _percent(table.other_wrong)),
            ],
            f"Relevant where correct as often as where wrong: p {written_p(table.p)} ({table.test}).",
        )
    gap = result.difference
    figures = [*((f"{name} weights", result.shares[name]) for name in CONDITIONS), ("difference", gap)]
    if result.over_annotators is not None:
        figures.append(("difference, interval also over annotators", result.over_annotators))
    yield ReportTable(
        f"Texts called relevant{which}",
        ("", "share", "95 % interval", "texts"),
        [(name, _number(found.value), _interval(found), found.n) for name, found in figures],
        f"p {written_p(result.p)} ({result.test}). Intervals are over texts, the mean answer of each text; they say "
        "nothing about other annotators unless the row says so.",
    )
    yield ReportTable(
        f"By annotator{which}",
        ("annotator", "original", "permuted", "Fisher's p"),
        [(one.annotator, _number(one.original.value), _number(one.permuted.value), written_p(one.p).removeprefix("= "))
         for one in result.by_annotator],
    )  # fmt: skip
    yield ReportTable(
        f"Agreement{which}",
        ("", "value [95 % interval over items]"),
        [(one.name, str(one)) for one in result.agreement],
    )
    yield ReportTable(
        f"Seconds on an item{which}",
        ("", "first quartile", "median", "third quartile"),
        [(f"{name} weights", *(f"{q:.1f}" for q in found)) for name, found in result.seconds.items()],
        "" if result.seconds else "No times are known.",
    )
    if result.confidence:
        yield ReportTable(
            f"Confidence, from {CONFIDENCE[0]} to {CONFIDENCE[1]}{which}",
            ("", "mean", "95 % interval", "texts"),
            [(f"{name} weights", _number(found.value), _interval(found), found.n)
             for name, found in result.confidence.items()],
        )  # fmt: skip


def written_p(p: float | None) -> str:
    if p is None:
        return "not defined"
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _percent(share: Estimate) -> str:
    if share.value != share.value:
        return "–"
    return f"{100 * share.value:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _number(value: float) -> str:
    return "–" if value != value else f"{value:z.3f}"


def _interval(found: Estimate) -> str:
    return "–" if found.low != found.low else f"[{found.low:z.3f}, {found.high:z.3f}]"
