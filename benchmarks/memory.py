"""Peak memory of reading, tokenising and batching a corpus of a million rows, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.row import Row

ROWS, TOKENS, LIMIT = 1_000_000, 30, 2.0

_READ = """
import resource, sys
import numpy as np
import attentest
from attentest.text import TextSettings, tokenize_corpus
from attentest.text.batches import training_batches
data = tokenize_corpus(attentest.load(sys.argv[1]), TextSettings())
tokens = sum(int(b.mask.sum()) for b in training_batches(data, data.of_split("train"), 32, np.random.default_rng(0)))
assert tokens == data.sequences.lengths[data.of_split("train")].sum()
print(len(data.rows), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def million_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "million.csv"
        write_corpus(file, ROWS)
        rows, peak = peak_memory(file)
    said = f"GB at the peak of reading, tokenising and batching a csv of {rows:,} rows; the twin is the limit"
    return [Row("memory-gb", said, peak, LIMIT, LIMIT / peak, 1.0)]


def write_corpus(file: Path, rows: int) -> None:
    generator = np.random.default_rng(0)
    with file.open("w", encoding="utf-8") as out:
        out.write("text,label\n")
        for _ in range(0, rows, 10_000):
            words = (generator.pareto(1.0, (10_000, TOKENS)) * 20).astype(int).clip(max=50_000)
            lines = zip(words, generator.integers(0, 3, 10_000), strict=True)
            out.writelines(f"{' '.join(f'w{w}' for w in row)},{label}\n" for row, label in lines)


def peak_memory(file: Path) -> tuple[int, float]:
    """Rows read, and the peak resident memory in GB."""
    out = subprocess.run([sys.executable, "-c", _READ, str(file)], capture_output=True, text=True, check=True).stdout
    rows, peak = out.split()
    return int(rows), float(peak)
