"""Fine-tuning: a pretrained encoder is trained, stored, taken up again and examined like any other model."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import corpus, save_classifier, save_encoder

import attentest
from attentest.text.batches import make_batch
from attentest.training import Listener, frozen
from attentest.training.encoder import hash_of_base
from attentest.training.folder import FILES
from attentest.training.predict import predict
from attentest.training.results import check_results
from attentest.training.tensors import read_tensors, write_tensors

QUICK: dict[str, Any] = {"epochs": 2, "lr": 5e-3}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("bases") / "bert")


@pytest.fixture(scope="module")
def tuned(base: Path, tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """For reading only."""
    return attentest.finetune(corpus(), base, tmp_path_factory.mktemp("runs") / "bert", **QUICK)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


def weights(run: attentest.Run) -> dict[str, torch.Tensor]:
    return read_tensors(run.path / "model.safetensors").tensors


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_learns_what_decides(kind: str, tmp_path: Path) -> None:
    run = attentest.finetune(
        corpus(200), save_encoder(tmp_path / kind, kind), epochs=10, lr=1e-2, patience=None, select_by="loss"
    )
    losses = run.history["loss"].to_pylist()
    assert losses[-1] < 0.6 * losses[0]
    assert run.metrics["auc"] > 0.75


def test_a_run_needs_neither_its_base_nor_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = save_encoder(tmp_path / "base")
    texts = corpus()
    attentest.finetune(texts, base, tmp_path / "run", **QUICK)
    shutil.rmtree(base)
    moved = attentest.open_run(shutil.move(tmp_path / "run", tmp_path / "elsewhere"))
    monkeypatch.setattr("socket.socket", lambda *_, **__: pytest.fail("asked the network"))
    data = moved.test_data()
    found = predict(moved.model, data, np.arange(len(data.rows)))
    said = np.array(moved.predictions["probability"].to_pylist())
    assert np.abs(found.probabilities - said).max() <= 1e-6
    shown = moved.attention["weight"].to_pylist()
    assert all(np.allclose(own, stored, atol=1e-6) for own, stored in zip(found.weights, shown, strict=True))
    assert set(contents(moved.path)) >= {"pretrained/config.json", "pretrained/tokenizer.json", "layout.json"}
    assert "vocabulary.json" not in contents(moved.path)
    assert not any(str(tmp_path / "base") in str(value) for value in moved.settings["model"].values())


def test_defaults_are_those_of_fine_tuning(tuned: attentest.Run) -> None:
    training = tuned.record.training
    assert (training.batch_size, training.weight_decay, training.warmup) == (16, 0.01, 0.1)
    assert (training.class_weights, training.select_by, training.patience) == (False, "accuracy", 2)
    assert tuned.record.model.pretrained == "bert"


def test_same_seed_same_bytes_and_other_seed_other_weights(base: Path, tuned: attentest.Run, tmp_path: Path) -> None:
    again = attentest.finetune(corpus(), base, tmp_path / "again", **QUICK)
    other = attentest.finetune(corpus(), base, tmp_path / "other", seed=1, **QUICK)
    assert contents(again.path) == contents(tuned.path)
    head = "network.classifier.weight"
    assert not torch.equal(weights(other)[head], weights(tuned)[head])


@pytest.mark.parametrize("freeze_layers", [0, 1])
def test_a_stopped_training_goes_on_to_the_same_bytes(base: Path, tmp_path: Path, freeze_layers: int) -> None:
    class Stop(Listener):
        def progress(self, stage: str, done: int, total: int) -> None:
            if stage == "train" and done == 2 * total // 3:
                raise KeyboardInterrupt

    settings: dict[str, Any] = {"epochs": 3, "lr": 5e-3, "warmup": 0.4, "freeze_layers": freeze_layers}
    whole = attentest.finetune(corpus(), base, tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        attentest.finetune(corpus(), base, tmp_path / "stopped", listener=Stop(), **settings)
    assert not attentest.open_run(tmp_path / "stopped").finished
    resumed = attentest.finetune(corpus(), base, tmp_path / "stopped", **settings)
    assert contents(resumed.path) == contents(whole.path)


class Notes(Listener):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_a_run_is_known_by_its_encoder_and_not_by_where_that_lies(tmp_path: Path) -> None:
    first = save_encoder(tmp_path / "first")
    same = Path(shutil.copytree(first, tmp_path / "same"))
    (same / "README.md").write_text("about it")
    other = save_encoder(tmp_path / "other", seed=1)
    assert hash_of_base(str(first)) == hash_of_base(str(same)) != hash_of_base(str(other))
    attentest.finetune(corpus(), first, tmp_path / "run", **QUICK)
    heard = Notes()
    attentest.finetune(corpus(), same, tmp_path / "run", listener=heard, **QUICK)
    assert any("nothing was trained" in said for said in heard.said)
    with pytest.raises(attentest.InputError, match="already holds another run"):
        attentest.finetune(corpus(), other, tmp_path / "run", **QUICK)


def test_any_change_of_weights_config_or_tokenizer_is_another_encoder(base: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        changed = Path(shutil.copytree(base, tmp_path / name))
        (changed / name).write_bytes((changed / name).read_bytes() + b" ")
        assert hash_of_base(str(changed)) != hash_of_base(str(base)), name


def test_uniform_weights_in_every_layer_in_training_and_after(base: Path, tmp_path: Path) -> None:
    run = attentest.finetune(corpus(), base, tmp_path / "uniform", projection="uniform", **QUICK)
    for row in run.attention["weight"].to_pylist():
        assert row == pytest.approx([1 / len(row)] * len(row), abs=1e-6)
    start = read_tensors(base / "model.safetensors").tensors
    trained = weights(run)
    for layer in (0, 1):  # queries have no part in uniform weights, so nothing moves them; values have
        inner = f"encoder.layer.{layer}.attention.self"
        assert torch.equal(trained[f"network.bert.{inner}.query.weight"], start[f"{inner}.query.weight"])
        assert not torch.equal(trained[f"network.bert.{inner}.value.weight"], start[f"{inner}.value.weight"])
    data = run.test_data()
    model = run.model
    batch = make_batch(data, np.arange(4))
    with torch.no_grad():
        own = model(batch)[0]
        model.network.bert.encoder.layer[0].attention.self.query.weight.mul_(-3)  # type: ignore[union-attr, index]
        assert torch.equal(model(batch)[0], own)


def apart(first: attentest.Run, second: attentest.Run) -> float:
    """But for the biases of keys: no softmax depends on them, so their gradient is rounding, which Adam makes large."""
    one, two = weights(first), weights(second)
    real = [name for name in one if not name.endswith(("key.bias", "k_lin.bias"))]
    return max(float((one[name] - two[name]).abs().max()) for name in real)


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
@pytest.mark.parametrize("count", [1, 2])
def test_kept_states_train_as_running_the_frozen_layers_does(
    kind: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = save_encoder(tmp_path / "base", kind)
    settings = {**QUICK, "freeze_layers": count}
    kept = attentest.finetune(corpus(), base, tmp_path / "kept", **settings)
    monkeypatch.setattr(frozen, "IN_MEMORY", 0)
    on_disk = attentest.finetune(corpus(), base, tmp_path / "on disk", **settings)
    freeze = frozen.freeze
    monkeypatch.setattr(
        "attentest.training.train_model.freeze",
        lambda *given: replace(freeze(*given), kept=0),
    )
    run_again = attentest.finetune(corpus(), base, tmp_path / "run again", **settings)
    assert apart(kept, run_again) <= 1e-5
    assert apart(kept, on_disk) == 0
    assert {file.name for file in on_disk.path.iterdir()} == {file.name for file in kept.path.iterdir()}


def test_frozen_layers_stay_and_the_others_move(base: Path, tmp_path: Path) -> None:
    run = attentest.finetune(corpus(), base, tmp_path / "run", freeze_layers=1, **QUICK)
    start, trained = read_tensors(base / "model.safetensors").tensors, weights(run)
    for name, value in start.items():
        stays = name.startswith(("embeddings.", "encoder.layer.0."))
        if stays or name.startswith("encoder.layer.1."):
            assert torch.equal(trained[f"network.bert.{name}"], value) == stays, name


def test_states_in_a_file_are_gone_after_an_error_too(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Listener):
        def progress(self, stage: str, done: int, total: int) -> None:
            if stage == "train":
                assert any(file.name.startswith(".states") for file in (tmp_path / "run").iterdir())
                raise KeyboardInterrupt

    monkeypatch.setattr(frozen, "IN_MEMORY", 0)
    with pytest.raises(KeyboardInterrupt):
        attentest.finetune(corpus(), base, tmp_path / "run", freeze_layers=1, listener=Stop(), **QUICK)
    assert not any("states" in file.name for file in (tmp_path / "run").iterdir())


def test_more_layers_than_there_are_cannot_be_frozen(base: Path, tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="freeze_layers is 3, and the encoder has 2 layers"):
        attentest.finetune(corpus(), base, tmp_path / "run", freeze_layers=3)
    assert not (tmp_path / "run" / "run.json").exists()


def test_an_adversary_moves_the_weights_of_an_encoder(base: Path, tuned: attentest.Run, tmp_path: Path) -> None:
    adversary = attentest.train(
        corpus(),
        tmp_path / "adversary",
        pretrained=str(base),
        start=tuned,
        base=tuned,
        objective="adversary",
        strength=1.0,
        epochs=4,
        lr=5e-3,
        select_by="loss",
    )
    assert adversary.dev["jsd"] > 0.02
    sizes = [len(row) for row in adversary.attention["weight"].to_pylist()]
    assert sizes == [len(row) for row in tuned.attention["weight"].to_pylist()]


def test_pairs_are_read_as_one(tmp_path: Path) -> None:
    run = attentest.finetune(corpus(pairs=True), save_encoder(tmp_path / "base"), tmp_path / "run", **QUICK)
    assert run.kind == "pair"
    data = run.test_data()
    assert data.sentences is not None
    assert set(data.sentences) == {0, 1}


def test_a_head_for_other_classes_is_replaced(tmp_path: Path) -> None:
    base = save_classifier(tmp_path / "base", labels=("a", "b", "c"))
    run = attentest.finetune(corpus(), base, tmp_path / "run", **QUICK)
    assert len(weights(run)["network.classifier.bias"]) == 2


def test_trials_are_held_on_it(tuned: attentest.Run) -> None:
    found = tuned.trial("permutation", texts=8, permutations=3)
    assert 0 <= found.summary["mean of median TVD"].value <= 1


@pytest.mark.parametrize("name", ["pretrained/config.json", "pretrained/tokenizer.json", "layout.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", None])
def test_a_damaged_folder_is_told(name: str, content: bytes | None, tuned: attentest.Run, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(tuned.path, tmp_path / "run"))
    (mine / name).unlink() if content is None else (mine / name).write_bytes(content)
    with pytest.raises(attentest.InputError, match=Path(name).name):
        attentest.open_run(mine).trial("uniform", texts=4)
    with pytest.raises(attentest.InputError, match=Path(name).name):
        check_results(mine)


def test_tensors_with_two_names_are_stored(tmp_path: Path) -> None:
    tied = torch.arange(6.0).reshape(2, 3)
    write_tensors(tmp_path / "tied.safetensors", {"shared": tied, "decoder": tied, "other": tied + 1})
    found = read_tensors(tmp_path / "tied.safetensors")
    found.expect_unchanged()
    assert torch.equal(found.tensors["shared"], tied)
    assert torch.equal(found.tensors["decoder"], tied)
