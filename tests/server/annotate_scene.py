"""Studies with people for tests of the annotators' server, and the server as a process of its own."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from postgresql import free_port
from sqlalchemy import create_engine, text

from attentest.people.study import Asked, Exclusion, Item, PeopleStudy, StudyRecord, write_study

HOSTILE = (
    '<script>window.bitten = 1</script><img src=x onerror="window.bitten = 1"> {{ 7*7 }} "\'> </textarea></script>'
    "<svg onload=window.bitten=1> javascript:window.bitten=1 \u202eevil\u202c \u0000 \u2028 %3Cscript%3E ${1}"
)
ARABIC = "كان الفيلم جيدا جدا والممثلون رائعون"
TEXTS = (
    "A film that is good from its first minute to its last, and never dull.",
    "Bad jokes, a bad script and worse acting: there is nothing to like here.",
    "Nobody in it can act 😀, but the music is beautiful and the end is moving.",
)
NUMBERS = itertools.count()


def item(number: int, condition: Any, words_of: str, second: str | None = None, **more: Any) -> Item:
    """The marked words are the first, the third and the last."""
    places = [match.span() for match in re.finditer(r"\S+", words_of)]
    others = [match.span() for match in re.finditer(r"\S+", second or "")]
    every = [*places, *others]
    return replace(
        Item(
            id=f"{random.Random(f'{condition} {number}').getrandbits(64):016x}",
            condition=condition,
            expected=number % 2 == 0 if condition == "known" else None,
            source=f"source-{condition}-{number}",
            text=words_of,
            second=second,
            start=[start for start, _ in every],
            end=[end for _, end in every],
            in_second=len(others),
            weights=[0.7321 + n / 1000 for n in range(len(every))],
            marked=sorted({0, min(2, len(every) - 1), len(every) - 1}),
            predicted="positive",
            label="truly-negative" if number % 3 == 0 else "positive",
        ),
        **more,
    )


def items_of(samples: int, known: int) -> list[Item]:
    return [
        item(n, condition, f"{TEXTS[n % len(TEXTS)]} ({n})")
        for condition, count in (("original", samples), ("permuted", samples), ("known", known))
        for n in range(count)
    ]


def make_study(folder: Path, items: Sequence[Item], asked: Asked | None = None) -> PeopleStudy:
    samples, known = (sum(one.condition == name for one in items) for name in ("original", "known"))
    record = StudyRecord(
        *(1, 7, samples, known, asked or Asked(), Exclusion(least_milliseconds=0), ["truly-negative", "positive"]),
        *({"corpus": "made", "model": "m", "run": "run-of-m"}, None, ""),
    )
    return write_study(folder, record, items)


def new_database(server: str) -> str:
    """Without tables, on that PostgreSQL server."""
    name = f"people{os.getpid()}x{next(NUMBERS)}"
    with create_engine(
        server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    ).connect() as it:
        it.execute(text(f"CREATE DATABASE {name}"))
    return server.replace("/postgres", f"/{name}")


class Served:
    """`attentest annotate serve` as a process that can be killed and started again at the same address."""

    def __init__(self, study: PeopleStudy, names: str, database: str | None = None) -> None:
        self.study, self.port, self.database = study, free_port(), database
        self.links: dict[str, str] = {}
        self.process: subprocess.Popen[str] | None = None
        self.start(names)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, name: str) -> str:
        return self.links[name].partition("#")[2]

    def start(self, names: str = "") -> None:
        """Returns when it listens; links from before go on working."""
        command = [sys.executable, "-m", "attentest", "annotate", "serve", str(self.study.folder), "--json"]
        command += ["--annotators", names, "--port", str(self.port)]
        command += ["--database", self.database] if self.database else []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told, "the server did not start"
        self.links |= {name: link for name, link in json.loads(told)["links"].items() if link}

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None


@contextmanager
def served(study: PeopleStudy, names: str = "ann,bo", database: str | None = None) -> Iterator[Served]:
    server = Served(study, names, database)
    try:
        yield server
    finally:
        if server.process is not None:
            server.kill()
