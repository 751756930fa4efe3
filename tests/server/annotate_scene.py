"""What tests of the annotators' server share: hostile text, and databases without tables."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postgresql import postgresql
from sqlalchemy import create_engine, text

HOSTILE = (
    '<script>window.bitten = 1</script><img src=x onerror="window.bitten = 1"> {{ 7*7 }} "\'> </textarea></script>'
    "<svg onload=window.bitten=1> javascript:window.bitten=1 \u202eevil\u202c \u0000 \u2028 %3Cscript%3E ${1}"
)
ARABIC = "كان الفيلم جيدا جدا والممثلون رائعون"
NUMBERS = itertools.count()


def new_database(server: str) -> str:
    """Without tables, on that PostgreSQL server."""
    name = f"people{os.getpid()}x{next(NUMBERS)}"
    with create_engine(
        server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    ).connect() as it:
        it.execute(text(f"CREATE DATABASE {name}"))
    return server.replace("/postgres", f"/{name}")


@contextmanager
def database_of(kind: str, folder: Path) -> Iterator[str]:
    """The URL of one without tables: a file, or on a PostgreSQL server that ends with it."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'answers.sqlite'}"
        return
    with postgresql() as url:
        yield new_database(url)
