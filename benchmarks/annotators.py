"""`python -m benchmarks.annotators [--seconds 60] [--annotators 50] [--kills 20] [--database URL]`: answers under load.

First so many annotators answer at the same time for so long, each about twice a second, which is far more than people
do: every answer must be stored once, without an error, and nineteen of twenty must be acknowledged within 200 ms. Then
the server is killed with SIGKILL at random moments while they go on: what was acknowledged must be stored, and nothing
twice. `--database` names an empty PostgreSQL database instead of a SQLite file; it is used for the first part, and for
the second one with `--kills-database`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from attentest.people.answers import LOG, Answers
from attentest.people.order import order_for
from attentest.people.study import PeopleStudy
from benchmarks.annotate_server import Served, made_items, made_study, served

LIMIT = 200  # milliseconds in which 95 % of the answers must be acknowledged
PAUSE = 0.5  # seconds that an annotator waits between two answers, on average
PAUSE_UNDER_KILLS = 0.05  # so that every kill hits answers on their way
RETRY = 0.05  # seconds until an answer is sent again that was not acknowledged


@dataclass
class Tally:
    """What clients saw."""

    acknowledged: dict[tuple[str, str], bool] = field(default_factory=dict)  # (annotator, item) -> relevant
    keys: set[str] = field(default_factory=set)  # acknowledged
    milliseconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    again: int = 0  # times that something was sent again
    repeated: int = 0  # answers that were stored, but not acknowledged before a kill


@dataclass(frozen=True)
class Stored:
    """What the database holds of it."""

    answers: int
    lost: int
    doubled: int
    wrong: int

    @property
    def fine(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


class Client:
    """One annotator: a connection that is kept, and made again after it broke."""

    def __init__(self, server: Served, name: str, tally: Tally) -> None:
        self.server, self.name, self.tally = server, name, tally
        self.chance = random.Random(name)
        self.order = order_for(server.study, name)
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def answer_until(self, stop: asyncio.Event, retries: bool, pause: float) -> None:
        await asyncio.sleep(self.chance.uniform(0, pause))
        for item in self.order:
            if stop.is_set():
                break
            key, relevant = f"{self.chance.getrandbits(128):032x}", self.chance.random() < 0.5
            body = {"key": key, "item": item, "relevant": relevant, "milliseconds": 900}
            if not await self.save(body, retries):
                break
            self.tally.acknowledged[self.name, item] = relevant
            self.tally.keys.add(key)
            await asyncio.sleep(self.chance.expovariate(1 / pause) if pause else 0)
        if self.streams:
            self.streams[1].close()

    async def save(self, body: dict[str, object], retries: bool) -> bool:
        while True:
            began = time.perf_counter()
            try:
                status, told = await self.post(body)
            except (OSError, EOFError, ValueError) as error:
                self.streams, status, told = None, 0, {"error": repr(error)}
            if status == 200 and told.get("saved") == body["key"]:
                self.tally.milliseconds.append(1000 * (time.perf_counter() - began))
                self.tally.repeated += told["repeated"] is True
                return True
            if status or not retries:
                self.tally.errors.append(f"{status}: {told.get('error')}")
                return False
            self.tally.again += 1
            await asyncio.sleep(RETRY)

    async def post(self, body: dict[str, object]) -> tuple[int, dict[str, object]]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.server.port)
        reader, writer = self.streams
        content = json.dumps(body).encode()
        head = (
            f"POST /api/answers HTTP/1.1\r\nhost: 127.0.0.1:{self.server.port}\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {self.server.token(self.name)}\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        writer.write(head.encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))


async def under_load(server: Served, names: list[str], seconds: float, pause: float = PAUSE) -> Tally:
    tally, stop = Tally(), asyncio.Event()
    clients = [Client(server, name, tally) for name in names]
    asyncio.get_running_loop().call_later(seconds, stop.set)
    await asyncio.gather(*(client.answer_until(stop, False, pause) for client in clients))
    return tally


async def under_kills(server: Served, names: list[str], kills: int, pause: float, seed: int = 0) -> Tally:
    """The server dies at random moments, and is started again at once; clients send again what was not acknowledged."""
    tally, stop, chance = Tally(), asyncio.Event(), random.Random(seed)
    clients = [asyncio.create_task(Client(server, n, tally).answer_until(stop, True, pause)) for n in names]
    for _ in range(kills):
        before = len(tally.keys)
        while len(tally.keys) < before + len(names) and not all(client.done() for client in clients):
            await asyncio.sleep(0.005)  # until answers come in again
        await asyncio.sleep(chance.uniform(0, 0.3))
        server.kill()
        await asyncio.to_thread(server.start)
    stop.set()
    await asyncio.gather(*clients)
    return tally


def stored(study: PeopleStudy, tally: Tally, database: str | None) -> Stored:
    """Compare what was acknowledged with what is there, entry by entry."""
    answers = Answers(database or study.answers_url)
    with answers._engine.connect() as connection:
        keys = [row.key for row in connection.execute(LOG.select())]
    table = answers.table().to_pylist()
    answers.close()
    found = {(row["annotator"], row["item"]): row["relevant"] for row in table}
    return Stored(
        answers=len(keys),
        lost=len(tally.keys - set(keys)),
        doubled=len(keys) - len(set(keys)) + len(set(keys) - tally.keys),
        wrong=sum(found.get(place) != relevant for place, relevant in tally.acknowledged.items()),
    )


def told(tally: Tally, held: Stored) -> str:
    return (
        f"{len(tally.keys):,} answers acknowledged, {held.answers:,} stored, {held.lost} lost, {held.doubled} doubled, "
        f"{held.wrong} wrong, {len(tally.errors)} errors {tally.errors[:3] or ''}".rstrip()
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.annotators")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds between two answers of an annotator")
    parser.add_argument("--database", help="empty PostgreSQL database for the load")
    parser.add_argument("--kills-database", help="empty PostgreSQL database for the kills")
    given = parser.parse_args(arguments)
    names = [f"annotator{n}" for n in range(given.annotators)]
    with tempfile.TemporaryDirectory() as folder:
        load = made_study(Path(folder) / "load", made_items(5_000, 10))
        with served(load, ",".join(names), given.database) as server:
            tally = asyncio.run(under_load(server, names, given.seconds, given.pause))
        held = stored(load, tally, given.database)
        times = np.quantile(tally.milliseconds, (0.5, 0.95, 0.99, 1)) if tally.milliseconds else np.full(4, np.nan)
        print(f"{given.annotators} annotators for {given.seconds:g} s: {told(tally, held)}")
        print("median {:.1f} ms, 95 % {:.1f} ms, 99 % {:.1f} ms, longest {:.1f} ms".format(*times), flush=True)
        fine = held.fine and not tally.errors and bool(times[1] < LIMIT)
        killed = made_study(Path(folder) / "killed", made_items(5_000, 10))
        with served(killed, ",".join(names), given.kills_database) as server:
            tally = asyncio.run(under_kills(server, names, given.kills, PAUSE_UNDER_KILLS))
        held = stored(killed, tally, given.kills_database)
        print(f"{given.kills} kills: {told(tally, held)}; {tally.repeated} stored before a kill and acknowledged after")
    return int(not (fine and held.fine and not tally.errors))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
