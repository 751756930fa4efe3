"""Reports of studies with people equal what is counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import fisher_exact
from sklearn.metrics import cohen_kappa_score

pytest.importorskip("sqlalchemy")

from made_study import SAMPLES, answer, make_study, says

from attentest.errors import InputError
from attentest.measures.intervals import Estimate, share
from attentest.people.answers import Answers, Given
from attentest.people.answers_table import UNKNOWN_TIME
from attentest.people.exchange import export_answers
from attentest.people.outcome import FourFold, shuffled_p
from attentest.people.page import page_of
from attentest.people.report import report_of
from attentest.people.report_tables import tables_of
from attentest.people.study import PeopleStudy, open_study


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    made = make_study(tmp_path / "people")
    answer(made, ("ann", "bo", "cy"))
    return made


def said(study: PeopleStudy, name: str, condition: str) -> list[bool]:
    return [says(name, item) for item in study.items if item.condition == condition]


def cells_of(table: FourFold) -> list[Estimate]:
    return [table.relevant_correct, table.relevant_wrong, table.other_correct, table.other_wrong]


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
        shown = [one.value for one in cells_of(table)]
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


def save(
    study: PeopleStudy, name: str, conditions: Sequence[str], relevant: bool | None = None, time: int = 2000
) -> None:
    """One annotator's answers to the items of some conditions."""
    answers = Answers(study.answers_url)
    answers.enroll([name])
    for n, item in enumerate(item for item in study.items if item.condition in conditions):
        given = Given(item.id, says("bo", item) if relevant is None else relevant, None, 1 + n % 5, None, time)
        answers.save(name, given, item.id)
    answers.close()


def test_one_answer_a_text_gives_tables_exact_intervals_and_fishers_test(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    answer(made, ("bo",))
    found = report_of(made)
    items = [item for item in made.items if item.condition == "permuted"]
    cells = {
        (relevant, right): np.array([says("bo", i) == relevant and i.is_right == right for i in items], float)
        for relevant in (True, False)
        for right in (True, False)
    }
    table = found.every.tables["permuted"]
    assert cells_of(table) == [share(hits) for hits in cells.values()]
    counts = [[cells[relevant, right].sum() for right in (True, False)] for relevant in (True, False)]
    assert table.p == pytest.approx(fisher_exact(counts).pvalue, abs=1e-9)
    assert table.test.startswith("Fisher")
    first = cells_of(table)[0]
    written = f"{100 * first.value:.1f} [{100 * first.low:.1f}, {100 * first.high:.1f}]"
    assert written in page_of(found)
    assert f"p = {table.p:.3f} (Fisher" in page_of(found)
    told = found.as_dict()["every"]["tables"]["permuted"]
    assert (told["p"], told["relevant_correct"]["low"]) == (table.p, first.low)


def test_several_answers_a_text_are_shuffled_between_correct_and_wrong(study: PeopleStudy) -> None:
    kept = report_of(study).kept
    assert kept is not None
    table = kept.tables["original"]
    by_right = {
        right: np.array(
            [np.mean([says(name, item) for name in ("ann", "bo")])
             for item in sorted(study.items, key=lambda item: item.id)
             if item.condition == "original" and item.is_right == right]
        )
        for right in (True, False)
    }  # fmt: skip
    assert table.p == shuffled_p(by_right[True], by_right[False], study.record.seed)
    assert "shuffled" in table.test
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in cells_of(table))


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        ("original", "own weights; permuted weights have no answers yet."),
        ("permuted", "of the texts with permuted weights; the model's own have no answers yet."),
    ],
)
def test_a_condition_without_answers(answered: str, said: str, tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    save(made, "ann", [answered])
    found = report_of(made)
    for sentence in (found.answer, found.finding.answer):
        assert sentence.endswith(said)
        assert "nan" not in sentence
    assert "nan" not in page_of(found)


def test_unknown_times_exclude_nobody(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    save(made, "ann", ["original", "permuted", "known"], time=UNKNOWN_TIME)
    save(made, "bo", ["original", "permuted", "known"], time=2000)
    found = report_of(made)
    assert [one.median_milliseconds for one in found.annotators] == [None, 2000]
    assert found.excluded == []
    assert found.every.seconds["original"] == [2, 2, 2]  # the known ones
    shown = list(tables_of(found))[-1]
    assert [row[3] for row in shown.rows] == ["not known", "2.0"]
    assert shown.caption.endswith("Times are not known, so that rule is left out: ann.")


def test_confidence_by_condition(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    save(made, "ann", ["original", "permuted"])
    found = report_of(made)
    assert found.every.confidence["original"].value == pytest.approx(3)
    assert found.every.confidence["original"].n == SAMPLES
    assert "Confidence, from 1 to 5" in page_of(found)
    assert found.as_dict()["every"]["confidence"]["permuted"]["n"] == SAMPLES


def test_no_confidence_without_the_question(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    answers = Answers(made.answers_url)
    answers.save("ann", Given("o1", True, None, None, None, 900), "k")
    found = report_of(made)
    assert found.every.confidence == {}
    assert "Confidence" not in page_of(found)


def test_an_interval_over_annotators_stays_among_differences(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    for name, yes in (("ann", "original"), ("bo", "original"), ("cy", "permuted")):  # cy says the opposite
        for condition in ("original", "permuted"):
            save(made, name, [condition], relevant=condition == yes)
    found = report_of(made).every.over_annotators
    assert found is not None
    assert found.value == pytest.approx(1 / 3)
    assert (found.low, found.high) == (-1, 1)


def test_the_finding_counts_annotators(study: PeopleStudy) -> None:
    assert report_of(study).finding.signature["annotators"] == 2  # cy is excluded


def test_without_known_items_nobody_is_excluded_by_them(tmp_path: Path) -> None:
    made = make_study(tmp_path / "people")
    save(made, "ann", ["original", "permuted"])
    (only,) = report_of(made).annotators
    assert (only.known, only.excluded) == (0, "")
