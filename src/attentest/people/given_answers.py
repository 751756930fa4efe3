"""The answers to a study as they stand in its database; reading never makes one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from attentest.errors import InputError
from attentest.people.study import ANSWERS, KNOWN, PeopleStudy

if TYPE_CHECKING:
    from attentest.people.answers import Answers


def answers_of(study: PeopleStudy, database: str | None = None) -> pa.Table:
    """In the columns of ANSWER_SCHEMA, from the study's own database or another one by its URL."""
    if database is None and not (study.folder / ANSWERS).is_file():
        raise InputError(_none(study))
    answers = _to_read(study, database)
    try:
        answers.expect_owner(study.fingerprint)
        table = answers.table()
    finally:
        answers.close()
    foreign = sorted(set(table["item"].to_pylist()) - set(study.by_id))
    if foreign:
        raise InputError(f"The answers are to another study than {study.folder}: it has no item {foreign[0]!r}.")
    if not set(table["item"].to_pylist()) - {item.id for item in study.items if item.condition == KNOWN}:
        raise InputError(_none(study))
    return table


def opened(study: PeopleStudy, database: str | None = None) -> Answers:
    """The database of the study's answers, made if it is not there; that of another study is refused."""
    need_database()
    from attentest.people.answers import Answers

    answers = Answers(database or study.answers_url)
    try:
        answers.belong_to(study.fingerprint)
    except InputError:
        answers.close()
        raise
    return answers


def _to_read(study: PeopleStudy, database: str | None) -> Answers:
    need_database()
    from attentest.people.answers import Answers

    return Answers(database or study.answers_url, make=False)


def need_database() -> None:
    """A message instead of a stack trace where the extra is not installed."""
    if find_spec("sqlalchemy") is None:
        raise InputError("sqlalchemy must be installed for this: pip install 'attentest[web]'.")


def _none(study: PeopleStudy) -> str:
    return f"{study.folder} has no answers yet; ask people with attentest annotate serve {study.folder}."
