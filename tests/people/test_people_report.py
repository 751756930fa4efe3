"""Reports of studies with people equal what is counted by hand; answers leave and come back unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact
from sklearn.metrics import cohen_kappa_score

pytest.importorskip("sqlalchemy")

from attentest.errors import InputError
from attentest.people.answers import Answers, Given
from attentest.people.exchange import export_answers, import_answers
from attentest.people.outcome import shuffled_p
from attentest.people.page import page_of
from attentest.people.report import PeopleReport, report_of
from attentest.people.study import Asked, Exclusion, Item, PeopleStudy, StudyRecord, open_study, write_study

SAMPLES = 30


def make_study(folder: Path, **rule: Any) -> PeopleStudy:
    """30 original, 30 permuted and 8 known items; every third prediction is wrong."""
    items = [
        Item(
            id=f"{condition[0]}{n}",
            condition=condition,  # type: ignore[arg-type]
            expected=n % 2 == 0 if condition == "known" else None,
            source=f"{condition}-{n}",
            text="one two three four",
            second=None,
            start=[0, 4, 8, 14],
            end=[3, 7, 13, 18],
            in_second=0,
            weights=[0.1, 0.2, 0.3, 0.4],
            marked=[1, 2, 3],
            predicted="yes",
            label="no" if n % 3 == 0 else "yes",
        )
        for condition, count in (("original", SAMPLES), ("permuted", SAMPLES), ("known", 8))
        for n in range(count)
    ]
    signature = {"corpus": "made", "model": "m"}
    record = StudyRecord(1, 0, SAMPLES, 8, Asked(), Exclusion(**rule), ["no", "yes"], signature, None, "", "secret")
    return write_study(folder, record, items)


def says(annotator: str, item: Item) -> bool:
    """ann and bo read; bo differs now and then; cy always says yes."""
    if annotator == "cy":
        return True
    if item.condition == "known":
        return bool(item.expected)
    n = int(item.id[1:])
    relevant = n % 10 != 0 if item.condition == "original" else n % 5 == 0
    return not relevant if annotator == "bo" and n % 7 == 3 else relevant


def answer(study: PeopleStudy, names: tuple[str, ...], milliseconds: int = 2000) -> None:
    answers = Answers(study.answers_url)
    answers.enroll(names)
    for name in names:
        for item in study.items:
            given = Given(item.id, says(name, item), [1, 2], 4, "fine, \"so\" 'far'\nü", milliseconds)
            answers.save(name, given, f"{item.id}")
    answers.close()


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    made = make_study(tmp_path / "people")
    answer(made, ("ann", "bo", "cy"))
    return made


def said(study: PeopleStudy, name: str, condition: str) -> list[bool]:
    return [says(name, item) for item in study.items if item.condition == condition]


def test_tables_are_those_counted_by_hand(study: PeopleStudy) -> None:
    found = report_of(study)
    assert found.kept is not None
    assert list(found.kept.annotators) == ["ann", "bo"]
    for condition in ("original", "permuted"):
        cells = {(relevant, right): 0 for relevant in (True, False) for right in (True, False)}
        for name in ("ann", "bo"):
            for item in study.items:
                if item.condition == condition:
                    cells[says(name, item), item.label == item.predicted] += 1
        table = found.kept.tables[condition]
        shown = (table.relevant_correct, table.relevant_wrong, table.other_correct, table.other_wrong)
        order = ((True, True), (True, False), (False, True), (False, False))
        assert shown == pytest.approx([cells[cell] / (2 * SAMPLES) for cell in order], abs=1e-12)
        assert table.texts == SAMPLES
        both = np.mean([said(study, name, condition) for name in ("ann", "bo")])
        assert found.kept.shares[condition].value == pytest.approx(both)
    assert found.kept.difference.value == pytest.approx(
        found.kept.shares["original"].value - found.kept.shares["permuted"].value
    )
    assert found.kept.p is not None
    assert found.kept.p < 0.001


def test_agreement_is_over_both_conditions(study: PeopleStudy) -> None:
    found = report_of(study)
    assert found.kept is not None
    kappa = next(one for one in found.kept.agreement if one.name == "Cohen's κ")
    ann, bo = (said(study, name, "original") + said(study, name, "permuted") for name in ("ann", "bo"))
    assert kappa.value == pytest.approx(cohen_kappa_score(ann, bo), abs=1e-9)


def test_exclusions(study: PeopleStudy) -> None:
    found = report_of(study)
    assert [one.annotator for one in found.excluded] == ["cy"]
    assert found.excluded[0].excluded == "4 of 8 known answers right, below 75%"
    assert list(found.every.annotators) == ["ann", "bo", "cy"]
    assert found.kept is not None
    assert found.every.shares["permuted"].value > found.kept.shares["permuted"].value
    assert found.every.over_annotators is not None  # three annotators
    assert found.every.over_annotators.high - found.every.over_annotators.low > (
        found.every.difference.high - found.every.difference.low
    )
    assert found.kept.over_annotators is None


def test_too_fast(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people", least_milliseconds=1000)
    answer(made, ("ann",), milliseconds=999)
    found = report_of(made)
    assert found.kept is None
    assert found.answer.startswith("No conclusion")
    assert found.finding.summary == {}
    assert "median time 999 ms" in found.excluded[0].excluded


def test_one_annotator_is_fishers_test(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    answer(made, ("bo",))
    found = report_of(made).every
    first, second = (sum(said(made, "bo", name)) for name in ("original", "permuted"))
    expected = fisher_exact([[first, SAMPLES - first], [second, SAMPLES - second]]).pvalue
    assert found.p == pytest.approx(expected, abs=1e-9)
    assert found.by_annotator[0].p == pytest.approx(expected, abs=1e-9)
    assert {one.why for one in found.agreement} == {"there is one annotator"}


def test_shuffled_texts_are_fishers_test() -> None:
    first, second = np.repeat([1.0, 0.0], [15, 10]), np.repeat([1.0, 0.0], [8, 17])
    expected = fisher_exact([[15, 10], [8, 17]]).pvalue
    assert shuffled_p(first, second, 0) == pytest.approx(expected, abs=0.012)


def test_the_page_shows_names_as_text(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    answers = Answers(made.answers_url)
    answers.enroll(["<script>alert(1)</script>"])
    for item in made.items:
        answers.save("<script>alert(1)</script>", Given(item.id, True, None, None, None, 900), item.id)
    page = page_of(report_of(made))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "Original weights" in page


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
        ("a.csv", "annotator,item,relevant\nann,o1,perhaps\n", "bool"),
        ("a.csv", "annotator,item\nann,o1\n", "relevant"),
        ("a.csv", "annotator,item,relevant\nann,o1,yes\nann,o1,no\n", "two answers"),
        ("a.csv", "annotator,item,relevant,confidence\nann,o1,yes,9\n", "confidence"),
        ("a.csv", 'annotator,item,relevant,highlighted\nann,o1,yes,"[4]"\n', "only 4 words"),
        ("a.csv", "annotator,item,relevant,highlighted\nann,o1,yes,word\n", "not JSON"),
        ("a.csv", "annotator,item,relevant\n ,o1,yes\n", "annotator's name"),
        ("a.jsonl", "{not json", "not JSON"),
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


def test_no_answers_yet(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    for act in (lambda: report_of(made), lambda: export_answers(made, tmp_path / "a.csv")):
        with pytest.raises(InputError, match="has no answers yet"):
            act()
    assert not (made.folder / "answers.sqlite").exists()
    with pytest.raises(InputError, match="no such folder"):
        open_study(tmp_path / "nowhere")


def test_answers_of_another_study(study: PeopleStudy, tmp_path: Path) -> None:
    answers = Answers(study.answers_url)
    answers.save("ann", Given("stranger", True, None, None, None, 900), "k")
    with pytest.raises(InputError, match="another study"):
        report_of(study)
