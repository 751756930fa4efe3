"""What the windows of a long text say together, and how good a model is on texts and on windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from attentest.measures.classification import accuracy, classification_metrics
from attentest.text.prepare import TokenizedCorpus
from attentest.text.windows import mean_weights, places_in, whole_of
from attentest.training.predict import Predictions

WINDOW_ACCURACY = "window accuracy"


def by_text(data: TokenizedCorpus, found: Predictions) -> Predictions:
    """One row for each text, the first of its windows: the means of their probabilities and of their weights."""
    if not data.has_windows:
        return found
    assert data.bounds is not None
    texts = data.rows[found.rows]
    order = np.argsort(texts, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(texts[order])) + 1)
    return Predictions(
        np.array([found.rows[windows[0]] for windows in groups]),
        np.stack([found.probabilities[windows].mean(0) for windows in groups]),
        [mean_weights(data.bounds[found.rows[windows]], [found.weights[i] for i in windows]) for windows in groups],
    )


def scores_of(data: TokenizedCorpus, found: Predictions) -> dict[str, float]:
    """Accuracy, F1 and AUC over texts, and where some are read in windows, the accuracy over these."""
    whole = by_text(data, found)
    scores = classification_metrics(data.labels[whole.rows], whole.probabilities)
    if data.has_windows:
        scores[WINDOW_ACCURACY] = accuracy(data.labels[found.rows], found.probabilities.argmax(1))
    return scores


def lengths_of_texts(data: TokenizedCorpus) -> Int[np.ndarray, "texts"]:
    """How many tokens of its own each text has, in all of its windows."""
    if data.bounds is None:
        return data.sequences.lengths
    firsts = np.unique(data.rows, return_index=True)[1]
    return np.array([whole_of(data.bounds[data.windows_of(row)])[:, 1].sum() for row in firsts])


def marks_of_rows(data: TokenizedCorpus, marks: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Of the tokens of each row, from those of each text."""
    if data.bounds is None or not data.has_windows:
        return list(marks)
    number = np.unique(data.rows, return_inverse=True)[1]
    wholes = [whole_of(data.bounds[data.windows_of(row)]) for row in range(len(data.rows))]
    return [
        marks[text][places_in(whole, bounds)] for text, whole, bounds in zip(number, wholes, data.bounds, strict=True)
    ]
