"""Information under the weights: comparable across numbers of texts, and nothing for weights that know nothing."""

from __future__ import annotations

import numpy as np
import pytest

import attentest
from attentest.measures.intervals import Estimate
from attentest.trials.information import Information

MORE, NULL = Information.keys["more informed"], Information.keys["null"]


def informed(run: attentest.Run, texts: int) -> tuple[Estimate, Estimate]:
    summary = attentest.trial("information", run, texts=texts, runs=2).summary
    return summary[MORE], summary[NULL]


@pytest.fixture(scope="module")
def planted() -> attentest.Corpus:
    return attentest.load("planted", rows=6000, difficulty=0.3)


@pytest.mark.slow
def test_intervals_of_100_400_and_1000_texts_overlap(planted: attentest.Corpus) -> None:
    run = attentest.train(planted, encoder="average", epochs=3)
    found = [informed(run, texts)[0] for texts in (100, 400, 1000)]
    assert max(f.low for f in found) <= min(f.high for f in found)
    assert min(f.low for f in found) > 0.1
    assert [f.n for f in found] == [100, 400, 1000]
    widths = [f.high - f.low for f in found]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.slow
def test_weights_fixed_at_random_are_not_above_their_null(planted: attentest.Corpus) -> None:
    run = attentest.train(planted, encoder="average", projection="random", epochs=3)
    for texts in (100, 400, 1000):
        own, null = informed(run, texts)
        assert own.low <= max(null.high, 0), texts
        assert abs(own.value) < 0.01, texts


def test_the_new_figure_leaves_the_published_one_as_it_was(own_run: attentest.Run) -> None:
    finding = attentest.trial("information", own_run, runs=2, clusters=5)
    (published,) = Information.cells(finding.summary, "softmax", ("a", "b"))
    assert published.value == finding.summary["weighted τ"].value
    again = [finding.summary[f"weighted τ, clustering {i}"].value for i in (1, 2)]
    assert published.value == pytest.approx(np.mean(again))
