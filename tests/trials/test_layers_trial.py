"""T16: weights of layers and heads replaced, against loops and models that have such weights by construction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from program import Program
from tiny_layers import HEADS, SIZE, TinyLayers, tiny_subject
from torch import Tensor

import attentest
from attentest.chance import keyed_uniform
from attentest.layer_interventions import KINDS, layer_change
from attentest.measures.intervals import share, share_difference
from attentest.text.batches import Batch, make_batch
from attentest.trials import Finding, hold, make_trial, subject_of
from attentest.trials.layers import Layers

SIDES: list[dict[str, Any]] = [
    {"left": False},
    {"left": True},
    {"left": True, "causal": True, "pooled": "last"},
    {"left": False, "causal": True, "pooled": "mean"},
]


@pytest.fixture(scope="module")
def found() -> Finding:
    (finding,) = hold([make_trial("layers", heads=list(KINDS))], tiny_subject(40))
    return finding


def seen_at(model: TinyLayers, batch: Batch, site: str = "encoder.0") -> tuple[Tensor, Tensor]:
    weights, _, allowed = model.values_at(batch, site)
    return weights, allowed


@pytest.mark.parametrize("options", SIDES)
def test_rows_of_each_kind(options: dict[str, Any]) -> None:
    subject = tiny_subject(9, **options)
    batch = make_batch(subject.data, subject.rows)
    weights, allowed = seen_at(subject.model, batch)  # type: ignore[arg-type]
    for kind in KINDS:
        new = layer_change(kind, batch.rows, 7)("encoder.0", weights, allowed)
        assert new is not None
        moved = 0
        for text, head, query in np.ndindex(*weights.shape[:3]):
            own, other = weights[text, head, query], new[text, head, query]
            keys = allowed[text, head, query]
            assert (other[~keys] == 0).all()
            if not keys.any():  # padding
                assert torch.equal(own, other)
                continue
            assert float(other.sum()) == pytest.approx(1)
            moved += not torch.allclose(own, other)
            if kind == "uniform":
                assert torch.allclose(other[keys], torch.full_like(other[keys], 1 / int(keys.sum())))
            if kind == "permuted":
                assert torch.allclose(own.sort().values, other.sort().values)
        assert moved > 20


@pytest.mark.parametrize("options", SIDES)
def test_draws_against_a_loop_over_texts_heads_queries_and_keys(options: dict[str, Any]) -> None:
    """Queries and keys are counted among the real ones; the n-th pair of them is the n-th draw of its text."""
    subject = tiny_subject(9, **options)
    batch = make_batch(subject.data, subject.rows)
    weights, allowed = seen_at(subject.model, batch)  # type: ignore[arg-type]
    given = layer_change("random", batch.rows, 7)("encoder.0", weights, allowed)
    shuffled = layer_change("permuted", batch.rows, 7)("encoder.0", weights, allowed)
    assert given is not None
    assert shuffled is not None

    def draw(kind: str, text: int, head: int, query: int, key: int) -> float:
        number = key * key + query if query < key else query * query + query + key
        purpose = f"{kind} weights, encoder.0, head {head}"
        return 1 - float(keyed_uniform(7, purpose, batch.rows[[text]], number + 1)[0, number])

    for text, head in np.ndindex(*weights.shape[:2]):
        real = [q for q in range(weights.shape[2]) if allowed[text, head, q, q]]
        for number, query in enumerate(real):
            keys = [k for k in range(weights.shape[3]) if allowed[text, head, query, k]]
            drawn = np.array([draw("random", text, head, number, n) for n in range(len(keys))])
            assert given[text, head, query, keys].numpy() == pytest.approx(drawn / drawn.sum())
            order = np.argsort([draw("permuted", text, head, number, n) for n in range(len(keys))])
            expected = weights[text, head, query, keys][order]
            assert torch.equal(shuffled[text, head, query, keys], expected)


def test_permutations_are_uniform() -> None:
    """Of three keys, each order about as often: with 12,000 rows, 2,000 ± 5 standard deviations of 41."""
    texts = np.arange(4000)
    weights = torch.tensor([0.5, 0.3, 0.2]).expand(4000, 1, 3, 3)
    new = layer_change("permuted", texts, 1)("a", weights, torch.ones_like(weights, dtype=torch.bool))
    assert new is not None
    _, counts = np.unique(new.flatten(0, 2).numpy(), axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 2000).max() < 5 * 41


def test_sites_heads_and_seeds_have_their_own_draws() -> None:
    weights, rows = torch.full((2, 2, 6, 6), 1 / 6), np.arange(2)
    allowed = torch.ones_like(weights, dtype=torch.bool)
    one, site, seed = (
        layer_change("random", rows, seed)(at, weights, allowed) for at, seed in (("a", 0), ("b", 0), ("a", 1))
    )
    assert one is not None
    for other in (site, seed, one.flip(0), one.flip(1), one.flip(2)):
        assert other is not None
        assert (one - other).abs().max() > 0.01


def test_a_single_head_changes_alone() -> None:
    weights = torch.rand(2, 3, 4, 4).softmax(-1)
    allowed = torch.ones_like(weights, dtype=torch.bool)
    for kind in KINDS:
        both = (layer_change(kind, np.arange(2), 0, head)("a", weights, allowed) for head in (None, 1))
        whole, one = both
        assert whole is not None
        assert one is not None
        assert torch.equal(one[:, 1], whole[:, 1])
        assert torch.equal(one[:, [0, 2]], weights[:, [0, 2]])


@pytest.mark.parametrize("head", [None, 0, 1])
@pytest.mark.parametrize("sites", [("encoder.0",), ("encoder.1",), ("encoder.0", "encoder.1")])
def test_uniform_weights_are_those_of_zeroed_queries(sites: tuple[str, ...], head: int | None) -> None:
    subject = tiny_subject(20)
    batch = make_batch(subject.data, subject.rows)
    model = subject.model
    assert isinstance(model, TinyLayers)
    changed = model.changed(batch, layer_change("uniform", batch.rows, 0, head), sites)
    columns = slice(None) if head is None else slice(head * SIZE, (head + 1) * SIZE)
    for site in sites:
        model.layers[int(site[-1])]["query"][:, columns] = 0
    expected = model.decode(encoded := model.encode(batch), model.attend(encoded))
    assert (changed - expected).abs().max() < 1e-12
    assert (changed - tiny_subject(20).model.changed(batch, lambda *_: None)).abs().max() > 1e-3  # type: ignore[attr-defined]


def test_predictions_and_changes_against_texts_one_at_a_time(found: Finding) -> None:
    """Each text alone, without padding, with the weights of each site put in by hand."""
    subject = tiny_subject(40)
    model, rows = subject.model, found.table.to_pylist()
    assert isinstance(model, TinyLayers)
    spans = {
        "encoder.0": ["encoder.0"],
        "encoder.1": ["encoder.1"],
        "encoder.0 to encoder.1": ["encoder.0", "encoder.1"],
    }
    for row in subject.rows[::5]:
        batch = make_batch(subject.data, np.array([row]))
        before = model.changed(batch, lambda *_: None).softmax(-1)
        for kind in KINDS:
            for span, sites in spans.items():
                logits = model.changed(batch, layer_change(kind, batch.rows, 0), sites)
                assert rows[row][f"predicted, {kind}, {span}"] == subject.classes[int(logits.argmax())]
                moved = float((logits.softmax(-1) - before).abs().sum() / 2)
                assert rows[row][f"tvd, {kind}, {span}"] == pytest.approx(moved, abs=1e-12)


def test_the_summary_is_made_of_the_table(found: Finding) -> None:
    columns = {name: np.array(found.table[name].to_pylist()) for name in found.table.column_names}
    label, before = columns["label"], columns["predicted"]
    names = {"1 from below": "encoder.0", "1 from above": "encoder.1", "encoder.0": "encoder.0"}
    names |= dict.fromkeys(("2 from below", "2 from above", "all layers"), "encoder.0 to encoder.1")
    names |= {f"encoder.{n} head {h}": f"encoder.{n} head {h}" for n in range(2) for h in range(HEADS)}
    assert found.summary["accuracy"] == share(label == before)
    for kind in KINDS:
        for name, span in names.items():
            after = columns[f"predicted, {kind}, {span}"]
            assert found.summary[f"accuracy, {kind}, {name}"] == share(after == label)
            assert found.summary[f"decisions changed, {kind}, {name}"] == share(after != before)
            moved = columns[f"tvd, {kind}, {span}"].mean()
            assert found.summary[f"mean TVD, {kind}, {name}"].value == pytest.approx(moved)
    whole = columns["predicted, permuted, encoder.0 to encoder.1"] == label
    assert found.number == found.summary["difference, permuted, all layers"] == share_difference(whole, label == before)
    assert found.answer.startswith("With permuted weights in all layers the accuracy is ")


@pytest.mark.parametrize("options", SIDES)
def test_batches_and_sides_of_padding_change_nothing(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    trial = make_trial("layers", heads=["permuted"])
    (whole,) = hold([trial], tiny_subject(20, **options))
    (other_side,) = hold([trial], tiny_subject(20, **options | {"left": not options["left"]}))
    monkeypatch.setattr("attentest.trials.layers._WEIGHTS_AT_ONCE", 1)  # a text at a time
    subject = tiny_subject(20, **options)
    (alone,) = hold([trial], replace(subject, rows=subject.rows[::-1]))
    for finding in (other_side, alone):
        for name in whole.table.column_names:
            values, expected = finding.table[name].to_pylist(), whole.table[name].to_pylist()
            assert values == (pytest.approx(expected, abs=1e-12) if isinstance(values[0], float) else expected), name


def test_weights_over_equal_values_do_not_matter() -> None:
    subject = tiny_subject(20)
    assert isinstance(subject.model, TinyLayers)
    for layer in subject.model.layers:
        layer["value"][:] = 0
    (finding,) = hold([Layers()], subject)
    for name, estimate in finding.summary.items():
        if name.startswith(("mean TVD", "decisions changed", "difference")):
            assert estimate.value == pytest.approx(0, abs=1e-12), name


def test_stacks_of_layers_are_counted_apart() -> None:
    class Two(TinyLayers):
        @property
        def heads(self) -> dict[str, int]:
            return {"encoder.0": HEADS, "decoder.0": HEADS}

    subject = tiny_subject(10)
    subject = replace(subject, model=Two(len(subject.data.vocabulary)))
    (finding,) = hold([Layers(heads=())], subject)
    assert "accuracy, permuted, 1 from below of encoder" in finding.summary
    assert "accuracy, permuted, 1 from above of decoder" in finding.summary
    assert "accuracy, permuted, 2 from below of encoder" not in finding.summary
    assert not any("head" in name for name in finding.summary)
    assert "accuracy by layers changed from below, decoder" in finding.charts


def test_curves_begin_at_the_accuracy_of_the_model(found: Finding) -> None:
    for direction in ("below", "above"):
        curve = found.charts[f"accuracy by layers changed from {direction}"]
        rows = curve["data"]["values"]
        assert [(row["series"], row["x"]) for row in rows] == [(kind, n) for kind in KINDS for n in range(3)]
        for row in rows:
            name = f"accuracy, {row['series']}, {row['x']} from {direction}"
            estimate = found.summary[name if row["x"] else "accuracy"]
            limits = (estimate.value, estimate.low, estimate.high)
            assert (row["value"], row["low"], row["high"]) == pytest.approx(limits, rel=1e-3, abs=1e-9)
        assert curve["layer"][0]["mark"]["type"] == "area"
    layers = found.charts["decisions changed by single layers"]["data"]["values"]
    assert [(row["layer"], row["weights"]) for row in layers] == [(f"encoder.{n}", k) for k in KINDS for n in (0, 1)]
    for kind in KINDS:
        heads = found.charts[f"decisions changed by single heads, {kind}"]["data"]["values"]
        assert [(row["layer"], row["head"]) for row in heads] == [(f"encoder.{n}", h) for n in (0, 1) for h in "01"]
    assert all(found.svg(title).startswith("<svg") for title in found.charts)


def test_charts_of_a_damaged_summary_leave_out_what_they_cannot_read(found: Finding) -> None:
    figure = found.summary["accuracy"]
    hostile = {
        "accuracy": figure,
        f"accuracy, permuted, {'9' * 5000} from below": figure,
        "decisions changed, x, y": figure,
    }
    assert Layers.charts(found.table, hostile) == {}


def test_models_without_layers_are_refused(run: attentest.Run, command: Program) -> None:
    subject = subject_of(run, texts=5)
    assert not Layers().fits(subject)
    assert Layers().fits(tiny_subject(5))
    with pytest.raises(attentest.InputError, match="needs a model with layers of self-attention; Classifier has none"):
        hold([Layers()], subject)
    assert command("trial", "layers", str(run.path)).code == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kinds": ["permutd"]}, "did you mean 'permuted'"),
        ({"kinds": []}, "at least one"),
        ({"seed": -1}, "at least 0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(attentest.InputError, match=message):
        make_trial("layers", **settings)
