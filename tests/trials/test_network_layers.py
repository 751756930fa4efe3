"""The trials of self-attention on Hugging Face networks, of both routes and with padding on both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from networks import CLASSES, HEADS, LAYERS, PAD, classifier
from tiny_layers import tiny_subject
from zeroed import without_queries

from attentest.layer_interventions import KINDS
from attentest.models.pretrained.layout import Layout, Side
from attentest.models.pretrained.model import Pretrained
from attentest.text.batches import make_batch
from attentest.text.pieces import Frame
from attentest.trials import Subject, hold
from attentest.trials.layers import Layers
from attentest.trials.unidentified import Unidentified

SIDES: list[tuple[str, Side]] = [("Bert", "right"), ("Llama", "left"), ("Deberta", "right")]


def subject_with(architecture: str, side: Side, zeroed: bool = False) -> Subject:
    """Texts of 1 to 9 tokens between two special ones."""
    subject = tiny_subject(18)
    frame = Frame((48,), (), (49,), (0, 0, 0))
    layout = Layout(frame, frame, pad=PAD, longest=40, side=side)
    model = Pretrained(classifier(architecture, num_labels=2), layout, [0, 1])
    if zeroed:  # only now: a network whose attention is uniform already would be refused
        without_queries(model.network)
    return replace(subject, model=model)


@pytest.mark.parametrize(("architecture", "side"), SIDES)
def test_every_layer_and_head_is_changed(architecture: str, side: Side) -> None:
    assert CLASSES != 2  # the networks here have the corpus's two
    (finding,) = hold([Layers()], subject_with(architecture, side))
    columns = finding.table.column_names
    spans = 2 * LAYERS - 1 + LAYERS - 2  # from below and from above, and those single layers that are not among them
    assert sum(name.startswith("tvd, ") for name in columns) == len(KINDS) * spans + LAYERS * HEADS
    for name in columns:
        if name.startswith("tvd, ") and "head" not in name:
            assert max(finding.table[name].to_pylist()) > 1e-4, name


@pytest.mark.parametrize(("architecture", "side"), SIDES)
def test_uniform_weights_everywhere_are_those_of_zeroed_queries(architecture: str, side: Side) -> None:
    (finding,) = hold([Layers(kinds=("uniform",), heads=())], subject_with(architecture, side))
    (zeroed,) = hold([Layers(kinds=("uniform",), heads=())], subject_with(architecture, side, zeroed=True))
    name = f"predicted, uniform, encoder.0 to encoder.{LAYERS - 1}"
    assert finding.table[name].to_pylist() == zeroed.table["predicted"].to_pylist()
    assert max(zeroed.table[name.replace("predicted", "tvd")].to_pylist()) < 1e-5


@pytest.mark.parametrize(("architecture", "side"), SIDES)
def test_batches_change_nothing(architecture: str, side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_with(architecture, side)
    subject = replace(subject, rows=subject.rows[:9:2])
    trials = [Layers(), *([Unidentified()] if Unidentified().fits(subject) else [])]
    whole = hold(trials, subject)
    monkeypatch.setattr("attentest.trials.layers._WEIGHTS_AT_ONCE", 1)
    alone = hold(trials, replace(subject, rows=subject.rows[::-1]))
    for one, other in zip(whole, alone, strict=True):
        for name in set(one.table.column_names) - {"logit_change"}:
            values, expected = other.table[name].to_pylist(), one.table[name].to_pylist()
            near = pytest.approx(expected, abs=1e-4, nan_ok=True) if isinstance(values[0], float) else expected
            assert values == near, name


@pytest.mark.parametrize(("architecture", "side", "row"), [("Bert", "right", "first"), ("Llama", "left", "last")])
def test_other_weights_of_all_heads_leave_the_logits(architecture: str, side: Side, row: str) -> None:
    """Values have 8 entries, so texts of 8 tokens and more, with the special ones, have other weights."""
    subject = subject_with(architecture, side)
    (finding,) = hold([Unidentified()], subject)
    tokens, lost = (np.array(finding.table[name].to_pylist()) for name in ("tokens", "mean_lost"))
    assert finding.notes[0].startswith(f"Rows are those of the {row} token")
    assert max(finding.table["logit_change"].to_pylist()) < 1e-5
    repeated = np.array([len(set(subject.data.sequences[row].tolist())) for row in subject.rows]) < tokens
    assert (lost[(tokens <= 5) & ~repeated] == 0).all()
    assert lost[tokens == 9].max() > 0.05


def test_a_word_can_take_the_weight_of_its_double_unless_values_know_places() -> None:
    """In the lowest layer of Llama only queries and keys do, in that of Bert values, too."""
    texts = tiny_subject(60)
    words = [texts.data.sequences[row].tolist() for row in texts.rows]
    doubled = np.array([row for row in texts.rows if len(set(words[row])) < len(words[row]) <= 5])
    cases: list[tuple[str, Side, set[float]]] = [("Llama", "left", {0.0, 1.0}), ("Bert", "right", {0.0})]
    for architecture, side, lost in cases:
        subject = subject_with(architecture, side)
        (finding,) = hold([Unidentified(sink=1.0)], replace(subject, rows=doubled))
        heads = [finding.table[f"lost, encoder.0 head {head}"].to_pylist() for head in range(HEADS)]
        assert {round(value, 6) for head in heads for value in head} == lost


def test_values_that_an_architecture_keeps_are_none_of_this_trial() -> None:
    subject = subject_with("Deberta", "right")
    assert Layers().fits(subject)
    assert not Unidentified().fits(subject)


def test_special_tokens_are_known_on_either_side() -> None:
    for architecture, side in SIDES[:2]:
        subject = subject_with(architecture, side)
        assert isinstance(subject.model, Pretrained)
        batch = make_batch(subject.data, np.arange(3))  # of 1, 2 and 3 tokens
        special = subject.model.special_keys(batch)
        expected = [[0, 2], [0, 3], [0, 4]] if side == "right" else [[2, 4], [1, 4], [0, 4]]
        assert [row.nonzero().flatten().tolist() for row in special] == expected
        assert isinstance(special, torch.Tensor)
