"""Leave-one-out of a trained BiLSTM + additive against a twin that runs it again for each position, as JW's code.

The same weights, texts and removals; ours includes encoding the intact texts. Both are taken in turns, each with the
number of threads that suits it best. The twin records a graph for gradients, as JW's code does; what it takes without
one is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import torch
from torch import Tensor

from attentest.importance.erasure import removed_probabilities
from attentest.models import Classifier, ModelSettings
from attentest.text import TokenizedCorpus
from attentest.text.batches import Batch, inference_batches, make_batch, training_batches
from attentest.training.fit import training_step
from attentest.training.optimizer import PaperOptimizer
from benchmarks.row import Row, seconds
from benchmarks.training import BATCH, DIMENSION, HIDDEN, Twin, Work, made_up


def sst_like() -> list[Row]:
    return compare(
        Work("leave-one-out-sst", rows=1725 + 1000, mean=19, longest=50, epochs=1, target=5.0), 1725, times=3
    )


def imdb_like() -> list[Row]:
    return compare(Work("leave-one-out-imdb", rows=64 + 500, mean=180, longest=399, epochs=1, target=15.0), 64, times=2)


def compare(work: Work, texts: int, times: int) -> list[Row]:
    data = made_up(work)
    rows = np.arange(texts)
    model = trained(data, np.arange(texts, work.rows), work.epochs)
    twin = Twin(model)
    our_threads = _best_threads(lambda: list(ours(model, data, rows[: max(8, len(rows) // 8)])))
    twin_threads = _best_threads(lambda: list(theirs(twin, data, rows[:BATCH], most=3)))
    our_times, twin_times = [], []
    for _ in range(times):
        our_times += [_with_threads(our_threads, lambda: list(ours(model, data, rows))) for _ in range(3)]
        twin_times.append(_with_threads(twin_threads, lambda: list(theirs(twin, data, rows))))
    our_time, twin_time = median(our_times), median(twin_times)
    wanted: list[tuple[Batch, Tensor]] = []
    with torch.no_grad():
        without_graph = _with_threads(twin_threads, lambda: wanted.extend(theirs(twin, data, rows)))
    lengths = data.sequences.lengths[rows]
    said = (
        f"every token of {texts:,} texts removed, mean {lengths.mean():.0f} tokens, at most {lengths.max()}, "
        f"d {DIMENSION}, hidden {HIDDEN}; probabilities differ by at most "
        f"{deviation(list(ours(model, data, rows)), wanted, rows, int(lengths.max())):.0e}; twin with {twin_threads} "
        f"thread(s), batches of {BATCH}, ours {our_threads}; twin without a graph for gradients {without_graph:.1f} s, "
        f"ratio {without_graph / our_time:.1f}"
    )
    return [Row(work.name, said, our_time, twin_time, twin_time / our_time, work.target)]


def trained(data: TokenizedCorpus, rows: np.ndarray, epochs: int) -> Classifier:
    torch.manual_seed(0)
    vectors = 0.1 * torch.randn(len(data.vocabulary), DIMENSION)
    model = Classifier(ModelSettings(hidden=HIDDEN), vectors, 2)
    optimizer = PaperOptimizer(model, 1e-3, 1e-3, 1e-5)
    for epoch in range(epochs):
        for batch in training_batches(data, rows, BATCH, np.random.default_rng(epoch)):
            training_step(model, optimizer, batch, torch.ones(2))
    return model.eval()


def ours(model: Classifier, data: TokenizedCorpus, rows: np.ndarray) -> Iterator[tuple[Batch, Tensor]]:
    """Batches, and the probability of the second class without each token."""
    for batch in inference_batches(data, rows):
        yield batch, removed_probabilities(model, batch)[..., 1]


def theirs(
    twin: Twin, data: TokenizedCorpus, rows: np.ndarray, most: int | None = None
) -> Iterator[tuple[Batch, Tensor]]:
    """The same, with the whole model on the padded batch for each position."""
    order = rows[np.argsort(data.sequences.lengths[rows], kind="stable")]
    for start in range(0, len(order), BATCH):
        batch = make_batch(data, order[start : start + BATCH])
        found = torch.zeros(batch.mask.shape)
        for position in range(batch.mask.shape[1])[:most]:
            ids, mask = (torch.cat((x[:, :position], x[:, position + 1 :]), 1) for x in (batch.ids, batch.mask))
            found[:, position] = twin.logits(ids, mask).sigmoid().detach()
        yield batch, found * batch.mask


def deviation(
    found: list[tuple[Batch, Tensor]], wanted: list[tuple[Batch, Tensor]], rows: np.ndarray, longest: int
) -> float:
    """The largest difference of a probability."""
    tables = np.zeros((2, len(rows), longest))
    for table, batches in zip(tables, (found, wanted), strict=True):
        for batch, removed in batches:
            table[batch.rows, : removed.shape[1]] = removed.numpy()
    return float(np.abs(tables[0] - tables[1]).max())


def _best_threads(work: Callable[[], object]) -> int:
    counts = {1, torch.get_num_threads()}
    times = {count: median(_with_threads(count, work) for _ in range(3)) for count in counts}
    return min(times, key=times.__getitem__)


def _with_threads(count: int, work: Callable[[], object]) -> float:
    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    taken = seconds(work)
    torch.set_num_threads(usual)
    return taken
