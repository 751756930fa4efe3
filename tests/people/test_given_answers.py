"""Answers are read from the database of their own study, as it was when they were given; reading makes nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from benchmarks.annotate_server import made_items, made_study
from postgresql import postgresql
from sqlalchemy import create_engine, inspect

from attentest.errors import InputError
from attentest.people.answers import Answers, Given
from attentest.people.exchange import export_answers, import_answers
from attentest.people.given_answers import answers_of, opened
from attentest.people.report import report_of
from attentest.people.study import PeopleStudy, open_study


def answered(folder: Path) -> PeopleStudy:
    study = made_study(folder, made_items(3, 0))
    answers = opened(study)
    for item in study.items:
        answers.save("ann", Given(item.id, True, None, None, None, 900), item.id)
    answers.close()
    return study


def changed(study: PeopleStudy, **more: Any) -> PeopleStudy:
    file = study.folder / "study.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | more))
    return open_study(study.folder)


@pytest.mark.parametrize(
    "more",
    [
        {"exclusion": {"least_known": 0.0, "least_milliseconds": 0}},
        {"asked": {"highlight": True, "confidence": False, "comment": False}},
        {"seed": 8},
        {"id": "another"},
    ],
)
@pytest.mark.parametrize("act", ["report", "export", "import", "serve"])
def test_a_study_is_not_changed_once_there_are_answers(act: str, more: dict[str, Any], tmp_path: Path) -> None:
    study = answered(tmp_path / "people")
    file = tmp_path / "answers.csv"
    export_answers(study, file)
    other = changed(study, **more)
    acts: dict[str, Callable[[], object]] = {
        "report": lambda: report_of(other),
        "export": lambda: export_answers(other, tmp_path / "b.csv"),
        "import": lambda: import_answers(other, file),
        "serve": lambda: opened(other),
    }
    with pytest.raises(InputError, match=r"another study, or study\.json was changed after they were given"):
        acts[act]()
    assert not (tmp_path / "b.csv").exists()


def test_a_study_that_is_only_moved_or_written_otherwise_is_the_same(tmp_path: Path) -> None:
    study = answered(tmp_path / "people")
    shutil.move(study.folder, tmp_path / "moved")
    file = tmp_path / "moved" / "study.json"
    file.write_text(json.dumps(json.loads(file.read_text()), indent=7))
    assert answers_of(open_study(tmp_path / "moved")).num_rows == 6


def test_a_database_that_is_mistyped_is_not_made(tmp_path: Path) -> None:
    study = answered(tmp_path / "people")
    for act in (
        lambda: report_of(study, f"sqlite:///{tmp_path}/typo"),
        lambda: export_answers(study, tmp_path / "a.csv", f"sqlite:///{tmp_path}/typo"),
    ):
        with pytest.raises(InputError, match="typo does not exist; expected the database of the answers"):
            act()
    assert [file.name for file in tmp_path.iterdir()] == ["people"]


def test_reading_makes_no_tables(tmp_path: Path) -> None:
    study = made_study(tmp_path / "people", made_items(3, 0))
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="empty holds no answers of people"):
        answers_of(study, f"sqlite:///{tmp_path}/empty")
    assert inspect(create_engine(f"sqlite:///{tmp_path}/empty")).get_table_names() == []
    with postgresql() as url:
        with pytest.raises(InputError, match="holds no answers of people"):
            answers_of(study, url)
        assert inspect(create_engine(url.replace("postgresql:", "postgresql+psycopg:"))).get_table_names() == []


def test_reading_leaves_the_database_alone(tmp_path: Path) -> None:
    study = answered(tmp_path / "people")
    answers_of(study)
    assert sorted(file.name for file in study.folder.iterdir()) == ["answers.sqlite", "items.parquet", "study.json"]


def test_closing_leaves_one_file_that_holds_everything(tmp_path: Path) -> None:
    study = made_study(tmp_path / "people", made_items(1, 0))
    answers = opened(study)
    other = sqlite3.connect(study.folder / "answers.sqlite")  # so that SQLite itself does not tidy up
    assert other.execute("SELECT count(*) FROM attentest_answers").fetchall() == [(0,)]
    answers.save("ann", Given(study.items[0].id, True, None, None, None, 900), "k")
    answers.close()
    shutil.copy(study.folder / "answers.sqlite", tmp_path / "copy.sqlite")
    other.close()
    assert Answers(f"sqlite:///{tmp_path}/copy.sqlite").table().num_rows == 1


def test_who_was_imported_has_no_link_until_they_get_one(tmp_path: Path) -> None:
    study = answered(tmp_path / "people")
    export_answers(study, tmp_path / "a.csv")
    url = f"sqlite:///{tmp_path}/other.sqlite"
    import_answers(study, tmp_path / "a.csv", url)
    answers = Answers(url)
    assert (answers.annotators(), answers.without_token()) == (["ann"], ["ann"])
    assert answers.annotator_of("") is None
    assert answers.annotator_of(answers.enroll(["ann"])["ann"]) == "ann"
    assert answers.without_token() == []
    import_answers(study, tmp_path / "a.csv", url)
    assert answers.without_token() == []  # the link stays
    answers.close()
