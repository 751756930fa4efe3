"""A classifier without attention to compare with: logistic regression on the weighted counts of words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

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
TOLERANCE = 1e-6  # of the slope
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
    features = sum(map(len, idf))
    check_memory(NUMBER * features * outputs * 2 * (HISTORY + 5), f"A baseline for {classes:,} classes")
    weights, bias = _fit(_weighted(texts, idf, train), data.labels[train], features, outputs)
    logits = _weighted(texts, idf, rows).times(weights) + bias
    if outputs == 1:
        logits = np.pad(logits, ((0, 0), (1, 0)))
    found: np.ndarray = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
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


@dataclass(frozen=True)
class _Matrix:
    """Sparse: an entry for each word that a text has."""

    texts: np.ndarray
    features: np.ndarray
    values: np.ndarray
    rows: int

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Its product with features × outputs."""
        columns = [self.values * one[self.features] for one in weights.T]
        return np.stack([np.bincount(self.texts, one, minlength=self.rows) for one in columns], 1)

    def transposed_times(self, residuals: np.ndarray, features: int) -> np.ndarray:
        """The product of its transpose with rows × outputs."""
        columns = [self.values * one[self.texts] for one in residuals.T]
        return np.stack([np.bincount(self.features, one, minlength=features) for one in columns], 1)


def _weighted(texts: list[_Counts], idf: list[np.ndarray], rows: np.ndarray) -> _Matrix:
    """Rows of length 1; the words of a pair's second text come after those of the first."""
    of_text, features, values = [], [], []
    first = 0
    for one, own in zip(texts, idf, strict=True):
        places, lengths = one.entries(rows)
        of_text.append(np.repeat(np.arange(len(rows)), lengths))
        features.append(first + one.features[places])
        values.append(one.counts[places] * own[one.features[places]])
        first += one.vocabulary
    text, value = np.concatenate(of_text), np.concatenate(values)
    norms = np.sqrt(np.bincount(text, value**2, minlength=len(rows)))
    return _Matrix(text, np.concatenate(features), value / norms[text], len(rows))


def _fit(matrix: _Matrix, labels: np.ndarray, features: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """The minimum of the mean cross-entropy plus ‖w‖² / 2Cn; the bias, in the last row, is not penalised."""
    wanted = np.eye(outputs)[labels] if outputs > 1 else labels[:, None].astype(float)
    penalty = 1 / (C * len(labels))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = flat.reshape(features + 1, outputs)
        weights = parameters[:-1]
        logits = matrix.times(weights) + parameters[-1]
        both = logits if outputs > 1 else np.pad(logits, ((0, 0), (1, 0)))
        total = np.logaddexp.reduce(both, axis=1)
        residuals = (np.exp(logits - total[:, None]) - wanted) / len(labels)
        slope = np.vstack([matrix.transposed_times(residuals, features) + penalty * weights, residuals.sum(0)])
        value = (total - (logits * wanted).sum(1)).mean() + penalty * (weights**2).sum() / 2
        return float(value), slope.ravel()

    found = _minimum(loss, np.zeros((features + 1) * outputs)).reshape(features + 1, outputs)
    return found[:-1], found[-1]


def _minimum(loss: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray) -> np.ndarray:
    """Of a convex function, by L-BFGS: torch's would import its compiler first, which takes seconds."""
    here, (value, slope) = start, loss(start)
    past: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=HISTORY)  # steps, changes of the slope, 1/products
    for _ in range(MOST_STEPS):
        if np.abs(slope).max() <= TOLERANCE:
            break
        direction = -_inverse_curvature(past, slope)
        expected, length = float(slope @ direction), 1.0
        while True:
            there = here + length * direction
            new_value, new_slope = loss(there)
            if new_value <= value + 1e-4 * length * expected or length < 1e-10:
                break
            length /= 2
        change, bend = there - here, new_slope - slope
        if change @ bend > 0:
            past.append((change, bend, 1 / float(change @ bend)))
        here, value, slope = there, new_value, new_slope
        if length < 1e-10:  # rounding is all that is left
            break
    return here


def _inverse_curvature(past: Sequence[tuple[np.ndarray, np.ndarray, float]], slope: np.ndarray) -> np.ndarray:
    """The slope, scaled by what the last steps tell of the curvature (the two loops of Nocedal 1980)."""
    result = slope.copy()
    shares = []
    for step, bend, product in reversed(past):
        shares.append(product * float(step @ result))
        result -= shares[-1] * bend
    if past:
        _, bend, product = past[-1]
        result /= product * float(bend @ bend)
    for (step, bend, product), share in zip(past, reversed(shares), strict=True):
        result += (share - product * float(bend @ result)) * step
    return result
