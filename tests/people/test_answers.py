"""Answers in a database: nothing lost, nothing doubled, nothing secret told; on SQLite and on PostgreSQL."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from postgresql import free_port, postgresql
from sqlalchemy import create_engine, text

from attentest.errors import InputError
from attentest.people.answers import LONGEST_NAME, Answers, Given, KeyUsedError
from attentest.people.answers_table import ANSWER_SCHEMA
from attentest.people.database import DatabaseError

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgresql() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'answers.sqlite'}"
    server, name = request.getfixturevalue("server"), f"answers{next(NUMBERS)}"
    with create_engine(
        server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    ).connect() as it:
        it.execute(text(f"CREATE DATABASE {name}"))
    return str(server).replace("/postgres", f"/{name}")


@pytest.fixture
def answers(url: str) -> Iterator[Answers]:
    made = Answers(url)
    yield made
    made.close()


def given(item: str = "a", relevant: bool = True, milliseconds: int = 900) -> Given:
    return Given(item, relevant, [3, 1, 3], 4, "why 😀\0 \ud800", milliseconds)


def test_an_answer_is_what_was_given(answers: Answers) -> None:
    answers.enroll(["ann"])
    saved = answers.save("ann", given(), "key-1")
    assert not saved.repeated
    assert answers.current("ann") == {"a": Given("a", True, [1, 3], 4, "why 😀� ?", 900)}
    table = answers.table()
    assert table.schema == ANSWER_SCHEMA
    (row,) = table.to_pylist()
    assert (row["annotator"], row["item"], row["relevant"], row["highlighted"]) == ("ann", "a", True, [1, 3])
    assert row["at"].year >= 2024


def test_what_was_not_asked_is_null(answers: Answers) -> None:
    answers.save("ann", Given("a", False, None, None, None, 10), "key-1")
    (row,) = answers.table().to_pylist()
    assert [row[name] for name in ("relevant", "highlighted", "confidence", "comment")] == [False, None, None, None]


def test_the_same_key_twice_is_one_answer(answers: Answers) -> None:
    first = answers.save("ann", given(), "key-1")
    again = answers.save("ann", given(), "key-1")
    assert (again.number, again.repeated) == (first.number, True)
    assert answers.current("ann")["a"].relevant
    assert not answers.save("bo", given(), "key-1").repeated  # keys of others are others
    assert answers.table().num_rows == 2


@pytest.mark.parametrize(
    "other", [given(relevant=False), given("b"), given(milliseconds=901), Given("a", True, None, 4, "why", 900), None]
)
def test_a_key_is_for_one_thing(answers: Answers, other: Given | None) -> None:
    answers.save("ann", given(), "key-1")
    with pytest.raises(KeyUsedError, match="already saved under this key"):
        _ = answers.undo("ann", "a", "key-1") if other is None else answers.save("ann", other, "key-1")
    assert answers.current("ann")["a"].relevant
    answers.undo("ann", "a", "key-2")
    with pytest.raises(KeyUsedError):
        answers.save("ann", given(), "key-2")
    with pytest.raises(KeyUsedError):
        answers.undo("ann", "b", "key-2")
    assert answers.current("ann") == {}


def test_the_last_answer_holds_and_can_be_undone(answers: Answers) -> None:
    answers.save("ann", given(), "key-1")
    answers.save("ann", given(relevant=False), "key-2")
    assert answers.current("ann")["a"].relevant is False
    answers.save("bo", given(), "key-1")
    undone = answers.undo("ann", "a", "key-3")
    assert answers.undo("ann", "a", "key-3") == type(undone)(undone.number, True)
    assert answers.current("ann") == {}
    assert answers.table()["annotator"].to_pylist() == ["bo"]
    answers.save("ann", given(), "key-4")
    assert answers.current("ann")["a"].relevant


def test_tokens_open_for_one_annotator_and_are_not_stored(answers: Answers, url: str) -> None:
    tokens = answers.enroll(["ann", "bo"])
    assert answers.enroll(["ann", "bo", "cy"]).keys() == {"cy"}
    assert answers.annotators() == ["ann", "bo", "cy"]
    assert [answers.annotator_of(tokens[name]) for name in ("ann", "bo")] == ["ann", "bo"]
    assert [answers.annotator_of(wrong) for wrong in ("", "x", tokens["ann"][:-1], "\ud800")] == [None] * 4
    new = answers.new_token("ann")
    assert (answers.annotator_of(new), answers.annotator_of(tokens["ann"])) == ("ann", None)
    with pytest.raises(InputError, match="no annotator 'dee'"):
        answers.new_token("dee")
    if url.startswith("sqlite"):
        answers.close()
        stored = b"".join(file.read_bytes() for file in Path(url.removeprefix("sqlite:///")).parent.iterdir())
        assert b"bo" in stored
        assert tokens["bo"].encode() not in stored


@pytest.mark.parametrize("name", ["", " \t", "x" * (LONGEST_NAME + 1), "a\0b", "a\x1b[31m", "a\u202eb", "\ud800"])
def test_names_that_cannot_be(answers: Answers, name: str) -> None:
    with pytest.raises(InputError, match="cannot be an annotator's name"):
        answers.enroll([name])


def test_names_of_any_script(answers: Answers) -> None:
    names = ["<script>alert(1)</script>", "Ann  O'Neil", "安娜", "e\u0301ve", "'; DROP TABLE attentest_answers; --"]
    tokens = answers.enroll(names)
    assert set(tokens) == {"<script>alert(1)</script>", "Ann O'Neil", "安娜", "éve", names[-1]}
    for name, token in tokens.items():
        answers.save(name, given(), "key-1")
        assert answers.annotator_of(token) == name
    assert set(answers.table()["annotator"].to_pylist()) == set(tokens)


def test_many_at_once_store_each_answer_once(answers: Answers) -> None:
    work = [(f"ann{n % 8}", f"item{n // 16}", f"key-{n // 8 // 2 * 2}") for n in range(320)]  # every key twice
    with ThreadPoolExecutor(16) as pool:
        saved = list(pool.map(lambda one: answers.save(one[0], given(one[1]), one[2]), work))
    assert len({one.number for one in saved}) == len(set(work)) == 160
    assert sum(not one.repeated for one in saved) == 160
    assert answers.table().num_rows == 160
    assert answers.counts() == {f"ann{n}": 20 for n in range(8)}


def test_what_is_stored_is_there_for_the_next_process(answers: Answers, url: str) -> None:
    answers.save("ann", given(), "key-1")
    other = Answers(url)
    assert other.current("ann").keys() == {"a"}
    other.close()


def test_a_database_belongs_to_one_study(answers: Answers) -> None:
    answers.belong_to("one")
    answers.belong_to("one")
    with pytest.raises(InputError, match="another study"):
        answers.belong_to("two")
    answers.belong_to("one")


def test_tables_of_another_version_are_refused(url: str) -> None:
    with create_engine(url.replace("postgresql:", "postgresql+psycopg:")).begin() as database:
        database.execute(text("CREATE TABLE attentest_answers (number INTEGER)"))
    with pytest.raises(InputError, match="choose another database"):
        Answers(url)


def test_an_answer_is_on_the_disk_when_it_is_acknowledged(tmp_path: Path) -> None:
    answers = Answers(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with answers._engine.connect() as database:
        found = [database.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
    assert found == ["wal", 2]  # 2 is FULL


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        Answers(f"sqlite:///{tmp_path}/nowhere/answers.sqlite")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"not a database " * 500)
    with pytest.raises(DatabaseError, match="not a database"):
        Answers(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with pytest.raises(DatabaseError, match="unable to open"):
        Answers(f"sqlite:///{tmp_path}")


def test_a_database_of_another_program(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE bookmarks (page TEXT)")
    with pytest.raises(InputError, match="other tables than answers"):
        Answers(f"sqlite:///{tmp_path / 'a.sqlite'}")


@pytest.mark.parametrize("url", ["", "answers.sqlite", "mysql://u:quite-secret@h/d", "sqlite://", "sqlite:///:memory:"])
def test_what_is_no_url_of_a_database(url: str) -> None:
    with pytest.raises(InputError, match="expected sqlite:///FILE or postgresql://") as caught:
        Answers(url)
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_answer() -> None:
    with pytest.raises(DatabaseError, match="cannot be used") as caught:
        Answers(f"postgresql://u:quite-secret@127.0.0.1:{free_port()}/d?sslpassword=more-secret")
    assert "secret" not in str(caught.value)


def test_a_password_that_is_wrong(server: str) -> None:
    with pytest.raises(DatabaseError, match="nobody") as caught:
        Answers(server.replace("tester", "nobody"))
    assert "quite-secret" not in str(caught.value)
