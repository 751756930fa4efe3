"""`attentest trial all` on an IMDb-like run, in a process of its own: minutes, and memory at its peak."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import attentest
from attentest.corpora import build_corpus
from benchmarks.row import Row, seconds
from benchmarks.training import Work, made_up_texts

TEXTS, MINUTES, GIGABYTES = 4345, 20.0, 4.0
TRAINED_ON = 1600


def imdb_like() -> list[Row]:
    work = Work("imdb", rows=TEXTS + TRAINED_ON + 200, mean=180, longest=399, epochs=3, target=0)
    texts, labels = made_up_texts(work)
    split = ["test"] * TEXTS + ["train"] * TRAINED_ON + ["dev"] * 200
    corpus = build_corpus("imdb-like", {"text": texts, "label": labels, "split": split})
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        attentest.train(corpus, run, epochs=work.epochs, tokenizer="whitespace")
        quarter = peak_memory(run, "--texts", str(TEXTS // 4))
        peak = 0.0

        def whole() -> None:
            nonlocal peak
            peak = peak_memory(run)

        minutes = seconds(whole) / 60
    said = f"all trials on {TEXTS:,} texts, mean 180 tokens; the twin is the limit"
    return [
        Row("all-trials-minutes", f"minutes of {said}", minutes, MINUTES, MINUTES / minutes, 1.0),
        Row(
            "all-trials-gb",
            f"GB at the peak of {said}; a quarter of the texts: {quarter:.2f}",
            peak,
            GIGABYTES,
            GIGABYTES / peak,
            1.0,
        ),
    ]


def peak_memory(run: Path, *options: str) -> float:
    """Of `attentest trial all`, in GB."""
    command = [sys.executable, "-m", "attentest.cli", "trial", "all", str(run), "--json", *options]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_maxrss / 2**20
