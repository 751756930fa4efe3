"""Other weights with the same output: worked by hand, against all corners of the polytope, and put into the model."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from tiny_layers import HEADS, SIZE, TinyLayers, tiny_subject
from torch import Tensor

import attentest
from attentest.models.protocol import Encoded
from attentest.text.batches import Batch, make_batch
from attentest.trials import Finding, Subject, hold, make_trial, subject_of
from attentest.trials.same_output import TOLERANCE, is_same, kept_directions, least_weight
from attentest.trials.unidentified import Unidentified, deciding_token

SIDES: list[dict[str, Any]] = [
    {"left": False},
    {"left": True},
    {"left": True, "causal": True, "pooled": "last"},
    {"left": False, "pooled": "mean"},
]


def least(weights: list[float], values: list[list[float]], top: int) -> np.ndarray | None:
    own, of = np.array(weights), np.array(values)
    return least_weight(own, of, kept_directions(of), top)


@pytest.mark.parametrize(
    ("weights", "top", "expected"),
    [
        # values 0, 1, 2 on a line, with the output 1.1: the ends can carry all of it
        ([0.2, 0.5, 0.3], 1, [0.45, 0.0, 0.55]),
        # the output is 1.5: with w on the last, 1.5 − 2w is on the middle and w − .5 on the first, which is not below 0
        ([0.1, 0.3, 0.6], 2, [0.0, 0.5, 0.5]),
        # the same from the first: the output .5 leaves it with at least .5
        ([0.6, 0.3, 0.1], 0, [0.5, 0.5, 0.0]),
    ],
)
def test_three_tokens_on_a_line(weights: list[float], top: int, expected: list[float]) -> None:
    assert least(weights, [[0.0], [1.0], [2.0]], top) == pytest.approx(expected, abs=1e-9)
    # the same line in a space of more dimensions
    assert least(weights, [[1.0, -2.0, 5.0], [2.0, 0.0, 5.0], [3.0, 2.0, 5.0]], top) == pytest.approx(
        expected, abs=1e-9
    )


def test_as_many_directions_as_tokens_leave_nothing_to_move() -> None:
    corner = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert kept_directions(corner).shape == (3, 3)
    assert kept_directions(np.concatenate([corner, corner[:1]])).shape == (4, 3)  # one token twice
    assert kept_directions(np.zeros((3, 2))).shape == (3, 1)  # only the sum is kept
    kept = kept_directions(np.random.default_rng(0).normal(size=(5, 2)))
    assert kept.T @ kept == pytest.approx(np.eye(3), abs=1e-12)


def corners(weights: np.ndarray, values: np.ndarray, top: int) -> float:
    """The least weight on `top` among all corners of the polytope: as many tokens as there are equations."""
    equations = np.concatenate([values, np.ones((len(values), 1))], 1).T
    wanted = equations @ weights
    found = weights[top]
    for chosen in combinations(range(len(weights)), len(equations)):
        solved = np.linalg.solve(equations[:, chosen], wanted)
        if (solved >= -1e-12).all():
            found = min(found, solved[list(chosen).index(top)] if top in chosen else 0.0)
    return float(found)


@pytest.mark.parametrize("seed", range(12))
def test_the_programme_against_all_corners(seed: int) -> None:
    generator = np.random.default_rng(seed)
    tokens, size = int(generator.integers(4, 9)), int(generator.integers(1, 4))
    weights, values = generator.dirichlet(np.ones(tokens)), generator.normal(size=(tokens, size)) * 10.0**seed
    top = int(weights.argmax())
    found = least(weights.tolist(), values.tolist(), top)
    if tokens <= size + 1:
        assert kept_directions(values).shape[1] == tokens
        return
    assert found is not None
    assert found[top] == pytest.approx(corners(weights, values, top), abs=1e-8)
    assert (found >= 0).all()
    assert is_same(weights, found, values)


@pytest.fixture(scope="module")
def found() -> Finding:
    (finding,) = hold([Unidentified()], tiny_subject(27))
    return finding


def test_against_rows_one_at_a_time(found: Finding) -> None:
    """The row of the first token, which decides; without sinks, which are told apart below."""
    (finding,) = hold([Unidentified(sink=1.0)], tiny_subject(27))
    subject = tiny_subject(27)
    model = subject.model
    assert isinstance(model, TinyLayers)
    for place, record in enumerate(finding.table.to_pylist()):
        batch = make_batch(subject.data, subject.rows[[place]])
        lost = []
        for site in model.heads:
            weights, values, _ = (part.numpy() for part in model.values_at(batch, site))
            for head in range(HEADS):
                own, of = weights[0, head, 0], values[0, head]
                top = int(own.argmax())
                free = len(own) > SIZE + 1
                expected = 1 - corners(own, of, top) / own[top] if free else 0
                lost.append(record[f"lost, {site} head {head}"])
                assert lost[-1] == pytest.approx(expected, abs=1e-6 if free else 0)
        assert record["mean_lost"] == pytest.approx(np.mean(lost))
        assert record["unidentified"] == pytest.approx(np.mean(np.array(lost) > 0.5))
        assert record["heads"] == 2 * HEADS
    assert max(finding.table["mean_lost"].to_pylist()) > 0.3


def test_short_texts_are_determined_and_long_ones_are_not(found: Finding) -> None:
    tokens, lost = (np.array(found.table[name].to_pylist()) for name in ("tokens", "mean_lost"))
    assert (lost[tokens <= 2] == 0).all()
    assert (lost[tokens == 9] > 0.3).all()


class Watching(TinyLayers):
    """Keeps the weights that it was given."""

    given: dict[str, list[tuple[Tensor, Tensor, Tensor]]]

    def changed(self, batch: Batch, change: Any, sites: Any = None) -> Tensor:
        def watched(site: str, weights: Tensor, allowed: Tensor) -> Tensor | None:
            new: Tensor | None = change(site, weights, allowed)
            if new is not None:
                self.given.setdefault(site, []).append((weights, new, self.values_at(batch, site)[1]))
            return new

        return super().changed(batch, watched, sites)


@pytest.mark.parametrize("options", SIDES)
def test_all_weights_that_the_model_gets_give_the_same_outputs(options: dict[str, Any]) -> None:
    subject = tiny_subject(18, **options)
    model = Watching(len(subject.data.vocabulary), **options)
    model.given = {}
    (finding,) = hold([Unidentified()], replace(subject, model=model))
    moved = 0
    for given in model.given.values():
        weights, new, values = given[-1]  # the first are those that look for the token that decides
        own, other = weights @ values, new @ values
        assert ((own - other).norm(dim=-1) <= TOLERANCE * own.norm(dim=-1) + 1e-300).all()
        assert (new >= 0).all()
        assert (new.sum(-1) - weights.sum(-1)).abs().max() < 1e-9
        rows = (new - weights).abs().amax(-1) > 0.1
        assert rows.any(1).sum(1).max() == 1  # one row of a text
        moved += int(rows.sum())
    assert moved > 10
    assert max(finding.table["logit_change"].to_pylist()) < 1e-12


@pytest.mark.parametrize(
    ("options", "decides"),
    [
        ({"pooled": "first"}, "first"),
        ({"pooled": "first", "left": True}, "first"),
        ({"pooled": "last", "causal": True}, "last"),
        ({"pooled": "last", "left": True}, "last"),
        ({"pooled": "mean"}, "none"),
    ],
)
def test_the_token_that_decides_is_found(options: dict[str, Any], decides: str) -> None:
    subject = tiny_subject(18, **options)
    assert isinstance(subject.model, TinyLayers)
    assert deciding_token(subject.model, make_batch(subject.data, subject.rows)) == decides
    (finding,) = hold([Unidentified()], subject)
    row = {"none": "No single token's row decides"}.get(decides, f"Rows are those of the {decides} token")
    assert finding.notes[0].startswith(row)


@pytest.mark.parametrize("options", SIDES)
def test_batches_and_sides_of_padding_change_nothing(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = hold([Unidentified()], tiny_subject(18, **options))
    (other_side,) = hold([Unidentified()], tiny_subject(18, **options | {"left": not options["left"]}))
    monkeypatch.setattr("attentest.trials.layers._WEIGHTS_AT_ONCE", 1)
    subject = tiny_subject(18, **options)
    (alone,) = hold([Unidentified()], replace(subject, rows=subject.rows[::-1]))
    for finding in (other_side, alone):
        for name in set(whole.table.column_names) - {"logit_change"}:
            values, expected = finding.table[name].to_pylist(), whole.table[name].to_pylist()
            near = pytest.approx(expected, abs=1e-6, nan_ok=True) if isinstance(values[0], float) else expected
            assert values == near, name


class Given(TinyLayers):
    """One layer whose weights and values are given outright; what decides is the first row."""

    row: list[float]
    others: list[float]
    along: list[float]

    @property
    def heads(self) -> dict[str, int]:
        return {"encoder.0": 1}

    def encode(self, batch: Batch) -> Encoded:
        return Encoded(self.words[batch.ids], batch.mask)

    def values_at(self, batch: Batch, site: str) -> tuple[Tensor, Tensor, Tensor]:
        tokens = len(self.row)
        weights = torch.tensor([self.row] + [self.others] * (tokens - 1), dtype=torch.float64)
        values = torch.tensor(self.along, dtype=torch.float64).unsqueeze(-1)
        return (
            weights.expand(len(batch), 1, -1, -1),
            values.expand(len(batch), 1, -1, -1),
            torch.ones(len(batch), 1, tokens, tokens, dtype=torch.bool),
        )

    def changed(self, batch: Batch, change: Any, sites: Any = None) -> Tensor:
        weights, values, allowed = self.values_at(batch, "encoder.0")
        new = change("encoder.0", weights, allowed)
        output = (weights if new is None else new) @ values
        return torch.cat((torch.zeros_like(output[:, 0, 0]), output[:, 0, 0]), 1)


def given(row: list[float], others: list[float], along: list[float]) -> Subject:
    subject = tiny_subject(9)
    long = subject.rows[subject.lengths == len(row)]
    model = Given(len(subject.data.vocabulary))
    model.row, model.others, model.along = row, others, along
    return replace(subject, model=model, rows=long)


EVEN = [0.25] * 4


@pytest.mark.parametrize(
    ("row", "others", "special", "sink", "lost"),
    [
        # values 0, 1, 2, 2 and the output .8: token 1 is the heaviest, 0 and 2 can carry it
        ([0.35, 0.5, 0.1, 0.05], EVEN, False, 0.3, 1.0),
        # the heaviest is special; the next is token 1, which can lose all
        ([0.5, 0.3, 0.1, 0.1], EVEN, True, 0.3, 1.0),
        # not special: the output .7 leaves .3 on it if all else is on token 1
        ([0.5, 0.3, 0.1, 0.1], EVEN, False, 0.3, 1 - 0.3 / 0.5),
        # the other rows give it .6, more than twice the even share of .25, so it is a sink at .3 and not at .65
        ([0.5, 0.3, 0.1, 0.1], [0.6, 0.2, 0.1, 0.1], False, 0.3, 1.0),
        ([0.5, 0.3, 0.1, 0.1], [0.6, 0.2, 0.1, 0.1], False, 0.65, 1 - 0.3 / 0.5),
        # they give it .45, which in a text of four tokens is not much
        ([0.5, 0.3, 0.1, 0.1], [0.45, 0.25, 0.2, 0.1], False, 0.3, 1 - 0.3 / 0.5),
        # token 3 has the value of token 2, which can take all
        ([0.1, 0.1, 0.1, 0.7], EVEN, False, 0.3, 1.0),
    ],
)
def test_whose_weight_is_taken(row: list[float], others: list[float], special: bool, sink: float, lost: float) -> None:
    subject = given(row, others, [0.0, 1.0, 2.0, 2.0])
    assert isinstance(subject.model, Given)
    subject.model.special_first = special
    (finding,) = hold([Unidentified(sink=sink)], subject)
    assert finding.table["lost, encoder.0 head 0"].to_pylist() == pytest.approx([lost], abs=1e-6)
    assert finding.summary["heads not identified"].value == float(lost > 0.5)


def test_a_text_with_nothing_to_take_weight_from_is_left_out() -> None:
    subject = tiny_subject(9)
    assert isinstance(subject.model, TinyLayers)
    subject.model.special_first = True
    (finding,) = hold([Unidentified()], subject)
    record, longer, *_ = finding.table.to_pylist()  # of one token and of two
    assert (record["heads"], longer["heads"]) == (0, 2 * HEADS)
    assert np.isnan([record["lost, encoder.0 head 0"], record["mean_lost"], record["unidentified"]]).all()
    assert finding.summary["heads not identified"].n == 8


def test_texts_whose_logits_change_after_all_are_left_out() -> None:
    class Rough(TinyLayers):
        def changed(self, batch: Batch, change: Any, sites: Any = None) -> Tensor:
            noise = 0.0 if sites is None or len(sites) == 1 else torch.rand(len(batch), 2)
            return super().changed(batch, change, sites) + noise

    subject = tiny_subject(9)
    (finding,) = hold([Unidentified()], replace(subject, model=Rough(len(subject.data.vocabulary))))
    assert finding.table["heads"].to_pylist() == [0] * 9
    assert finding.notes[-1].startswith("9 texts are left out: with the other weights a logit changes")
    assert finding.summary["heads not identified"].n == 0


def test_summary_and_charts(found: Finding) -> None:
    of_texts = np.array(found.table["unidentified"].to_pylist())
    assert found.summary["heads not identified"].value == pytest.approx(of_texts.mean())
    assert found.summary["texts with a head that is not identified"].value == pytest.approx((of_texts > 0).mean())
    assert set(Unidentified.keys.values()) <= set(found.summary)
    lost = np.array([found.table[f"lost, encoder.1 head {head}"].to_pylist() for head in range(HEADS)])
    assert found.summary["heads not identified, encoder.1"].value == pytest.approx((lost > 0.5).mean())
    by_layer, by_head = found.charts.values()
    assert [row["group"] for row in by_layer["data"]["values"]] == ["encoder.0", "encoder.1"]
    means = [row["value"] for row in by_head["data"]["values"][2:]]
    assert means == pytest.approx(lost.mean(1), rel=1e-3)
    assert all(found.svg(title).startswith("<svg") for title in found.charts)


def test_models_without_values_are_refused(run: attentest.Run) -> None:
    subject = subject_of(run, texts=5)
    assert not Unidentified().fits(subject)
    assert Unidentified().fits(tiny_subject(5))
    with pytest.raises(attentest.InputError, match="whose values are known; Classifier has none"):
        hold([Unidentified()], subject)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(attentest.InputError, match=r"needs scipy, .*attentest\[hf\]"):
        hold([make_trial("unidentified")], tiny_subject(5))
