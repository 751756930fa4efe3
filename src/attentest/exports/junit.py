"""JUnit XML, which CI servers read: a suite for each model, a test case for each definition."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from attentest.display.heatmaps.text import one_line
from attentest.reports.contents import Block, Report
from attentest.studies.verdict import Verdict
from attentest.version import __version__

_RESULTS = {
    "no": "failure",
    "unclear": "skipped",
    "not tested": "skipped",
    "does not apply": "skipped",
}  # answer -> element; yes passes


def junit(report: Report, blocks: Sequence[Block]) -> str:
    root = ElementTree.Element("testsuites", {"name": one_line(report.title), **_counts(blocks)})
    for block in blocks:
        suite = ElementTree.SubElement(root, "testsuite", {"name": one_line(block.name), **_counts([block])})
        _add_properties(suite, {"attentest": __version__, **dict(block.facts)})
        for verdict in block.verdicts:
            _add_case(suite, block.name, verdict)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _counts(blocks: Sequence[Block]) -> dict[str, str]:
    results = [_RESULTS.get(verdict.answer, "") for block in blocks for verdict in block.verdicts]
    return {
        "tests": str(len(results)),
        "failures": str(results.count("failure")),
        "errors": "0",
        "skipped": str(results.count("skipped")),
        "time": "0",
    }


def _add_case(suite: ElementTree.Element, model: str, verdict: Verdict) -> None:
    # servers tell cases apart by both names, so the model must be in one of them
    case = ElementTree.SubElement(
        suite, "testcase", classname=one_line(model), name=f"attention is {verdict.definition.name}", time="0"
    )
    _add_properties(case, _figures(verdict))
    if verdict.answer in _RESULTS:
        sentence = one_line(f"{verdict.answer}: {verdict.confidence}")
        result = ElementTree.SubElement(case, _RESULTS[verdict.answer], message=sentence)
        if verdict.answer == "no":
            result.set("type", "verdict")
            result.text = one_line(f"Denied: {verdict.definition.means} Caveat: {verdict.definition.caveat}")
    ElementTree.SubElement(case, "system-out").text = one_line(verdict.confidence)


def _figures(verdict: Verdict) -> dict[str, str]:
    figures = {ruling.criterion.name: ruling for ruling in verdict.rulings if ruling.figure is not None}
    deciding = verdict.deciding
    return {
        "answer": verdict.answer,
        **({"decided by": deciding.criterion.name} if deciding else {}),
        **{
            name: f"{ruling.figure}, {ruling.criterion.side} {ruling.threshold:g}: {ruling.answer}"
            for name, ruling in figures.items()
        },
    }


def _add_properties(element: ElementTree.Element, values: dict[str, str]) -> None:
    properties = ElementTree.SubElement(element, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=one_line(name), value=one_line(value))
