"""A database by its URL: a SQLite file, or PostgreSQL for a team. What goes wrong is a message, without a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, MetaData, create_engine, event, inspect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from attentest.errors import InputError, brief

BUSY = 10_000  # milliseconds that a writer waits for another
FOLDING = 300  # milliseconds that closing may wait: a signal leaves the program little time
UNREACHABLE = 5  # seconds after which a server counts as unreachable


class DatabaseError(InputError):
    """The database does not answer as it should: it is full, locked, gone or damaged."""


def parsed(url: str) -> URL:
    try:
        found = make_url(url)
    except (ArgumentError, ValueError) as error:  # not repeated: it may hold a password
        raise InputError(
            "The database is not given as a URL; expected sqlite:///FILE or postgresql://USER@HOST/NAME."
        ) from error
    kind = found.drivername.partition("+")[0]
    if kind == "sqlite" and found.database not in (None, "", ":memory:"):
        return found.set(drivername="sqlite")
    if kind in ("postgresql", "postgres"):
        return found.set(drivername="postgresql+psycopg")
    raise InputError(
        f"A database of the kind {brief(kind)} cannot be used; expected sqlite:///FILE or postgresql://USER@HOST/NAME."
    )


def place_of(url: URL) -> str:
    """Where the database is, without anything secret."""
    if url.drivername == "sqlite":
        return str(url.database)
    return f"the PostgreSQL database {url.database or ''} at {url.host or 'the local socket'}".replace("  ", " ")


def connected(url: URL) -> Engine:
    if url.drivername != "sqlite":
        timeout: Any = {"connect_timeout": UNREACHABLE}
        try:
            return create_engine(url, pool_size=10, max_overflow=30, pool_pre_ping=True, connect_args=timeout)
        except ImportError as error:
            raise InputError(
                "psycopg must be installed for PostgreSQL: pip install 'attentest[postgresql]'."
            ) from error
    file = Path(str(url.database))
    if not file.parent.is_dir():
        raise InputError(f"{file} cannot be a database: the folder {file.parent} does not exist.")
    engine = create_engine(url, pool_size=10, max_overflow=30, connect_args={"timeout": BUSY / 1000})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")  # an answer that was acknowledged outlives a power cut
        cursor.close()

    return engine


def expect_database(url: URL) -> None:
    """A name that is mistyped makes no file."""
    if url.drivername == "sqlite" and not Path(str(url.database)).exists():
        raise InputError(f"{url.database} does not exist; expected the database of the answers.")


def expect_tables(engine: Engine, tables: MetaData) -> None:
    _check_tables(engine, tables)
    with reported(engine.url):
        missing = set(tables.tables) - set(inspect(engine).get_table_names())
    if missing:
        raise InputError(f"{place_of(engine.url)} holds no answers of people; name the database that they are in.")


def make_tables(engine: Engine, tables: MetaData) -> None:
    """Made where there are none."""
    _check_tables(engine, tables)
    with reported(engine.url):
        tables.create_all(engine)


def fold_log(engine: Engine) -> None:
    """Move what SQLite keeps in the file -wal into the database itself; it stays there while another program reads."""
    with suppress(SQLAlchemyError), engine.connect() as database:
        database.exec_driver_sql(f"PRAGMA busy_timeout={FOLDING}")
        database.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def _check_tables(engine: Engine, tables: MetaData) -> None:
    """A database of another program, or of another version, is refused."""
    with reported(engine.url):
        there = inspect(engine)
        names = set(there.get_table_names())
        foreign = engine.dialect.name == "sqlite" and names and not names & set(tables.tables)
        for name in names & set(tables.tables):
            columns = {column["name"] for column in there.get_columns(name)}
            foreign = foreign or columns != set(tables.tables[name].columns.keys())
        if foreign:
            raise InputError(
                f"{place_of(engine.url)} holds other tables than answers of people; choose another database."
            )


@contextmanager
def reported(url: URL) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        said = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines() or ["no reason given"]
        secrets = [url.password, *(value for value in url.query.values() if isinstance(value, str))]
        reason = said[0]
        for secret in filter(None, secrets):
            reason = reason.replace(str(secret), "***")
        raise DatabaseError(f"{place_of(url)} cannot be used: {reason.rstrip('.')}.") from None
