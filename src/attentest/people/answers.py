"""Answers in a database: an append-only log, of which the last entry for an item holds.

An entry is written once, however often it is sent: it has a key that whoever sends it chose, and another entry with the
same key is refused. It is acknowledged after it was committed, so that what was acknowledged outlives a kill.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_in_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_in_sqlite

from attentest.errors import InputError, brief
from attentest.people.answers_table import ANSWER_SCHEMA
from attentest.people.database import (
    connected,
    expect_database,
    expect_tables,
    fold_log,
    make_tables,
    parsed,
    place_of,
    reported,
)

LONGEST_NAME = 80
TABLES = MetaData()
NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what it calls an integer
ANNOTATORS = Table(
    "attentest_annotators",
    TABLES,
    Column("name", String, primary_key=True),
    Column("token", String(64)),  # its SHA-256; none for whose answers were imported, who has no link yet
)
LOG = Table(
    "attentest_answers",
    TABLES,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("annotator", String, nullable=False),
    Column("key", String(64), nullable=False),
    Column("item", String, nullable=False),
    Column("undone", Boolean, nullable=False),
    Column("relevant", Boolean),
    Column("highlighted", Text),
    Column("confidence", Integer),
    Column("comment", Text),
    Column("milliseconds", BigInteger),
    Column("at", BigInteger, nullable=False),  # milliseconds since 1970
    UniqueConstraint("annotator", "key"),
)
_SENT = [column.name for column in LOG.columns if column.name not in ("number", "at")]
STUDIES = Table("attentest_study", TABLES, Column("fingerprint", String, primary_key=True))


@dataclass(frozen=True)
class Given:
    """An annotator's answer to an item."""

    item: str
    relevant: bool
    highlighted: Sequence[int] | None  # numbers of words
    confidence: int | None
    comment: str | None
    milliseconds: int  # on the item


@dataclass(frozen=True)
class Saved:
    """What was committed: its number in the log, and whether it was there before."""

    number: int
    repeated: bool


class KeyUsedError(InputError):
    """Something else was stored under this key."""


class Answers:
    """All answers of one study."""

    def __init__(self, url: str, *, make: bool = True) -> None:
        """With `make=False` only a database that is there is opened."""
        self._url = parsed(url)
        if not make:
            expect_database(self._url)
        self._engine = connected(self._url)
        # one writer at a time: SQLite has no more, and its own waiting is not fair
        self._writing: AbstractContextManager[Any] = (
            threading.Lock() if self._url.drivername == "sqlite" else nullcontext()
        )
        if make:
            make_tables(self._engine, TABLES)
        else:
            expect_tables(self._engine, TABLES)

    def close(self) -> None:
        """All is in one file afterwards, if no other program has it open."""
        if self._url.drivername == "sqlite":
            fold_log(self._engine)
        self._engine.dispose()

    def belong_to(self, fingerprint: str) -> None:
        """Answers of one study only, as it was when the first was given."""
        with reported(self._url), self._writing, self._engine.begin() as database:
            database.execute(self._insert(STUDIES).values(fingerprint=fingerprint).on_conflict_do_nothing())
            self._expect_owner(fingerprint, database.execute(select(STUDIES)).all())

    def expect_owner(self, fingerprint: str) -> None:
        """As `belong_to`, but nothing is written."""
        self._expect_owner(fingerprint, self._rows(select(STUDIES)))

    def _expect_owner(self, fingerprint: str, owners: Sequence[Row[Any]]) -> None:
        if any(row.fingerprint != fingerprint for row in owners):
            raise InputError(
                f"{place_of(self._url)} holds the answers of another study, or study.json was changed after they were "
                "given; choose another database, or restore study.json."
            )

    def enroll(self, names: Sequence[str]) -> dict[str, str]:
        """Secret tokens of those who have none yet; nobody can read them again."""
        tokens = {}
        for name in map(checked_name, names):
            token = secrets.token_urlsafe(32)
            statement = self._insert(ANNOTATORS).values(name=name, token=_hashed(token))
            statement = statement.on_conflict_do_update(
                index_elements=[ANNOTATORS.c.name],
                set_={"token": statement.excluded.token},
                where=ANNOTATORS.c.token.is_(None),
            ).returning(ANNOTATORS.c.name)
            with reported(self._url), self._writing, self._engine.begin() as database:
                if database.execute(statement).first():
                    tokens[name] = token
        return tokens

    def add_without_token(self, names: Sequence[str]) -> None:
        """Whose answers came from elsewhere: nobody can answer in their name before they get a link."""
        rows = [{"name": checked_name(name)} for name in names]
        if rows:
            with reported(self._url), self._writing, self._engine.begin() as database:
                database.execute(self._insert(ANNOTATORS).values(rows).on_conflict_do_nothing())

    def without_token(self) -> list[str]:
        query = select(ANNOTATORS.c.name).where(ANNOTATORS.c.token.is_(None))
        return sorted(row.name for row in self._rows(query))

    def new_token(self, name: str) -> str:
        """The one before is worth nothing from now on."""
        name, token = checked_name(name), secrets.token_urlsafe(32)
        statement = update(ANNOTATORS).where(ANNOTATORS.c.name == name).values(token=_hashed(token))
        with reported(self._url), self._writing, self._engine.begin() as database:
            if not database.execute(statement).rowcount:
                raise InputError(f"There is no annotator {brief(name)}; enroll them first.")
        return token

    def annotators(self) -> list[str]:
        return sorted(row.name for row in self._rows(select(ANNOTATORS.c.name)))

    def annotator_of(self, token: str) -> str | None:
        """Compared with every annotator's, so that the time it takes tells nothing."""
        given, found = _hashed(token), None
        for row in self._rows(select(ANNOTATORS)):
            if hmac.compare_digest(given, row.token or ""):
                found = row.name
        return found

    def save(self, annotator: str, given: Given, key: str) -> Saved:
        marked = None if given.highlighted is None else json.dumps(sorted(set(given.highlighted)))
        return self._append(
            annotator=annotator,
            key=key,
            item=given.item,
            undone=False,
            relevant=given.relevant,
            highlighted=marked,
            confidence=given.confidence,
            comment=_storable(given.comment),
            milliseconds=given.milliseconds,
        )

    def undo(self, annotator: str, item: str, key: str) -> Saved:
        return self._append(annotator=annotator, key=key, item=item, undone=True)

    def current(self, annotator: str) -> dict[str, Given]:
        """By item; what was undone is left out. The latest comes last."""
        return {row.item: _given(row) for row in self._holding(annotator)}

    def counts(self) -> dict[str, int]:
        """How many items each annotator has answered."""
        done = dict.fromkeys(self.annotators(), 0)
        for row in self._holding():
            done[row.annotator] = done.get(row.annotator, 0) + 1
        return done

    def table(self) -> pa.Table:
        """What holds now, in the columns of ANSWER_SCHEMA."""
        rows = [
            {
                **vars(_given(row)),
                "annotator": row.annotator,
                "at": datetime.fromtimestamp(row.at / 1000, UTC),
            }
            for row in sorted(self._holding(), key=lambda row: (row.annotator, row.item))
        ]
        return pa.Table.from_pylist(rows, ANSWER_SCHEMA)

    def _append(self, **entry: Any) -> Saved:
        statement = self._insert(LOG).values(at=int(time.time() * 1000), **entry).on_conflict_do_nothing()
        same = (LOG.c.annotator == entry["annotator"]) & (LOG.c.key == entry["key"])
        with reported(self._url), self._writing, self._engine.begin() as database:
            new = database.execute(statement.returning(LOG.c.number)).scalar()
            if new is not None:
                return Saved(new, False)  # after the commit
            stored = database.execute(select(LOG).where(same)).one()._mapping
        if any(stored[name] != entry.get(name) for name in _SENT):
            raise KeyUsedError("Something else was already saved under this key; send this with a new key.")
        return Saved(stored["number"], True)

    def _holding(self, annotator: str | None = None) -> Sequence[Row[Any]]:
        last = select(func.max(LOG.c.number)).group_by(LOG.c.annotator, LOG.c.item)
        if annotator is not None:
            last = last.where(LOG.c.annotator == annotator)
        return self._rows(select(LOG).where(LOG.c.number.in_(last), ~LOG.c.undone).order_by(LOG.c.number))

    def _rows(self, query: Any) -> Sequence[Row[Any]]:
        with reported(self._url), self._engine.connect() as database:
            return database.execute(query).all()

    def _insert(self, table: Table) -> Any:
        return (insert_in_sqlite if self._url.drivername == "sqlite" else insert_in_postgresql)(table)


def checked_name(name: str) -> str:
    """A name as it is stored: any script and any sign, but on one line and not endless."""
    tidy = unicodedata.normalize("NFC", " ".join(name.split()))
    if not tidy or len(tidy) > LONGEST_NAME or any(unicodedata.category(sign).startswith("C") for sign in tidy):
        raise InputError(
            f"{brief(name)} cannot be an annotator's name; expected 1 to {LONGEST_NAME} visible characters."
        )
    return tidy


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _storable(text: str | None) -> str | None:
    """Without what no database takes: half characters, and PostgreSQL no zero bytes."""
    return None if text is None else text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _given(row: Row[Any]) -> Given:
    marked = None if row.highlighted is None else json.loads(row.highlighted)
    return Given(row.item, bool(row.relevant), marked, row.confidence, row.comment, row.milliseconds)
