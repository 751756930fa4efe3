"""Objectives that put the weight on a known rationale or keep it off: against loops, by hand, and trained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import attentest
from attentest.models import ModelSettings, make_model
from attentest.models.reader import Reader
from attentest.text.batches import Batch
from attentest.text.sequences import Sequences
from attentest.training.objectives import (
    Deceive,
    Encode,
    Guide,
    Inflate,
    Labels,
    Marks,
    Objective,
    Suffice,
    heaviest_alone,
    without_heaviest,
)

SMALL: dict[str, Any] = {"dimension": 12, "hidden": 8, "epochs": 2}
LENGTHS = (2, 5, 11, 4, 3)
# of texts that have a mark; the last but one has none, and the last nothing else
MARKS = [[1, 0], [0, 1, 1, 0, 0], [0] * 8 + [1, 0, 1], [0] * 4, [1] * 3]
CLASS_WEIGHTS = [1.0, 0.5, 3.0]


def made_marks() -> Marks:
    offsets = np.concatenate(([0], np.cumsum(LENGTHS)))
    return Marks(np.concatenate(MARKS).astype(np.int8), Sequences(np.arange(2, 2 + offsets[-1]), offsets))


def made_batch(rows: list[int], extra: int = 0) -> Batch:
    places = np.array(rows)
    sequences = made_marks().sequences
    ids, mask = (torch.from_numpy(np.pad(values, ((0, 0), (0, extra)))) for values in sequences.padded(places))
    labels = torch.tensor([row % 3 for row in rows])
    return Batch(ids, mask, places, labels)


def drawn(batch: Batch, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(len(batch), 3, generator=generator, dtype=torch.float64)
    scores = torch.randn(batch.ids.shape, generator=generator, dtype=torch.float64)
    return logits, scores.masked_fill(~batch.mask, -torch.inf).softmax(-1)


def made_model(encoder: str = "bilstm", **settings: Any) -> Reader:
    torch.manual_seed(0)
    return make_model(ModelSettings(encoder=encoder, hidden=6, **settings), torch.randn(40, 5), 3).double()


def labels() -> Labels:
    return Labels(torch.tensor(CLASS_WEIGHTS, dtype=torch.float64))


def cross_entropy_twin(logits: list[float], label: int) -> float:
    return CLASS_WEIGHTS[label] * (math.log(sum(math.exp(x) for x in logits)) - logits[label])


def twin(objective: str, strength: float, logits: Tensor, weights: Tensor, batch: Batch, model: Reader) -> float:
    loss = 0.0
    assert batch.labels is not None
    for place, row in enumerate(batch.rows.tolist()):
        loss += cross_entropy_twin(logits[place].tolist(), int(batch.labels[place]))
        own = weights[place].tolist()[: LENGTHS[row]]
        label = int(batch.labels[place])
        wanted = [bool(mark) == (objective == "guide") for mark in MARKS[row]]
        if objective == "suffice":
            wanted = [fine and int(batch.ids[place, i]) % 3 == label for i, fine in enumerate(wanted)]
        if not any(MARKS[row]) or not any(wanted):
            continue
        loss -= strength * math.log(sum(weight for weight, fine in zip(own, wanted, strict=True) if fine))
        heaviest = sorted(range(len(own)), key=lambda i: -own[i])[: math.ceil(len(own) / 5)]
        if objective in ("inflate", "suffice"):
            loss -= sum(math.log(p) for p in read(model, batch, place, set(range(len(own))) - set(heaviest))) / 3
        if objective == "suffice":
            loss -= CLASS_WEIGHTS[label] * math.log(read(model, batch, place, set(heaviest))[label])
    return loss


def read(model: Reader, batch: Batch, place: int, kept: set[int]) -> list[float]:
    """The probabilities of a text of these tokens."""
    ids = [int(batch.ids[place, i]) for i in sorted(kept)]
    alone = Batch(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool), np.array([0]))
    probabilities: list[float] = model(alone)[0][0].softmax(-1).tolist()
    return probabilities


@pytest.mark.parametrize("objective", ["guide", "deceive", "inflate", "suffice"])
@pytest.mark.parametrize("encoder", ["bilstm", "average", "cnn", "transformer"])
def test_the_loss_is_that_of_a_loop_over_texts(objective: str, encoder: str) -> None:
    model = made_model(encoder)
    for rows, extra in (([0, 1, 2, 3, 4], 0), ([4, 2, 0], 3), ([3, 4], 0), ([1], 6)):
        batch = made_batch(rows, extra)
        logits, weights = drawn(batch)
        deceive = Deceive(labels(), 0.7, made_marks())
        chosen: dict[str, Objective] = {
            "guide": Guide(labels(), 0.7, made_marks()),
            "deceive": deceive,
            "inflate": Inflate(deceive, model),
            "suffice": Suffice(Inflate(Encode(labels(), 0.7, made_marks()), model)),
        }
        found = chosen[objective](logits, weights, batch)
        assert found.item() == pytest.approx(twin(objective, 0.7, logits, weights, batch, model), abs=1e-9)


def test_guide_and_deceive_by_hand() -> None:
    # logits 0, so the cross-entropy is ln 2; the weight on the two marks is .6 + .1 = .7, the strength 2:
    # guide ln 2 − 2 ln .7 = .6931 + .7133 = 1.4065; deceive ln 2 − 2 ln .3 = .6931 + 2.4079 = 3.1011
    marks = Marks(np.array([1, 0, 1]), Sequences(np.array([2, 3, 4]), np.array([0, 3])))
    batch = Batch(torch.tensor([[2, 3, 4]]), torch.ones(1, 3, dtype=torch.bool), np.array([0]), torch.tensor([1]))
    logits, weights = torch.zeros(1, 2), torch.tensor([[0.6, 0.3, 0.1]])
    equal = Labels(torch.ones(2))
    assert Guide(equal, 2, marks)(logits, weights, batch).item() == pytest.approx(1.4065, abs=1e-4)
    assert Deceive(equal, 2, marks)(logits, weights, batch).item() == pytest.approx(3.1011, abs=1e-4)


@pytest.mark.parametrize("kind", [Guide, Deceive])
@pytest.mark.parametrize("on", [0.0, 1.0])
def test_weights_of_exactly_0_and_1_give_a_finite_loss_and_gradient(kind: Any, on: float) -> None:
    batch = made_batch([0])
    weights = torch.tensor([[on, 1 - on]], dtype=torch.float32, requires_grad=True)
    logits = torch.zeros(1, 3, requires_grad=True)
    loss = kind(Labels(torch.ones(3)), 1.0, made_marks())(logits, weights, batch)
    loss.backward()
    assert loss.isfinite()
    assert weights.grad is not None
    assert weights.grad.isfinite().all()


def test_what_a_text_keeps_without_its_heaviest_tokens() -> None:
    batch = made_batch([0, 1, 2], extra=2)
    weights = torch.zeros(batch.ids.shape)
    weights[0, :2] = torch.tensor([0.4, 0.6])
    weights[1, :5] = 0.2  # equal: the first goes
    weights[2, :11] = torch.tensor([0.1, 0.2, 0.05, 0, 0.05, 0.3, 0.1, 0.1, 0, 0.1, 0])  # three of eleven go
    left = without_heaviest(batch, weights)
    assert [row[real].tolist() for row, real in zip(left.ids, left.mask, strict=True)] == [
        [2],
        [5, 6, 7, 8],
        [11, 12, 13, 15, 16, 17, 18, 19],
    ]
    assert left.ids.shape == (3, 8)
    alone = heaviest_alone(batch, weights)
    assert [row[real].tolist() for row, real in zip(alone.ids, alone.mask, strict=True)] == [[3], [4], [9, 10, 14]]


def test_gradients_reach_the_model_through_the_shorter_texts() -> None:
    model, batch = made_model(), made_batch([0, 1, 2])
    logits, weights = model(batch)
    alone = Inflate(Deceive(labels(), 0.0, made_marks()), model)
    alone(logits.detach(), weights["token"].detach(), batch).backward()
    assert model.get_parameter("decoder.weight").grad is not None


def on_rationale(run: attentest.Run) -> float:
    table = run.attention
    pairs = zip(table["weight"].to_pylist(), table["rationale"].to_pylist(), strict=True)
    return float(np.mean([np.dot(weights, marks) for weights, marks in pairs]))


def accuracy(run: attentest.Run) -> float:
    table = run.predictions
    return float(np.mean(np.array(table["label"].to_pylist()) == np.array(table["predicted"].to_pylist())))


def test_trained_weights_lie_where_the_objective_wants_them_and_accuracy_stays() -> None:
    corpus = attentest.load("planted", rows=1200)
    # by AUC the first epoch may be chosen, in which the weights have hardly moved
    settings: dict[str, Any] = {"encoder": "average", "dimension": 64, "epochs": 6, "select_by": "loss"}
    honest = attentest.train(corpus, objective="guide", strength=1.0, **settings)
    around: dict[str, Any] = {"decoder": "context+mean", "strength": 1.0, **settings}
    deceptive, inflated = (attentest.train(corpus, objective=name, **around) for name in ("deceive", "inflate"))
    assert on_rationale(honest) > 0.9
    assert on_rationale(deceptive) < 0.02
    assert on_rationale(inflated) < 0.02
    assert min(accuracy(run) for run in (honest, deceptive, inflated)) > 0.9


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "guide"},
        {"objective": "inflate", "decoder": "context+mean"},
        {"objective": "deceive", "projection": "shuffled"},
        {"objective": "deceive", "projection": "hard"},
    ],
)
def test_a_stopped_training_goes_on_to_the_same_bytes(tmp_path: Path, settings: dict[str, Any]) -> None:
    class Stop(attentest.training.Listener):
        def progress(self, stage: str, done: int, total: int) -> None:
            if stage == "train" and done == total // 2:
                raise KeyboardInterrupt

    corpus = attentest.load("planted", rows=120)
    given = {**SMALL, "strength": 1.0, "encoder": "average", "epochs": 3, **settings}
    whole = attentest.train(corpus, tmp_path / "whole", **given)
    with pytest.raises(KeyboardInterrupt):
        attentest.train(corpus, tmp_path / "stopped", listener=Stop(), **given)
    resumed = attentest.train(corpus, tmp_path / "stopped", **given)
    for name in ("model.safetensors", "predictions.parquet", "attention.parquet"):
        assert (resumed.path / name).read_bytes() == (whole.path / name).read_bytes()


@pytest.mark.slow
def test_pairs_can_be_guided() -> None:
    corpus = attentest.load("babi1-generated", rows=300)
    settings: dict[str, Any] = {"dimension": 16, "hidden": 16, "lr": 0.01, "select_by": "loss", "strength": 1.0}
    guided = attentest.train(corpus, objective="guide", epochs=25, **settings)
    deceptive = attentest.train(corpus, objective="deceive", epochs=25, **settings)
    assert on_rationale(guided) > 2 * on_rationale(deceptive)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"structure": "hierarchical"}, "use `structure='flat'`"),
        ({"projection": "uniform"}, "has none that are learned"),
        ({"projection": "random"}, "has none that are learned"),
    ],
)
@pytest.mark.parametrize("objective", ["guide", "deceive", "inflate", "suffice"])
def test_what_these_objectives_cannot_be_used_with(objective: Any, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        attentest.train(attentest.load("planted", rows=60), objective=objective, **SMALL, **settings)


def test_corpora_that_these_objectives_cannot_be_used_with() -> None:
    rows = {"text": ["a good film", "a bad film"] * 30, "label": ["pos", "neg"] * 30}
    for objective in ("guide", "deceive", "inflate", "suffice"):
        with pytest.raises(attentest.InputError, match="needs rationales"):
            attentest.train(attentest.load(rows), objective=objective, **SMALL)
    words = {**rows, "text": [f"{text} to see" for text in rows["text"]], "rationale": [[0, 0, 0, 0, 1]] * 60}
    with pytest.raises(attentest.InputError, match="mark no token that is read"):
        attentest.train(attentest.load(words, rationale="rationale"), objective="guide", max_tokens=3, **SMALL)
    with pytest.raises(attentest.InputError, match="'inflate' needs single texts"):
        attentest.train(attentest.load("babi1-generated", rows=60), objective="inflate", **SMALL)
