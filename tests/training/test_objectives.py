"""Trainings that stand on another run: imitate it under other weights, start from it, keep parts of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import attentest
from attentest.text.batches import Batch
from attentest.text.sequences import Sequences
from attentest.training.fit import Progress
from attentest.training.objectives import Adversary
from attentest.training.predict import Predictions
from attentest.training.settings import ModelPart, TrainingSettings

SMALL: dict[str, Any] = {"dimension": 12, "hidden": 8, "epochs": 2}


def test_the_adversary_by_hand() -> None:
    # base: ŷ = .7 for class 1, α = (.5, .5, 0 on padding); model: logits (0, 0), so ŷ = .5, α = (.9, .1)
    # TVD = ½ |.5 − .7| = .1; KL = .9 ln(.9/.5) + .1 ln(.1/.5) = .52902 − .16094 = .36807; λ = .1
    sequences = Sequences(np.array([2, 3, 4, 5]), np.array([0, 2, 4]))
    weights = torch.tensor([[0.9, 0.1, 0.0]], requires_grad=True)
    logits = torch.zeros(1, 2, requires_grad=True)
    mask = torch.tensor([[True, True, False]])
    batch = Batch(torch.tensor([[2, 3, 0]]), mask, np.array([0]))
    probabilities = np.array([[0.3, 0.7], [0.5, 0.5]])
    objective = Adversary(0.1, probabilities, np.array([0.5, 0.5, 0.2, 0.8]), Padded(sequences))  # type: ignore[arg-type]
    loss = objective(logits, weights, batch)
    assert loss.item() == pytest.approx(0.1 - 0.1 * 0.36807, abs=1e-5)
    loss.backward()
    assert weights.grad is not None
    assert weights.grad.isfinite().all()
    assert weights.grad[0, 2] == 0


def test_how_far_an_adversary_is_by_hand() -> None:
    # JSD of (.9, .1) and (.5, .5): m = (.7, .3); of (1, 0) and (.2, .8): m = (.6, .4); TVD .2 and .5
    first = (0.9 * math.log(0.9 / 0.7) + 0.1 * math.log(0.1 / 0.3) + 0.5 * math.log(25 / 21)) / 2
    second = (math.log(1 / 0.6) + 0.2 * math.log(0.2 / 0.6) + 0.8 * math.log(2)) / 2
    sequences = Sequences(np.array([2, 3, 4, 5]), np.array([0, 2, 4]))
    objective = Adversary(0.1, np.array([[0.3, 0.7], [0.5, 0.5]]), np.array([0.5, 0.5, 0.2, 0.8]), sequences)
    said = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = objective.apart(Predictions(np.array([1, 0]), said, [np.array([1.0, 0.0]), np.array([0.9, 0.1])]))
    # the loss: ½ |0 − .5| − .1 KL((1, 0)‖(.2, .8)) and ½ |.5 − .7| − .1 KL((.9, .1)‖(.5, .5)), as above
    losses = 0.25 - 0.1 * math.log(5), 0.1 - 0.1 * 0.3680642
    wanted = {"jsd": (first + second) / 2, "tvd": (0.5 + 0.2) / 2, "dev_loss": sum(losses) / 2}
    assert found == pytest.approx(wanted)


class Padded:
    """Sequences padded one wider than they need, as beside a longer text."""

    def __init__(self, sequences: Sequences) -> None:
        self.sequences = sequences

    def padded(self, rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, mask = self.sequences.padded(rows, values)
        return np.pad(found, ((0, 0), (0, 1))), np.pad(mask, ((0, 0), (0, 1)))


def test_an_adversary_moves_attention_and_keeps_predictions(run: attentest.Run, corpus: attentest.Corpus) -> None:
    size = {"dimension": 16, "hidden": 8, "seed": 3, "lr": 0.03}
    settings: dict[str, Any] = {**size, "objective": "adversary", "select_by": "loss"}
    near, far = (attentest.train(corpus, base=run, strength=strength, **settings) for strength in (0.0, 0.5))

    def apart(other: attentest.Run) -> float:
        pairs = zip(run.attention["weight"].to_pylist(), other.attention["weight"].to_pylist(), strict=True)
        return float(np.mean([np.abs(np.array(a) - np.array(b)).sum() / 2 for a, b in pairs]))

    assert apart(far) > apart(near) + 0.05
    # what a strength is chosen by is measured on dev, of the epoch that was kept
    kept = [row for row in far.history.to_pylist() if row["epoch"] == far.dev["epoch"]]
    assert kept == [far.dev]
    assert far.dev["score"] == max(far.history["score"].to_pylist())
    assert far.dev["jsd"] > near.dev["jsd"] + 0.01
    assert 0 <= far.dev["tvd"] <= 1
    assert "jsd" not in run.dev


def test_the_epoch_of_an_adversary_can_be_chosen_on_dev(run: attentest.Run, corpus: attentest.Corpus) -> None:
    """Wiegreffe & Pinter 2019, App. B, choose it on the test set."""
    settings: dict[str, Any] = {"dimension": 16, "hidden": 8, "lr": 0.05, "epochs": 4, "objective": "adversary"}
    chosen = attentest.train(corpus, base=run, strength=0.5, select_by="dev-loss", **settings)
    losses = chosen.history["dev_loss"].to_pylist()
    assert chosen.dev["epoch"] == 1 + losses.index(min(losses))
    assert chosen.history["score"].to_pylist() == pytest.approx([-loss for loss in losses])
    with pytest.raises(attentest.InputError, match="is for the objective 'adversary'"):
        attentest.train(corpus, select_by="dev-loss", **SMALL)


def test_frozen_parts_stay_and_taken_parts_start_as_they_were(run: attentest.Run, corpus: attentest.Corpus) -> None:
    small: dict[str, Any] = {"dimension": 16, "hidden": 8, "epochs": 1}
    kept: tuple[ModelPart, ...] = ("embedding", "encoder")
    other = attentest.train(corpus, start=run, take=kept, freeze=kept, seed=9, **small)
    before, after = run.model.state_dict(), other.model.state_dict()
    for name in before:
        same = torch.equal(before[name], after[name])
        assert same == (name.partition(".")[0] in kept), name
    whole = attentest.train(corpus, start=run, freeze=("embedding", "encoder", "decoder"), **small)
    moved = {name for name, value in whole.model.state_dict().items() if not torch.equal(value, before[name])}
    assert {name.partition(".")[0] for name in moved} == {"alignment"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"objective": "adversary"}, "go together"),
        ({"objective": "labls"}, "did you mean 'labels'"),
        ({"take": ("encoder",)}, "`take` needs `start`"),
        ({"freeze": ("encodr",)}, "did you mean 'encoder'"),
        ({"patience": 0}, "patience is 0"),
        ({"patience": 1.5}, "expected int"),
        ({"strength": -1.0}, "at least 0"),
    ],
)
def test_bad_settings(corpus: attentest.Corpus, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        attentest.train(corpus, **SMALL, **settings)


def test_a_start_of_another_shape_or_vocabulary(run: attentest.Run, corpus: attentest.Corpus) -> None:
    with pytest.raises(attentest.InputError, match="a different shape"):
        attentest.train(corpus, start=run, dimension=16, hidden=4, epochs=1)
    with pytest.raises(attentest.InputError, match="a different vocabulary"):
        attentest.train(corpus, start=run, dimension=16, hidden=8, epochs=1, min_frequency=3)


def test_patience() -> None:
    rows = [{"epoch": i + 1, "score": score} for i, score in enumerate((0.5, 0.7, 0.6, 0.65))]
    progress = Progress(epoch=4, history=rows)
    assert progress.best_epoch == 2
    assert not progress.is_over(TrainingSettings(epochs=9, patience=3))
    assert progress.is_over(TrainingSettings(epochs=9, patience=2))
    assert progress.is_over(TrainingSettings(epochs=4))


def test_random_weights_in_training_and_test(corpus: attentest.Corpus) -> None:
    run = attentest.train(corpus, projection="random", **SMALL)
    weights = run.attention["weight"].to_pylist()
    assert all(math.isclose(sum(w), 1, abs_tol=1e-5) for w in weights)
    assert len({round(w[0], 6) for w in weights}) > len(weights) // 2
    finding = attentest.trial("permutation", run)
    assert finding.table["predicted"].to_pylist() == run.predictions["predicted"].to_pylist()
    with pytest.raises(attentest.InputError, match="it cannot read other texts"):
        run.attend("a text")
