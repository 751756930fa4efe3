"""Training throughput of BiLSTM + additive against a twin that trains as the papers' code does.

Both start from the same weights and see the same batches of the same made-up corpus for the same number of
epochs, taken in turns, each with the number of threads that suits it best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from statistics import median

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.corpora import build_corpus
from attentest.measures.classification import auc
from attentest.models import Classifier, ModelSettings
from attentest.text import TextSettings, TokenizedCorpus, tokenize_corpus
from attentest.text.batches import inference_batches, training_batches
from attentest.training.fit import training_step
from attentest.training.objectives import Labels
from attentest.training.optimizer import PaperOptimizer
from attentest.training.predict import predict
from benchmarks.row import Row, fair_clock, seconds

DIMENSION, HIDDEN, BATCH = 300, 128, 32


@dataclass(frozen=True)
class Work:
    name: str
    rows: int
    mean: int
    longest: int
    epochs: int
    target: float
    tilt: float = 1.6  # how much likelier a leaning word is in its class


def sst_like() -> list[Row]:
    return compare(Work("training-sst", rows=8000, mean=19, longest=50, epochs=5, target=2.0, tilt=4.0))


def imdb_like() -> list[Row]:
    return compare(Work("training-imdb", rows=1600, mean=180, longest=399, epochs=5, target=3.0))


def compare(work: Work) -> list[Row]:
    data = made_up(work)
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    vectors = 0.1 * torch.randn(len(data.vocabulary), DIMENSION)
    ours = Classifier(ModelSettings(hidden=HIDDEN), vectors, 2)
    optimizer = PaperOptimizer(ours, 1e-3, 1e-3, 1e-5)
    twin = Twin(ours)
    spare = Classifier(ModelSettings(hidden=HIDDEN), vectors, 2)
    spare_optimizer, spare_twin = PaperOptimizer(spare, 1e-3, 1e-3, 1e-5), Twin(spare)
    our_threads = _best_threads(lambda most: _our_epoch(spare, spare_optimizer, data, 0, most), threads)
    twin_threads = _best_threads(lambda most: spare_twin.epoch(data, 0, most), threads)
    our_times, twin_times, clock = [], [], fair_clock(our_threads, twin_threads)
    for epoch in range(work.epochs):
        torch.set_num_threads(our_threads)
        our_times.append(seconds(lambda: _our_epoch(ours, optimizer, data, epoch), clock))  # noqa: B023
        torch.set_num_threads(twin_threads)
        twin_times.append(seconds(lambda: twin.epoch(data, epoch), clock))  # noqa: B023
    torch.set_num_threads(threads)
    dev = data.of_split("dev")
    our_score = auc(data.labels[dev], predict(ours, data, dev).probabilities)
    twin_score = auc(data.labels[dev], twin.probabilities(data, dev))
    our_time, twin_time = median(our_times), median(twin_times)
    tokens = int(data.sequences.lengths[data.of_split("train")].sum())
    done = tokens * flops_a_token() / our_time / 1e9
    rate = matrix_product_rate()
    said = (
        f"an epoch of {len(data.of_split('train')):,} texts, mean {data.sequences.lengths.mean():.0f} tokens, "
        f"vocabulary {len(data.vocabulary):,}, d {DIMENSION}, batch {BATCH}; dev AUC after {work.epochs} epochs "
        f"{our_score:.3f}, twin {twin_score:.3f}; threads {our_threads}, twin {twin_threads}"
    )
    return [
        Row(work.name, said, our_time, twin_time, twin_time / our_time, work.target),
        Row(
            f"{work.name}-gflops",
            f"GFLOP/s of the training steps as a share of a 1,024 × 1,024 product's ({100 * done / rate:.0f} %)",
            done,
            rate,
            done / rate,
            None,
        ),
    ]


def made_up(work: Work) -> TokenizedCorpus:
    texts, labels = made_up_texts(work)
    corpus = build_corpus(work.name, {"text": texts, "label": labels})
    return tokenize_corpus(corpus, TextSettings(tokenizer="whitespace"))


def made_up_texts(work: Work) -> tuple[list[str], np.ndarray]:
    """Zipf-distributed words of which some lean to a class, lengths log-normal around the mean."""
    generator = np.random.default_rng(0)
    vocabulary = 14_000
    rank = np.arange(1, vocabulary + 1)
    lean = generator.choice([-1, 0, 1], vocabulary, p=[0.1, 0.8, 0.1])
    weight = 1 / (rank + 5.0)
    lengths = np.clip(generator.lognormal(np.log(work.mean) - 0.18, 0.6, work.rows), 6, work.longest).astype(int)
    labels = generator.integers(0, 2, work.rows)
    choices = []
    for label in (0, 1):
        tilted = weight * np.where(lean == 2 * label - 1, work.tilt, 1.0)
        choices.append(np.cumsum(tilted / tilted.sum()))
    texts = []
    for label, length in zip(labels, lengths, strict=True):
        words = np.searchsorted(choices[label], generator.random(length)).clip(max=vocabulary - 1)
        texts.append(" ".join(f"w{word}" for word in words))
    return texts, labels


def _our_epoch(
    model: Classifier, optimizer: PaperOptimizer, data: TokenizedCorpus, epoch: int, most: int | None = None
) -> None:
    model.train()
    batches = training_batches(data, data.of_split("train"), BATCH, np.random.default_rng(epoch))
    for batch in islice(batches, most):
        training_step(model, optimizer, batch, Labels(torch.ones(2)))
    model.eval()


class Twin:
    """Packed sequences through one bidirectional LSTM, dense amsgrad on every parameter, three optimisers."""

    def __init__(self, like: Classifier) -> None:
        self.embedding = nn.Embedding.from_pretrained(like.embedding.weight.detach().clone(), freeze=False)
        self.lstm = nn.LSTM(DIMENSION, HIDDEN, batch_first=True, bidirectional=True)
        self.inner, self.outer = nn.Linear(2 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1, bias=False)
        self.decoder = nn.Linear(2 * HIDDEN, 1)
        with torch.no_grad():
            for name, parameter in self.lstm.named_parameters():
                source = like.encoder.backwards if name.endswith("_reverse") else like.encoder.forwards
                parameter.copy_(getattr(source, name.removesuffix("_reverse")))
        self.inner.load_state_dict(like.alignment.inner.state_dict())  # type: ignore[union-attr]
        self.outer.load_state_dict(like.alignment.outer.state_dict())  # type: ignore[union-attr]
        self.decoder.load_state_dict(like.decoder.state_dict())
        groups = ([self.embedding, self.lstm], [self.inner, self.outer], [self.decoder])
        self.optimizers = [
            torch.optim.Adam(
                [p for module in group for p in module.parameters()], lr=1e-3, weight_decay=decay, amsgrad=True
            )
            for group, decay in zip(groups, (1e-5, 0.0, 1e-5), strict=True)
        ]

    def logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        lengths = mask.sum(1)
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = self.outer(torch.tanh(self.inner(hidden))).squeeze(-1).masked_fill(~mask, -torch.inf)
        logits: Tensor = self.decoder((scores.softmax(-1).unsqueeze(1) @ hidden).squeeze(1)).squeeze(-1)
        return logits

    def step(self, ids: Tensor, mask: Tensor, labels: Tensor) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(self.logits(ids, mask), labels.float(), reduction="sum")
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()

    def epoch(self, data: TokenizedCorpus, epoch: int, most: int | None = None) -> None:
        batches = training_batches(data, data.of_split("train"), BATCH, np.random.default_rng(epoch))
        for batch in islice(batches, most):
            assert batch.labels is not None
            self.step(batch.ids, batch.mask, batch.labels)

    @torch.no_grad()
    def probabilities(self, data: TokenizedCorpus, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(data.rows), 2))
        for batch in inference_batches(data, rows):
            found[batch.rows, 1] = self.logits(batch.ids, batch.mask).sigmoid().numpy()
        kept: np.ndarray = found[rows]
        return kept


def _best_threads(epoch: Callable[[int], None], threads: int) -> int:
    """The faster of one thread and all of them, over a few batches."""
    times = {}
    for count in sorted({1, threads}):
        torch.set_num_threads(count)
        epoch(2)
        times[count] = median(seconds(lambda: epoch(4)) for _ in range(3))
    return min(times, key=times.__getitem__)


def flops_a_token() -> float:
    """Multiplications and additions of the matrix products of a training step: forward, and twice that back."""
    lstm = 2 * (DIMENSION + HIDDEN) * 4 * HIDDEN
    attention = 2 * HIDDEN * HIDDEN + HIDDEN
    return 3 * 2 * (lstm + attention)


def matrix_product_rate() -> float:
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    times = [seconds(lambda: a @ b) for _ in range(30)]
    return 2 * 1024**3 / median(times) / 1e9
