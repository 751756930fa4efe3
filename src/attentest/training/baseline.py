"""A classifier without attention to compare with: logistic regression on the weighted counts of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attentest.corpora.corpus import Corpus
from attentest.measures.classification import classification_metrics
from attentest.memory import check_memory
from attentest.text.prepare import TokenizedCorpus, tokenize_corpus
from attentest.text.sequences import Sequences
from attentest.text.settings import TextSettings
from attentest.text.vocabulary import SPECIAL

C = 1.0  # of the loss, against half the squared weights: scikit-learn's usual penalty
HISTORY = 10  # steps that the optimiser remembers
MOST_STEPS = 1000
NUMBER = 8  # bytes


def baseline(corpus: Corpus, settings: TextSettings) -> dict[str, float]:
    """Accuracy, F1 and AUC on the test split."""
    data = tokenize_corpus(corpus, settings)
    test = data.of_split("test")
    return classification_metrics(data.labels[test], probabilities(data, test))


def probabilities(data: TokenizedCorpus, rows: np.ndarray) -> np.ndarray:
    """Of each class, for these rows, after training on the training split.

    Each text is a row of tf · idf with idf = ln((1 + n) / (1 + df)) + 1 over the n training texts, scaled to length 1.
    The words of the second text of a pair are features of their own.
    """
    train = data.of_split("train")
    texts = [_counts(one, len(data.vocabulary)) for one in (data.sequences, data.second) if one is not None]
    idf = [_idf(one, train) for one in texts]
    classes = len(data.corpus.classes)
    outputs = 1 if classes == 2 else classes
    size = outputs * sum(map(len, idf))
    check_memory(NUMBER * size * 2 * (HISTORY + 5), f"A baseline for {classes:,} classes")
    weights, bias = _fit(_weighted(texts, idf, train), torch.from_numpy(data.labels[train]).long(), size, outputs)
    with torch.no_grad():
        logits = _logits(_weighted(texts, idf, rows), weights, bias)
        if outputs == 1:
            logits = functional.pad(logits, (1, 0))
        found: np.ndarray = logits.softmax(-1).numpy()
    return found


@dataclass(frozen=True)
class _Counts:
    """How often each text has each of its words, text by text."""

    features: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray
    vocabulary: int

    def entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the entries of these texts lie, and how many each has."""
        lengths = np.diff(self.offsets)[rows]
        starts = np.repeat(self.offsets[rows] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        return starts + np.arange(lengths.sum()), lengths


def _counts(sequences: Sequences, vocabulary: int) -> _Counts:
    text = np.repeat(np.arange(len(sequences)), sequences.lengths)
    known = sequences.ids >= len(SPECIAL)
    key, counts = np.unique(text[known] * vocabulary + sequences.ids[known], return_counts=True)
    offsets = np.searchsorted(key, np.arange(len(sequences) + 1) * vocabulary)
    return _Counts(key % vocabulary, counts, offsets, vocabulary)


def _idf(texts: _Counts, train: np.ndarray) -> np.ndarray:
    frequency = np.bincount(texts.features[texts.entries(train)[0]], minlength=texts.vocabulary)
    found: np.ndarray = np.log((1 + len(train)) / (1 + frequency)) + 1
    return found


Bags = tuple[Tensor, Tensor, Tensor]  # features, their values, and where each text begins


def _weighted(texts: list[_Counts], idf: list[np.ndarray], rows: np.ndarray) -> Bags:
    """The rows of a sparse matrix, each of length 1."""
    of_row, features, values = [], [], []
    first = 0
    for one, own in zip(texts, idf, strict=True):
        places, lengths = one.entries(rows)
        of_row.append(np.repeat(np.arange(len(rows)), lengths))
        features.append(first + one.features[places])
        values.append(one.counts[places] * own[one.features[places]])
        first += one.vocabulary
    row, value = np.concatenate(of_row), np.concatenate(values)
    order = np.argsort(row, kind="stable")  # a pair's words lie together
    norms = np.sqrt(np.bincount(row, weights=value**2, minlength=len(rows)))
    offsets = np.searchsorted(row[order], np.arange(len(rows)))
    scaled = (value / norms[row])[order]
    return torch.from_numpy(np.concatenate(features)[order]), torch.from_numpy(scaled), torch.from_numpy(offsets)


def _logits(bags: Bags, weights: Tensor, bias: Tensor) -> Tensor:
    features, values, offsets = bags
    return functional.embedding_bag(features, weights, offsets, mode="sum", per_sample_weights=values) + bias


def _fit(bags: Bags, labels: Tensor, size: int, outputs: int) -> tuple[Tensor, Tensor]:
    """The minimum of the mean cross-entropy plus ‖w‖² / 2Cn; the bias is not penalised."""
    weights = torch.zeros(size // outputs, outputs, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(outputs, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weights, bias],
        max_iter=MOST_STEPS,
        history_size=HISTORY,
        tolerance_grad=1e-7,
        tolerance_change=1e-12,
        line_search_fn="strong_wolfe",
    )

    def loss() -> float:
        optimizer.zero_grad()
        logits = _logits(bags, weights, bias)
        if outputs == 1:
            wrong = functional.binary_cross_entropy_with_logits(logits[:, 0], labels.double())
        else:
            wrong = functional.cross_entropy(logits, labels)
        total = wrong + (weights**2).sum() / (2 * C * len(labels))
        total.backward()  # type: ignore[no-untyped-call]
        return float(total.detach())

    optimizer.step(loss)
    return weights.detach(), bias.detach()
