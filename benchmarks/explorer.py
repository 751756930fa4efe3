"""`python -m benchmarks.explorer [--texts N] [--run FOLDER]`: how fast the explorer's server answers, and how much it
sends.

A BiLSTM (hidden size 128) is trained on generated texts, of which 10,000 are the test split, and served by `attentest
serve` in a process of its own. One client asks over HTTP, at first while distances of all texts are still computed in
the background. Every own text is a new one, so nothing is remembered.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 5_000
GOALS = {"list": 0.2, "own": 0.15, "long": 1.0}  # seconds
MOST_BYTES = 5_000_000  # of all that a page with a long text gets
TOKENS, LONG = 200, 4_096


@dataclass(frozen=True)
class Line:
    what: str
    seconds: list[float]
    goal: float

    @property
    def met(self) -> bool:
        return bool(np.percentile(self.seconds, 95) <= self.goal)

    def __str__(self) -> str:
        median, late = (1000 * np.percentile(self.seconds, share) for share in (50, 95))
        said = "met" if self.met else "MISSED"
        return f"{self.what:52} median {median:7.1f} ms   p95 {late:7.1f} ms   goal {1000 * self.goal:5.0f} ms: {said}"


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description="Latency of the explorer.")
    options.add_argument("--texts", type=int, default=10_000, help="texts of the test split")
    options.add_argument("--repeats", type=int, default=30)
    options.add_argument("--run", type=Path, help="folder of the trained run, made if it is not there")
    given = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        run = given.run or Path(folder) / "run"
        if not run.exists():
            _train(run, given.texts)
        with _served(run) as address:
            return _measure(address, given.repeats)


def _train(out: Path, texts: int) -> None:
    import attentest

    draw = np.random.default_rng(0)
    splits = ["train"] * 400 + ["dev"] * 100 + ["test"] * texts
    words = [_text(draw, int(draw.integers(10, 110))) for _ in splits]
    labels = draw.integers(0, 2, len(splits))
    marked = [f"{text} {'good' if label else 'bad'}" for text, label in zip(words, labels, strict=True)]
    rows = {"text": marked, "label": [f"class {label}" for label in labels], "split": splits}
    corpus = attentest.load(rows, name="generated", split="split")
    begin = time.perf_counter()
    attentest.train(corpus, out, epochs=1, hidden=128, dimension=100, max_tokens=LONG)
    print(f"trained on 400 texts and read {texts:,} in {time.perf_counter() - begin:.0f} s")


def _text(draw: np.random.Generator, length: int) -> str:
    return " ".join(f"w{number}" for number in draw.zipf(1.3, length) % WORDS)


@contextmanager
def _served(run: Path) -> Iterator[str]:
    program = [sys.executable, "-m", "attentest.cli", "serve", str(run), "--port", "0"]
    begin = time.perf_counter()
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise SystemExit(line + process.stdout.read())
        print(f"the server was there after {time.perf_counter() - begin:.1f} s")
        try:
            yield found[0]
        finally:
            process.kill()


def _measure(address: str, repeats: int) -> int:
    import httpx

    draw = np.random.default_rng(1)
    with httpx.Client(base_url=address, timeout=120) as client:

        def timed(work: Callable[[], httpx.Response], times: int = repeats) -> list[float]:
            found = []
            for _ in range(times):
                begin = time.perf_counter()
                answer = work()
                found.append(time.perf_counter() - begin)
                answer.raise_for_status()
                time.sleep(0.05)  # as a reader does, so that the work in the background goes on
            return found

        def listed(**query: Any) -> list[float]:
            return timed(lambda: client.get("/api/runs/0/texts", params=query))

        def own(length: int) -> httpx.Response:
            return client.post("/api/runs/0/read", json={"text": _text(draw, length)})

        own(TOKENS)  # what is loaded at the first request is not measured
        lines = [
            Line("list of texts", listed(), GOALS["list"]),
            Line("search for a frequent word", listed(q="w1"), GOALS["list"]),
            Line("search for two words", listed(q="good w17"), GOALS["list"]),
            Line("search for an id", listed(q="4711"), GOALS["list"]),
            *(
                Line(f"sort by {name}", listed(sort=name, descending=True, q="w2"), GOALS["list"])
                for name in ("confidence", "label", "length", "adversary", "disagreement")
            ),
            Line(f"own text of {TOKENS} tokens", timed(lambda: own(TOKENS)), GOALS["own"]),
            Line(f"own text of {LONG:,} tokens", timed(lambda: own(LONG), 5), GOALS["long"]),
        ]
        for line in lines:
            print(line)
        sent = _sent(client, _text(draw, LONG))
        done = client.get("/api/runs/0/texts", params={"sort": "disagreement"}).json()["ordering"]
    print(f"sent for a page with a text of {LONG:,} tokens: {sum(sent.values()):,} bytes, of at most {MOST_BYTES:,}")
    print("  " + ", ".join(f"{name} {size:,}" for name, size in sent.items()))
    print(f"distances known by now: {done['done']:,} of {done['of']:,} texts")
    return 0 if all(line.met for line in lines) and sum(sent.values()) <= MOST_BYTES else 1


def _sent(client: Any, text: str) -> dict[str, int]:
    """Bytes of all answers that a page with this text, its steps and two measures next to it is made of."""
    page = client.get("/")
    names = dict.fromkeys(re.findall(r"/static/[\w.-]+", page.text))
    imported = list(names)
    for name in imported:  # modules that others import
        more = re.findall(r'from "\./([\w.-]+)"', client.get(name).text)
        imported += [f"/static/{one}" for one in more if f"/static/{one}" not in imported]
    about = {"text": text}
    return {
        "page": len(page.content),
        "code": sum(len(client.get(name).content) for name in imported),
        "runs": len(client.get("/api/runs").content),
        "list": len(client.get("/api/runs/0/texts").content),
        "text": len(client.post("/api/runs/0/read", json=about).content),
        "steps": len(client.post("/api/runs/0/steps", json=about).content),
        "measures": sum(
            len(client.post("/api/runs/0/measure", json={**about, "measure": name}).content)
            for name in ("gradient", "attention-gradient")
        ),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
