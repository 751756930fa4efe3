"""Equal words have equal scores, and rounding must not rank them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attentest.models import Classifier, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences
from attentest.trials.correlation import Correlation
from attentest.trials.reading import read
from attentest.trials.scores import SCORES, ScoreSettings, ranked, score
from attentest.trials.subject import Subject

WORDS = 12
TEXTS = (
    [3, 3, 3, 4, 5, 5, 6, 6, 6, 6, 2],
    [7, 7, 8, 8, 9, 9, 9, 2, 3, 3],
    [4, 4, 4, 4, 4, 10, 11, 11],
    [5, 6, 5, 6, 6, 5, 5, 5],
)
LONG = [word for word in (3, 9, 4, 7, 5, 8, 6, 2) for _ in range(12)]  # 96 tokens: the path of long texts


def made_model(encoder: str, dtype: torch.dtype = torch.float32) -> Classifier:
    torch.manual_seed(5)
    model = Classifier(ModelSettings(encoder=encoder, hidden=8), 2 * torch.randn(WORDS, 6), 2)
    for parameter in model.parameters():
        parameter.data *= 1.5
    return model.to(dtype).eval()


@torch.no_grad()
def exact_scores(model: Any, ids: list[int]) -> np.ndarray:
    """Leave-one-out in float64; removals that leave the same text are worked out once, so that they are truly equal."""

    def probability(text: tuple[int, ...]) -> float:
        return float(model(batch_of_sequences([np.array(text)]))[0].softmax(-1)[0, 1])

    whole = probability(tuple(ids))
    known: dict[tuple[int, ...], float] = {}
    scores = []
    for place in range(len(ids)):
        left = (*ids[:place], *ids[place + 1 :])
        known.setdefault(left, abs(whole - probability(left)))
        scores.append(known[left])
    return np.array(scores)


def examined(model: Classifier, batch: Batch, **given: Any) -> Any:
    trial = Correlation(measures=("leave-one-out",), **given)
    subject = Subject(model, None, batch.rows, trusted=True)  # type: ignore[arg-type]
    with torch.no_grad():
        reading = read(model, batch)
        return trial.examiner(subject).examine(reading), reading


@pytest.mark.parametrize("tolerance", [1e-6, 0.0])
@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_tau_of_repeated_words_is_that_of_exact_scores(encoder: str, tolerance: float) -> None:
    texts = [*TEXTS, LONG]
    batch = batch_of_sequences([np.array(text) for text in texts])
    columns, reading = examined(made_model(encoder), batch, tolerance=tolerance)
    exact = made_model(encoder, torch.float64)
    for row, ids in enumerate(texts):
        truth = exact_scores(exact, ids).round(12)  # equal words differ by float64's own rounding on some CPUs
        assert np.diff(np.unique(truth)).min() > 2e-5  # what differs in truth is not tied
        attention = reading.weights[row, : len(ids)].double().numpy()
        expected = kendalltau(attention, truth)
        assert columns["tau attention – leave-one-out"][row] == pytest.approx(expected.statistic, abs=1e-12)
        assert columns["p attention – leave-one-out"][row] == pytest.approx(expected.pvalue, abs=1e-9)


@pytest.mark.parametrize("encoder", ["bilstm", "transformer", "none"])
def test_adjacent_equal_words_are_tied(encoder: str) -> None:
    model = made_model(encoder)
    batch = batch_of_sequences([np.array(text) for text in (*TEXTS, LONG)])
    with torch.no_grad():
        reading = read(model, batch)
        found = ranked(reading, "leave-one-out", ScoreSettings())
    for row, ids in enumerate((*TEXTS, LONG)):
        place = 0
        for _, same in groupby(ids):
            length = len(list(same))
            assert len(found[row, place : place + length].unique()) == 1
            place += length


def test_ties_move_scores_by_no_more_than_they_are_exact_to() -> None:
    batch = batch_of_sequences([np.array(text) for text in (*TEXTS, LONG)])
    for dtype, rounding in ((torch.float32, 8 * 2**-23), (torch.float64, 8 * 2**-52)):
        reading = read(made_model("bilstm", dtype), batch)
        for name in SCORES:
            if SCORES[name].exactness is None:
                continue
            width = rounding + (
                1e-6 if name in ("leave-one-out", "leave-one-out-signed") else 0.0
            )  # only a removal from a BiLSTM stops early
            moved = score(reading, name, ScoreSettings()) - ranked(reading, name, ScoreSettings())
            assert moved.min() >= 0
            assert moved.max() <= width
    other = read(made_model("cnn"), batch)
    moved = score(other, "leave-one-out", ScoreSettings()) - ranked(other, "leave-one-out", ScoreSettings())
    assert moved.max() <= 8 * 2**-23


def test_measures_without_a_known_exactness_are_ranked_as_they_are() -> None:
    reading = read(made_model("bilstm"), batch_of_sequences([np.array(text) for text in TEXTS]))
    for name in ("attention", "gradient", "random", "hidden-gradient"):
        assert torch.equal(ranked(reading, name, ScoreSettings()), score(reading, name, ScoreSettings()))
