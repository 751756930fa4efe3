"""`attentest annotate serve` as a process that can be killed and started again, and a made-up study to serve."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.people.study import Asked, Exclusion, Item, PeopleStudy, StudyRecord, write_study

TEXTS = (
    "A film that is good from its first minute to its last, and never dull.",
    "Bad jokes, a bad script and worse acting: there is nothing to like here.",
    "Nobody in it can act 😀, but the music is beautiful and the end is moving.",
)


def made_item(number: int, condition: Any, text: str, second: str | None = None, **more: Any) -> Item:
    """The marked words are the first, the third and the last."""
    every = [match.span() for one in (text, second or "") for match in re.finditer(r"\S+", one)]
    made = Item(
        id=f"{random.Random(f'{condition} {number}').getrandbits(64):016x}",
        condition=condition,
        expected=number % 2 == 0 if condition == "known" else None,
        source=f"source-{condition}-{number}",
        text=text,
        second=second,
        start=[start for start, _ in every],
        end=[end for _, end in every],
        in_second=len((second or "").split()),
        weights=[0.7321 + n / 1000 for n in range(len(every))],
        marked=sorted({0, min(2, len(every) - 1), len(every) - 1}),
        predicted="positive",
        label="truly-negative" if number % 3 == 0 else "positive",
    )
    return replace(made, **more)


def made_items(samples: int, known: int) -> list[Item]:
    """Each with a text of its own."""
    kinds = ["original"] * samples + ["permuted"] * samples + ["known"] * known
    return [made_item(n, kind, f"{TEXTS[n % len(TEXTS)]} ({n})") for n, kind in enumerate(kinds)]


def made_study(folder: Path, items: Sequence[Item], asked: Asked | None = None) -> PeopleStudy:
    samples, known = (sum(one.condition == name for one in items) for name in ("original", "known"))
    record = StudyRecord(
        *(1, 7, samples, known, asked or Asked(), Exclusion(least_milliseconds=0), ["truly-negative", "positive"]),
        *({"corpus": "made", "model": "m", "run": "run-of-m"}, None, "", "secret-of-m"),
    )
    return write_study(folder, record, items)


class Served:
    """Its port is held from the first start on, so that links and what browsers store go on working."""

    def __init__(self, study: PeopleStudy, names: str, database: str | None = None) -> None:
        self.study, self.port, self.database = study, _free_port(), database
        self.links: dict[str, str] = {}
        self.process: subprocess.Popen[str] | None = None
        self.start("--annotators", names)

    def token(self, name: str) -> str:
        return self.links[name].partition("#")[2]

    def start(self, *options: str) -> None:
        """Returns when it listens."""
        command = [sys.executable, "-m", "attentest", "annotate", "serve", str(self.study.folder), "--json"]
        command += ["--port", str(self.port), *options]
        command += ["--database", self.database] if self.database else []
        quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=quiet)
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        if not told:
            raise SystemExit("The server did not start.")
        self.links |= {name: link for name, link in json.loads(told)["links"].items() if link}

    def kill(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
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


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
