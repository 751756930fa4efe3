"""What the benchmarks of trials share: made-up texts, one model trained on some of them, and two sides to compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np
import torch

from attentest.measures.classification import auc
from attentest.models import Classifier, ModelSettings
from attentest.text import TokenizedCorpus
from attentest.text.batches import training_batches
from attentest.training.fit import training_step
from attentest.training.objectives import Labels
from attentest.training.optimizer import PaperOptimizer
from attentest.training.predict import predict
from attentest.trials.reading import Reading, readings
from benchmarks.row import Clock, Row, fair_clock, seconds
from benchmarks.training import BATCH, DIMENSION, HIDDEN, Twin, Work, made_up

REPEATS = 5


@dataclass(frozen=True)
class Scene:
    """A trained model and the texts it is asked about; `few` of them stand for all where a twin is slow."""

    name: str
    data: TokenizedCorpus
    model: Classifier
    rows: np.ndarray
    few: np.ndarray
    encoding: float  # seconds of the one pass over all rows that trials share

    @property
    def twin(self) -> Twin:
        return Twin(self.model)

    def tokens(self, rows: np.ndarray) -> int:
        return int(self.data.sequences.lengths[rows].sum())

    def scale(self, rows: np.ndarray) -> float:
        """How many times more tokens all rows have."""
        return self.tokens(self.rows) / self.tokens(rows)

    def read(self, rows: np.ndarray) -> list[Reading]:
        return list(readings(self.model, self.data, rows))


def fresh(kept: list[Reading]) -> list[Reading]:
    """The same encoded texts with nothing else worked out yet."""
    return [Reading(r.model, r.batch, r.encoded, r.weights, r.logits) for r in kept]


@cache
def scene(name: str) -> Scene:
    if name == "sst":
        return _make(Work("sst", rows=1725 + 4000, mean=19, longest=50, epochs=3, target=0, tilt=4.0), 1725, None)
    return _make(Work("imdb", rows=4345 + 1600, mean=180, longest=399, epochs=3, target=0), 4345, (0.35, 0.75))


def _make(work: Work, texts: int, shares: tuple[float, ...] | None) -> Scene:
    data = made_up(work)
    rows = np.arange(texts)
    model = _trained(data, np.arange(texts, work.rows), work.epochs)
    few = rows if shares is None else _typical(rows, data.sequences.lengths, shares)
    list(readings(model, data, few))  # warms up
    encoding = median(seconds(lambda: list(readings(model, data, rows))) for _ in range(3))
    return Scene(work.name, data, model, rows, few, encoding)


def _trained(data: TokenizedCorpus, rows: np.ndarray, epochs: int) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(ModelSettings(hidden=HIDDEN), 0.1 * torch.randn(len(data.vocabulary), DIMENSION), 2)
    optimizer = PaperOptimizer(model, 1e-3, 1e-3, 1e-5)
    for epoch in range(epochs):
        for batch in training_batches(data, rows, BATCH, np.random.default_rng(epoch)):
            training_step(model, optimizer, batch, Labels(torch.ones(2)))
    return model.eval()


def _typical(rows: np.ndarray, lengths: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    """Batches of texts that are neighbours in length, as the papers' code has them, at these shares of the order."""
    order = rows[np.argsort(lengths[rows], kind="stable")]
    starts = [int(share * len(order)) for share in shares]
    return np.concatenate([order[start : start + BATCH] for start in starts])


def encoding(name: str) -> list[Row]:
    """The pass over all texts that every trial stands on, on a line of its own."""
    at = scene(name)
    lengths = at.data.sequences.lengths[at.rows]
    score = auc(at.data.labels[at.rows], predict(at.model, at.data, at.rows).probabilities)
    said = (
        f"seconds to encode {len(at.rows):,} texts once, mean {lengths.mean():.0f} tokens, at most {lengths.max()}; "
        f"BiLSTM + additive, d {DIMENSION}, hidden {HIDDEN}, test AUC {score:.3f}"
    )
    return [Row(f"encoding-{name}", said, at.encoding, None, None, None)]


@dataclass(frozen=True)
class Timed:
    """One side's work, done."""

    seconds: float
    threads: int


def in_turns(
    ours: Callable[[], object], twin: Callable[[], object], some_of_twin: Callable[[], object] | None = None
) -> tuple[Timed, Timed]:
    """Medians of `REPEATS` turns, each side with the number of threads that suits it best."""
    works = ours, twin
    threads = best_threads(ours), best_threads(some_of_twin or twin)
    clock = fair_clock(*threads)
    turns = [
        [with_threads(count, work, clock) for count, work in zip(threads, works, strict=True)] for _ in range(REPEATS)
    ]
    mine, theirs = (median(taken) for taken in zip(*turns, strict=True))
    return Timed(mine, threads[0]), Timed(theirs, threads[1])


def timed(work: Callable[[], object], times: int, some_of_it: Callable[[], object] | None = None) -> Timed:
    """The median, with the best number of threads, for a twin so slow that turns would tell no more."""
    threads = best_threads(some_of_it or work)
    return Timed(median(with_threads(threads, work) for _ in range(times)), threads)


def row(
    name: str,
    at: Scene,
    said: str,
    ours: Timed,
    twin: Timed,
    target: float,
    *,
    few_of_ours: bool,
    few_of_twin: bool = True,
) -> Row:
    """A line of the table; a side that had only the scene's `few` is scaled to all texts."""
    scale = at.scale(at.few)
    our_time = ours.seconds * (scale if few_of_ours else 1.0)
    twin_time = twin.seconds * (scale if few_of_twin else 1.0)
    if scale > 1 and few_of_twin:
        said += f"; {'both' if few_of_ours else 'twin'} on {len(at.few)} texts, scaled by {scale:.0f} (tokens)"
    said += (
        f"; threads {ours.threads}, twin {twin.threads}; with the encoding {our_time + at.encoding:.2f} s, "
        f"twin {twin_time + at.encoding:.2f} s"
    )
    return Row(f"{name}-{at.name}", said, our_time, twin_time, twin_time / our_time, target)


def best_threads(work: Callable[[], object]) -> int:
    counts = sorted({1, torch.get_num_threads()})
    times = {count: min(with_threads(count, work) for _ in range(2)) for count in counts}
    return min(times, key=times.__getitem__)


def with_threads(count: int, work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    taken = seconds(work, clock)
    torch.set_num_threads(usual)
    return taken
