"""Gradients by inputs and influence on hidden states of BiLSTM + additive, against twins like the papers' code.

Both take the same briefly trained model and the same texts, in turns; the twin runs with the number of threads that
suits it best.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.importance.gradients import input_gradients
from attentest.importance.influence import influence
from attentest.models import Classifier, ModelSettings
from attentest.text import TokenizedCorpus
from attentest.text.batches import inference_batches, make_batch, training_batches
from attentest.training.fit import training_step
from attentest.training.optimizer import PaperOptimizer
from benchmarks.row import Row, seconds
from benchmarks.training import BATCH, DIMENSION, HIDDEN, Twin, Work, made_up

Scores = list[np.ndarray]  # one array a text
TRAINED_ON = 320


def input_sst() -> list[Row]:
    return compare_inputs(Work("gradient-input-sst", rows=1725, mean=19, longest=50, epochs=1, target=1.3))


def input_imdb() -> list[Row]:
    return compare_inputs(Work("gradient-input-imdb", rows=400, mean=180, longest=399, epochs=1, target=3.0))


def influence_sst() -> list[Row]:
    return compare_influence(Work("influence-sst", rows=1725, mean=19, longest=50, epochs=1, target=5.0), texts=64)


def influence_imdb() -> list[Row]:
    return compare_influence(Work("influence-imdb", rows=400, mean=180, longest=399, epochs=1, target=8.0), texts=8)


def compare_inputs(work: Work) -> list[Row]:
    data = made_up(work)
    model = briefly_trained(data)
    twin, rows = Twin(model), np.arange(len(data.rows))
    return _compare(
        work,
        f"‖∂f/∂x‖ of {_texts(data, rows)}; twin in batches of {BATCH} in order",
        lambda: our_inputs(model, data, rows),
        lambda: twin_inputs(twin, data, rows),
        lambda: twin_inputs(twin, data, rows[: 2 * BATCH]),
    )


def compare_influence(work: Work, texts: int) -> list[Row]:
    data = made_up(work)
    model = briefly_trained(data)
    twin, rows = Twin(model), np.arange(texts)
    return _compare(
        work,
        f"∂‖h_p‖/∂x_i of all p and i of {_texts(data, rows)} (few: the twin is slow); twin with one backward a state",
        lambda: our_influence(model, data, rows),
        lambda: twin_influence(twin, data, rows),
        lambda: twin_influence(twin, data, rows[:2]),
    )


def briefly_trained(data: TokenizedCorpus) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(ModelSettings(hidden=HIDDEN), 0.1 * torch.randn(len(data.vocabulary), DIMENSION), 2)
    optimizer = PaperOptimizer(model, 1e-3, 1e-3, 1e-5)
    few = data.of_split("train")[:TRAINED_ON]
    for batch in training_batches(data, few, BATCH, np.random.default_rng(0)):
        training_step(model, optimizer, batch, torch.ones(2))
    return model.eval()


def our_inputs(model: Classifier, data: TokenizedCorpus, rows: np.ndarray) -> Scores:
    found: Scores = [np.empty(0)] * len(rows)
    for batch in inference_batches(data, rows):
        _put(found, batch.rows, input_gradients(model, batch).l2, batch.mask)
    return found


def twin_inputs(twin: Twin, data: TokenizedCorpus, rows: np.ndarray) -> Scores:
    """The sigmoid output, summed over the batch, back to the output of the embedding."""
    found: Scores = [np.empty(0)] * len(rows)
    embedded: list[Tensor] = []
    hook = twin.embedding.register_forward_hook(lambda _module, _given, output: embedded.append(output))
    for start in range(0, len(rows), BATCH):
        batch = make_batch(data, rows[start : start + BATCH])
        output = twin.logits(batch.ids, batch.mask).sigmoid().sum()
        (gradient,) = torch.autograd.grad(output, embedded.pop())
        _put(found, batch.rows, gradient.norm(dim=-1), batch.mask)
    hook.remove()
    return found


def our_influence(model: Classifier, data: TokenizedCorpus, rows: np.ndarray) -> Scores:
    found: Scores = [np.empty(0)] * len(rows)
    for batch in inference_batches(data, rows):
        for row, matrix, length in zip(batch.rows, influence(model, batch), batch.mask.sum(1).tolist(), strict=True):
            found[row] = matrix[:length, :length].numpy()
    return found


def twin_influence(twin: Twin, data: TokenizedCorpus, rows: np.ndarray) -> Scores:
    """One text at a time, one hidden state at a time."""
    found: Scores = []
    for row in rows:
        batch = make_batch(data, np.array([row]))
        embedded = twin.embedding(batch.ids)
        packed = pack_padded_sequence(embedded, batch.mask.sum(1), batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(twin.lstm(packed)[0], batch_first=True)
        gradients = [torch.autograd.grad(h.norm(), embedded, retain_graph=True)[0][0] for h in hidden[0]]
        found.append(torch.stack([gradient.norm(dim=-1) for gradient in gradients]).numpy())
    return found


def _put(found: Scores, rows: np.ndarray, scores: Tensor, mask: Tensor) -> None:
    for row, score, length in zip(rows, scores.numpy(), mask.sum(1).tolist(), strict=True):
        found[row] = score[:length]


def _texts(data: TokenizedCorpus, rows: np.ndarray) -> str:
    lengths = data.sequences.lengths[rows]
    return f"{len(rows):,} texts, mean {lengths.mean():.0f} tokens, at most {lengths.max()}"


def _compare(
    work: Work,
    said: str,
    ours: Callable[[], Scores],
    twin: Callable[[], Scores],
    some_of_twin: Callable[[], Scores],
    repeats: int = 3,
) -> list[Row]:
    threads = torch.get_num_threads()
    twin_threads = _best_threads(some_of_twin, threads)
    our_times, twin_times = [], []
    our_scores = ours()  # also warms up
    twin_scores: Scores = []
    for _ in range(repeats):
        our_times.append(seconds(ours))
        torch.set_num_threads(twin_threads)
        twin_times.append(seconds(lambda: twin_scores.extend(twin())))
        torch.set_num_threads(threads)
    apart = max(np.abs(a - b).max() / b.max() for a, b in zip(our_scores, twin_scores, strict=False))
    our_time, twin_time = median(our_times), median(twin_times)
    said += f"; largest difference {apart:.0e} of a text's largest; twin with {twin_threads} thread(s), ours {threads}"
    return [Row(work.name, said, our_time, twin_time, twin_time / our_time, work.target)]


def _best_threads(some_of_twin: Callable[[], Scores], threads: int) -> int:
    times = {}
    for count in {1, threads}:
        torch.set_num_threads(count)
        some_of_twin()
        times[count] = seconds(some_of_twin)
    torch.set_num_threads(threads)
    return min(times, key=times.__getitem__)
