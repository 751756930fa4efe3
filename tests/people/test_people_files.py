"""Answers leave and come back unchanged; what a file holds instead of answers is named with its place."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("sqlalchemy")

from made_study import answer, make_study

import attentest
from attentest.errors import InputError
from attentest.people.answers import Answers, Given
from attentest.people.exchange import export_answers, import_answers, rationale_of
from attentest.people.report import PeopleReport, report_of
from attentest.people.study import PeopleStudy

HEAD = "annotator,item,relevant"


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    made = make_study(tmp_path / "people")
    answer(made, ("ann", "bo", "cy"))
    return made


def plain(report: PeopleReport) -> dict[str, Any]:
    return {name: value for name, value in report.as_dict().items() if name != "folder"}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_answers_leave_and_come_back(form: str, study: PeopleStudy, tmp_path: Path) -> None:
    file = tmp_path / f"answers.{form}"
    assert export_answers(study, file) == 3 * 68
    other = make_study(tmp_path / "other")
    assert import_answers(other, file) == 3 * 68
    assert import_answers(other, file) == 0  # a second time adds nothing
    before, after = (Answers(one.answers_url).table().drop_columns("at") for one in (study, other))
    assert before.equals(after)
    assert json.dumps(plain(report_of(study))) == json.dumps(plain(report_of(other)))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "x", "must end with"),
        ("missing.csv", None, "missing.csv"),
        ("a.csv", "annotator,item,relevant\nann,unknown,yes\n", "not of this study"),
        ("a.csv", "annotator,item,relevant\nann,o1,perhaps\n", "line 2: `relevant` is 'perhaps'; expected yes or no"),
        ("a.csv", "annotator,item\nann,o1\n", "has no column `relevant`"),
        ("a.csv", "", "is empty"),
        ("a.csv", "annotator,item,relevant\n", "holds no answers"),
        ("a.jsonl", "\n", "holds no answers"),
        ("a.csv", "annotator;item;relevant\nann;o1;yes\n", "separated by semicolons"),
        ("a.csv", "annotator,item,relevant\nann,o1,yes,so,so\n", "line 2 has 5 cells for 3 columns"),
        ("a.csv", "annotator,item,relevant\nann,o1,\n", "line 2: `relevant` is empty"),
        ("a.csv", 'annotator,item,relevant,comment\nann,o1,yes,"a\nb"\nann,o2,so,\n', "line 4: `relevant` is 'so'"),
        ("a.csv", "annotator,item,relevant,milliseconds\nann,o1,yes,-1\n", "`milliseconds` is -1; expected a whole"),
        ("a.csv", "annotator,item,relevant\nzoe,o1,yes\n zoe ,o1,no\n", "line 3: there are two answers of 'zoe'"),
        ("a.csv", "annotator,item,relevant\nann,o1,yes\nann,o1,no\n", "two answers"),
        ("a.csv", "annotator,item,relevant,confidence\nann,o1,yes,9\n", "confidence"),
        ("a.csv", 'annotator,item,relevant,highlighted\nann,o1,yes,"[4]"\n', "only 4 words"),
        (
            "a.csv",
            "annotator,item,relevant,highlighted\nann,o1,yes,word\n",
            "line 2: `highlighted` is 'word'; expected numbers",
        ),
        ("a.csv", "annotator,item,relevant\n ,o1,yes\n", "annotator's name"),
        ("a.jsonl", '{"annotator": "a", "item": "o1", "relevant": 3}', "line 1: `relevant` is 3"),
        ("a.jsonl", "{not json", "line 1: .* is not JSON"),
        ("a.jsonl", "[1, 2]", "a.jsonl"),
        ("a.parquet", "no parquet", "a.parquet"),
    ],
)
def test_files_that_hold_no_answers(name: str, content: str | None, said: str, tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        import_answers(made, tmp_path / name)
    with pytest.raises(InputError, match="no answers yet"):  # nothing was written
        report_of(made)


def test_answers_without_times_exclude_nobody(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    rows = [f"ann,{item.id},{'no' if item.expected is False else 'yes'}" for item in made.items]
    (tmp_path / "a.csv").write_text("\n".join([HEAD, *rows]))
    assert import_answers(made, tmp_path / "a.csv") == len(rows)
    assert import_answers(made, tmp_path / "a.csv") == 0
    found = report_of(made)
    assert found.excluded == []
    assert found.kept is not None
    assert found.annotators[0].median_milliseconds is None
    export_answers(made, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["milliseconds"].null_count == len(rows)


def test_what_was_said_before_can_be_said_again(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    for said in ("yes", "no", "yes", "no"):
        (tmp_path / "a.csv").write_text(f"{HEAD}\nann,o1,{said}\n")
        assert import_answers(made, tmp_path / "a.csv") == 1
        assert import_answers(made, tmp_path / "a.csv") == 0
        assert Answers(made.answers_url).current("ann")["o1"].relevant == (said == "yes")
    Answers(made.answers_url).undo("ann", "o1", "undone")
    assert import_answers(made, tmp_path / "a.csv") == 1


SIGNS = ["=", "+", "-", "@", "\t", "\r", "'=", "''@", "'", ""]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_spreadsheet_takes_no_answer_for_a_formula(sign: str, tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    name = f"{sign.strip()}SUM(A1)"
    answers = Answers(made.answers_url)
    answers.enroll([name])
    answers.save(name, Given("o1", True, None, None, f"{sign}1+1\r'=2", 900), "k")
    export_answers(made, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert not [cell for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert import_answers(made, tmp_path / "a.csv") == 0  # the same name, item and comment
    other = make_study(tmp_path / "other")
    assert import_answers(other, tmp_path / "a.csv") == 1
    assert Answers(other.answers_url).current(name) == answers.current(name)


def test_whole_numbers_as_other_programs_write_them(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    (tmp_path / "a.csv").write_text(f"{HEAD},confidence,milliseconds\nann,o1,True,4.0,900.0\nann,o2,0,,\n")
    assert import_answers(made, tmp_path / "a.csv") == 2
    found = Answers(made.answers_url).current("ann")
    assert (found["o1"].confidence, found["o1"].milliseconds) == (4, 900)
    assert (found["o2"].relevant, found["o2"].confidence) == (False, None)


def test_highlighted_words_are_rationales_of_a_corpus(study: PeopleStudy, tmp_path: Path) -> None:
    export_answers(study, tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(row["text"], *row["rationale"]) for row in rows} == {("one two three four", 0, 1, 1, 0)}
    corpus = attentest.load(tmp_path / "a.jsonl", text="text", label="label", rationale="rationale")
    assert corpus.has_rationale


def test_parts_of_words_and_second_texts(study: PeopleStudy) -> None:
    item = replace(study.items[0], text="so, it is", second="why not", in_second=2)
    item = replace(item, start=[0, 2, 4, 7, 0, 4], end=[2, 3, 6, 9, 3, 7])  # "so" and the comma are two words
    assert rationale_of(item, [1, 3, 5]) == [1, 0, 1]
    assert rationale_of(item, []) == [0, 0, 0]
    assert rationale_of(item, None) is None


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_answers_to_another_study_are_refused(form: str, study: PeopleStudy, tmp_path: Path) -> None:
    file = tmp_path / f"answers.{form}"
    export_answers(study, file)
    assert study.record.id.encode() not in file.read_bytes()  # it is a secret
    other = make_study(tmp_path / "other")
    other = replace(other, record=replace(other.record, id="another"))  # with the same items
    with pytest.raises(InputError, match=r"`study` is .* another study"):
        import_answers(other, file)
    assert not (other.folder / "answers.sqlite").exists()
