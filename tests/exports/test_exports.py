"""The verdicts of a folder as a model card, as JUnit XML and as CSV."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import ANSWERS, HOSTILE, block, report, verdicts
from markdown_it import MarkdownIt
from program import Program

import attentest
from attentest.audits import Audit
from attentest.cli.exports import FORMS as NAMED
from attentest.display.heatmaps.text import one_line
from attentest.exports.card import card
from attentest.exports.export import FORMS
from attentest.exports.formulas import guarded, unguarded
from attentest.exports.junit import junit
from attentest.exports.table import table
from attentest.measures.intervals import Estimate
from attentest.reports.contents import Block
from attentest.studies.verdict import CRITERIA, DEFINITIONS, judge

RESULTS = {"yes": None, "no": "failure", "unclear": "skipped", "not tested": "skipped"}


def front_matter(text: str) -> tuple[Any, str]:
    """As the Hub finds it: between the first two lines of three dashes."""
    found = re.match(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    assert found
    return yaml.safe_load(found[1]), found[2]


class Elements(HTMLParser):
    """The elements of a text that was Markdown, and its tables' cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.words: list[str] = []
        self.feed(MarkdownIt("commonmark").enable("table").render(text))

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def cases_of(text: str) -> list[tuple[str, str | None]]:
    """The result of each case by its name: what a CI server takes from the file, with the counts that it shows."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    cases = []
    for place in (root, *root):
        held = list(place.iter("testcase"))
        counts = {kind: len(list(place.iter(kind))) for kind in ("failure", "skipped", "error")}
        shown = {name: int(place.attrib[name]) for name in ("tests", "failures", "skipped", "errors")}
        expected = {"failures": counts["failure"], "skipped": counts["skipped"], "errors": counts["error"]}
        assert shown == {"tests": len(held), **expected}
        assert float(place.attrib["time"]) >= 0
    for suite in root:
        assert suite.tag == "testsuite"
        assert {part.tag for part in suite} == {"properties", "testcase"}
        for case in suite.iter("testcase"):
            assert set(case.attrib) == {"classname", "name", "time"}
            results = [part for part in case if part.tag in ("failure", "skipped", "error")]
            assert {part.tag for part in case} <= {"properties", "failure", "skipped", "system-out"}
            assert all(part.attrib["message"] for part in results)
            cases.append((case.attrib["name"], results[0].tag if results else None))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)  # GitLab takes those of the same names for one
    return cases


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_card_has_what_the_hub_reads() -> None:
    about, _ = front_matter(card(report(), [block()]))
    ((model,), (result,)) = (about["model-index"], about["model-index"][0]["results"])
    assert model["name"] == "reviews bilstm"
    assert result["task"]["type"] == "text-classification"
    assert result["dataset"] == {"name": "reviews", "type": "reviews", "split": "test"}
    values = {metric["name"]: metric["value"] for metric in result["metrics"]}
    assert (values["accuracy"], values["f1"]) == (0.9, 0.8)
    assert values["attention faithful (exchange)"] == 0.7
    assert "auc" not in values
    assert len(values) == 2 + sum(answer != "not tested" for answer in ANSWERS)
    assert all(metric["verified"] is False for metric in result["metrics"])
    (faithful,) = (metric for metric in result["metrics"] if metric["type"] == "faithful.exchange")
    assert faithful["args"]["answer"] == "yes"
    assert (faithful["args"]["low"], faithful["args"]["high"]) == (pytest.approx(0.6), pytest.approx(0.8))


def test_a_card_is_read_by_the_hub_s_own_library() -> None:
    hub = pytest.importorskip("huggingface_hub")
    two = [block(), block("other", "other")]
    found = hub.ModelCard(card(report(*two), two))
    assert [result.metric_name for result in found.data.eval_results[:2]] == ["accuracy", "f1"]
    assert found.data.eval_results[0].dataset_name == "reviews"
    assert "Can the attention be trusted" in found.text


def test_a_card_says_figures_thresholds_controls_rates_and_caveats() -> None:
    text = " ".join(front_matter(card(report(notes=("12 rows were dropped.",)), [block()]))[1].split())
    for said in (
        *("**faithful** | yes |", "0.700 [0.600, 0.800]", "| 400 |", "at least 0.5"),
        *("null 0.100", "ceiling 0.900", "positive 0.800", "hit rate 97%, false alarms 4%", "96 models, 200 texts"),
        *("corpus hash: ab12cd34", "budget: quick", "judged by attentest: 9.9.9", "12 rows were dropped\\."),
        *(definition.caveat for definition in DEFINITIONS.values()),
    ):
        assert said in text, said
    assert text.count("| **") == len(DEFINITIONS)


def elements(name: str) -> list[str]:
    """Of a card of two models, in which everything that may be named is named so."""
    blocks = [block(name, name), block("other", name)]
    return Elements(front_matter(card(report(*blocks, title=name, notes=(name,)), blocks))[1]).names


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_no_markup_of_a_card(name: str) -> None:
    assert elements(name) == elements("reviews")


@settings(max_examples=200, deadline=None)
@given(name=st.text("-+1.)#*_[]()<>|`~&:!=\\'\" \n\taw/", max_size=30).filter(str.strip))
def test_no_signs_are_markup_of_a_card(name: str) -> None:
    assert elements(name) == elements("reviews")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_they_are(name: str) -> None:
    body = front_matter(card(report(), [block(corpus=name)]))[1]
    assert f"classes: {one_line(name)}" in "".join(Elements(body).words)


def test_a_case_fails_passes_or_is_skipped_by_its_verdict() -> None:
    text = junit(report(), [block()])
    expected = [(f"attention is {name}", RESULTS[answer]) for name, answer in zip(DEFINITIONS, ANSWERS, strict=True)]
    assert cases_of(text) == expected
    root = ElementTree.fromstring(text)
    (failure, *_) = root.iter("failure")
    assert failure.attrib["message"] == "no: Because it is no."
    assert DEFINITIONS["needed"].caveat in (failure.text or "")
    values = {item.attrib["name"]: item.attrib["value"] for item in root.iter("property")}
    assert values["faithful.exchange"] == "0.700 [0.600, 0.800], at least 0.5: yes"
    assert values["corpus hash"] == "ab12cd34"


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_no_markup_of_xml(name: str) -> None:
    blocks = [block(name, name), block("other", name)]
    text = junit(report(*blocks, title=name), blocks)
    assert len(cases_of(text)) == 2 * len(DEFINITIONS)
    assert text.encode() == text.encode("utf-8", "strict")
    if name.isprintable():
        assert ElementTree.fromstring(text)[0].attrib["name"] == name


@settings(max_examples=100, deadline=None)
@given(name=st.text(st.characters(codec=None)))
def test_any_name_makes_files_that_can_be_read(name: str) -> None:
    blocks = [block(name, name)]
    whole = report(*blocks, title=name, notes=(name,))
    assert len(cases_of(junit(whole, blocks))) == len(DEFINITIONS)
    about, _ = front_matter(card(whole, blocks))
    assert about["model-index"][0]["name"] == about["model-index"][0]["results"][0]["dataset"]["name"]
    assert len(rows_of(table(whole, blocks))) == len(CRITERIA)
    for form in FORMS.values():
        assert form(whole, blocks).encode("utf-8", "strict")


def test_a_row_for_each_test() -> None:
    rows = rows_of(table(report(), [block(), block("other")]))
    assert [row["test"] for row in rows] == [*CRITERIA] * 2
    (row, *_) = (row for row in rows if row["test"] == "faithful.exchange")
    assert (row["model"], row["definition"], row["verdict"], row["decides"]) == (
        "reviews bilstm", "faithful", "yes", "yes",
    )  # fmt: skip
    numbers = ("figure value", "null value", "ceiling high", "control positive value", "control null n", "rates hit")
    assert [float(row[name]) for name in numbers] == pytest.approx([0.7, 0.1, 1.0, 0.8, 400, 0.97])
    (bare, *_) = (row for row in rows if row["test"] == "faithful.top")
    assert {bare[name] for name in (*numbers, "texts_needed", "smallest_visible")} == {""}
    whole = set(block().verdicts[0].rulings[0].as_dict())
    nested = {"figure", "null", "ceiling", "rates", "controls", "name"}
    assert whole - nested <= set(row)


def test_what_is_not_defined_is_an_empty_cell() -> None:
    nan = float("nan")
    rows = rows_of(table(report(), [block(null=Estimate(0.5, nan, nan, 1))]))
    assert (rows[0]["null value"], rows[0]["null low"], rows[0]["null high"]) == ("0.5", "", "")


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_a_spreadsheet_takes_no_name_for_a_formula(sign: str) -> None:
    rows = rows_of(table(report(), [block(f"{sign}SUM(A1)")]))
    assert {row["model"] for row in rows} == {f"'{sign}SUM(A1)"}
    assert unguarded(guarded(f"{sign}SUM(A1)")) == f"{sign}SUM(A1)"
    lost = rows_of(table(report(), [Block("m", "m", [], verdicts(null=Estimate(-0.5, -0.6, -0.4, 9)), [])]))
    assert lost[0]["null value"] == "-0.5"  # a number stays one


@pytest.mark.parametrize("text", ["\t=1", "\r=1", "\n=1", "'=1", "''-1", "'quoted'", "plain", "", "1-1"])
def test_the_quote_before_a_formula_can_be_taken_off(text: str) -> None:
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert unguarded(guarded(text)) == text


def test_controls_of_one_model_alone_have_columns_for_all() -> None:
    rows = rows_of(table(report(), [block("without", controls={}), block("with")]))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert (rows[0]["control positive value"], rows[len(CRITERIA)]["control positive value"]) == ("", "0.8")


def test_a_model_on_which_nothing_was_tested_can_be_exported() -> None:
    bare = Block("m", "bare", [], judge({}), [])
    assert cases_of(junit(report(bare), [bare])) == [(f"attention is {name}", "skipped") for name in DEFINITIONS]
    about, body = front_matter(card(report(bare), [bare]))
    assert about["model-index"][0]["results"][0]["metrics"] == []
    assert body.count("| not tested |") == len(DEFINITIONS)
    assert len(rows_of(table(report(bare), [bare]))) == len(CRITERIA)


READ: dict[str, Callable[[str], Any]] = {
    "card": lambda text: [row for row in front_matter(text)[1].splitlines() if row.startswith("| **")],
    "junit": cases_of,
    "csv": lambda text: {row["definition"]: row["verdict"] for row in rows_of(text)},
}


@pytest.mark.parametrize("to", FORMS)
def test_an_audit_is_exported(audited: Audit, to: str, command: Program, tmp_path: Path) -> None:
    """To standard output and to a file, from the program and from Python: always the same."""
    text = attentest.export(audited, to)
    assert isinstance(text, str)
    found = READ[to](text)
    answers = audited.as_dict()["answers"]
    assert len(found) == len(answers)
    if to == "csv":
        assert found == answers
    if to == "junit":
        assert [result for _, result in found] == [RESULTS[answer] for answer in answers.values()]
    if to == "card":
        assert [row.split(" | ")[1] for row in found] == list(answers.values())
    said = command("export", audited.folder, "--to", to)
    assert (said.code, said.out, said.err) == (0, text, "")
    out = tmp_path / "new" / "file"
    assert command("export", audited.folder, "--to", to, "--out", out).out == f"{out}\n"
    assert out.read_text(encoding="utf-8") == text
    assert attentest.export(str(audited.folder), to, tmp_path / "other") == tmp_path / "other"


def test_a_card_of_an_audit_says_what_it_was_made_of(audited: Audit) -> None:
    text = attentest.export(audited, "card")
    assert isinstance(text, str)
    about, body = front_matter(text)
    fingerprint = dict(audited.report.blocks[0].facts)["corpus hash"]
    assert about["model-index"][0]["results"][0]["dataset"]["revision"] == fingerprint
    assert f"corpus hash: {fingerprint}" in body
    assert "budget: tiny" in body


def test_thresholds_of_the_folder_count(audited: Audit, tmp_path: Path) -> None:
    mine = shutil.copytree(audited.folder, tmp_path / "audit")
    attentest.report(mine, thresholds={"used.decisions": 0.875})
    text = attentest.export(mine, "csv")
    assert isinstance(text, str)
    (row,) = (row for row in rows_of(text) if row["test"] == "used.decisions")
    assert (row["threshold"], row["source"]) == ("0.875", "set by you")


def test_a_run_with_trials_is_exported_and_stays_as_it_is(own_run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match="no verdicts to export"):
        attentest.export(own_run, "junit")
    own_run.trial("uniform", texts=30)
    before = sorted(own_run.path.rglob("*"))
    text = attentest.export(own_run, "junit")
    assert isinstance(text, str)
    assert len(cases_of(text)) == len(DEFINITIONS)
    assert sorted(own_run.path.rglob("*")) == before


def test_what_cannot_be_exported_is_told(audited: Audit, command: Program, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (finding, *_) = (audited.folder / "findings").glob("*-removal")
    for arguments, message in (
        ((tmp_path / "empty", "--to", "csv"), "is not the folder of an audit, a study, a run or a trial"),
        ((tmp_path / "nosuch", "--to", "csv"), "there is no such folder"),
        ((finding, "--to", "csv"), "has no verdicts to export"),
        ((audited.folder, "--to", "crad"), "did you mean 'card'?"),
        ((audited.folder, "--to", "csv", "--out", tmp_path / "empty"), "it is not a regular file"),
        ((audited.folder,), "--to"),
    ):
        said = command("export", *arguments)
        assert (said.code, said.out) == (2, ""), arguments
        assert message in said.err
        assert said.err.count("\n") == 1


def test_the_program_offers_the_forms_that_there_are() -> None:
    assert tuple(FORMS) == NAMED
