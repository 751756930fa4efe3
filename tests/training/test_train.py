"""Training: same seed same bytes, kills lose nothing, folders are respected, results are whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import attentest
from attentest.training.folder import FILES
from attentest.training.tensors import read_tensors

TINY: dict[str, Any] = {"dimension": 16, "hidden": 8}


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


def test_learns_the_planted_rule() -> None:
    corpus = attentest.load("planted", rows=1200)
    assert attentest.train(corpus, epochs=8, dimension=64, hidden=32).metrics["accuracy"] > 0.95


def test_without_context_the_weight_goes_to_the_planted_reason() -> None:
    corpus = attentest.load("planted", rows=1200)
    run = attentest.train(corpus, encoder="average", epochs=12, dimension=64, hidden=32)
    weight_on_reason = [
        np.dot(row["weight"], row["rationale"]) / np.mean(row["rationale"]) for row in run.attention.to_pylist()
    ]
    assert np.mean(weight_on_reason) > 2  # 1 is what uniform weights would give


def test_same_seed_same_bytes_and_other_seed_other_weights(corpus: attentest.Corpus, tmp_path: Path) -> None:
    first = attentest.train(corpus, tmp_path / "a", epochs=2, seed=5, **TINY)
    second = attentest.train(corpus, tmp_path / "b", epochs=2, seed=5, **TINY)
    other = attentest.train(corpus, tmp_path / "c", epochs=2, seed=6, **TINY)
    assert contents(first.path) == contents(second.path)
    assert contents(first.path)["model.safetensors"] != contents(other.path)["model.safetensors"]


@pytest.mark.parametrize("projection", ["softmax", "gumbel-softmax", "shuffled"])
def test_a_stopped_training_goes_on_to_the_same_bytes(
    corpus: attentest.Corpus, tmp_path: Path, projection: str
) -> None:
    class Stop(attentest.training.Listener):
        def progress(self, stage: str, done: int, total: int) -> None:
            if stage == "train" and done == total // 2:
                raise KeyboardInterrupt

    settings = {"epochs": 3, "projection": projection, **TINY}
    whole = attentest.train(corpus, tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        attentest.train(corpus, tmp_path / "stopped", listener=Stop(), **settings)
    assert not attentest.open_run(tmp_path / "stopped").finished
    resumed = attentest.train(corpus, tmp_path / "stopped", **settings)
    assert contents(resumed.path) == contents(whole.path)


_TRAIN = """
import sys, attentest
attentest.train(attentest.load("planted", rows=300), sys.argv[1], epochs=60, dimension=16, hidden=8)
"""


def test_sigkill_at_any_moment_loses_nothing_finished(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train = [sys.executable, "-c", _TRAIN]
    subprocess.run([*train, str(whole)], check=True)
    for _ in range(3):
        process = subprocess.Popen([*train, str(killed)])
        checkpoint = killed / "checkpoint.safetensors"
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                break
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (killed / "result.json").exists()
    subprocess.run([*train, str(killed)], check=True)
    assert contents(killed) == contents(whole)


def test_finished_run_is_not_trained_again(corpus: attentest.Corpus, run: attentest.Run) -> None:
    before = {name: (run.path / name).stat().st_mtime_ns for name in contents(run.path)}
    again = attentest.train(corpus, run.path, epochs=2, seed=3, **TINY)
    assert {name: (again.path / name).stat().st_mtime_ns for name in contents(again.path)} == before


def test_another_run_is_refused_unless_overwritten(corpus: attentest.Corpus, tmp_path: Path) -> None:
    attentest.train(corpus, tmp_path / "r", epochs=1, **TINY)
    (tmp_path / "r" / "notes.txt").write_text("mine")
    with pytest.raises(attentest.InputError, match="already holds another run"):
        attentest.train(corpus, tmp_path / "r", epochs=1, encoder="average", **TINY)
    run = attentest.train(corpus, tmp_path / "r", epochs=1, encoder="average", overwrite=True, **TINY)
    assert run.settings["model"]["encoder"] == "average"
    assert (tmp_path / "r" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_is_no_run_is_never_written_to(corpus: attentest.Corpus, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(attentest.InputError, match="not a run"):
        attentest.train(corpus, tmp_path, epochs=1, overwrite=True, **TINY)
    file = tmp_path / "thesis.txt"
    with pytest.raises(attentest.InputError, match="is a file"):
        attentest.train(corpus, file, epochs=1, **TINY)
    assert file.read_text(encoding="utf-8") == "precious"


def test_leftover_drafts_of_a_killed_process_do_not_claim_a_folder(corpus: attentest.Corpus, tmp_path: Path) -> None:
    (tmp_path / ".run.json.123.attentest").write_text("{")
    assert attentest.train(corpus, tmp_path, epochs=1, **TINY).finished


def test_results_are_tables_that_agree(run: attentest.Run, corpus: attentest.Corpus) -> None:
    predictions, attention = run.predictions.to_pylist(), run.attention.to_pylist()
    test = [row for row in corpus.table.to_pylist() if row["split"] == "test"]
    assert [row["id"] for row in predictions] == [row["id"] for row in attention] == [row["id"] for row in test]
    for row, weights, source in zip(predictions, attention, test, strict=True):
        assert row["text"] == source["text"]
        assert row["label"] == corpus.classes[source["label"]]
        assert sum(row["probability"]) == pytest.approx(1, abs=1e-6)
        assert row["predicted"] == run.classes[int(np.argmax(row["probability"]))]
        assert sum(weights["weight"]) == pytest.approx(1, abs=1e-5)
        assert [source["text"][s:e] for s, e in zip(weights["start"], weights["end"], strict=True)] == weights["token"]
        assert weights["rationale"] == source["rationale"]  # planted texts are one token a word
    accuracy = np.mean([row["label"] == row["predicted"] for row in predictions])
    table = pq.read_table(run.path / "metrics.parquet").to_pylist()
    stored = {(row["split"], row["metric"]): row["value"] for row in table}
    assert stored["test", "accuracy"] == run.metrics["accuracy"] == pytest.approx(accuracy)
    assert set(stored) == {(split, metric) for split in ("dev", "test") for metric in ("accuracy", "f1", "auc")}


def test_best_epoch_is_kept(run: attentest.Run) -> None:
    history = run.history.to_pylist()
    best = max(history, key=lambda row: row["score"])
    table = pq.read_table(run.path / "metrics.parquet").to_pylist()
    dev = {row["metric"]: row["value"] for row in table if row["split"] == "dev"}
    assert dev["auc"] == best["auc"] == best["score"]


def test_reopened_model_says_the_same(run: attentest.Run) -> None:
    again = attentest.open_run(run.path)
    rows = again.predictions.to_pylist()[:5]
    found = again.attend([row["text"] for row in rows])
    for heatmap, row, stored in zip(found, rows, again.attention.to_pylist(), strict=False):
        assert heatmap.probabilities == pytest.approx(row["probability"], abs=1e-6)
        assert heatmap.weights == pytest.approx(stored["weight"], abs=1e-6)


def test_preset_takes_the_weights_of_the_guide(corpus: attentest.Corpus, run: attentest.Run) -> None:
    guided = attentest.train(corpus, epochs=1, encoder="average", projection="preset", preset=run, **TINY)
    ours, theirs = guided.attention["weight"].to_pylist(), run.attention["weight"].to_pylist()
    assert all(a == pytest.approx(b, abs=1e-6) for a, b in zip(ours, theirs, strict=True))
    with pytest.raises(attentest.InputError, match="go together"):
        attentest.train(corpus, epochs=1, projection="preset", **TINY)
    with pytest.raises(attentest.InputError, match="same text settings"):
        attentest.train(corpus, epochs=1, projection="preset", preset=run, max_tokens=5, **TINY)


def test_uniform_weights_are_uniform(corpus: attentest.Corpus) -> None:
    run = attentest.train(corpus, epochs=1, projection="uniform", **TINY)
    for weights in run.attention["weight"].to_pylist():
        assert weights == pytest.approx([1 / len(weights)] * len(weights))


def test_frozen_vectors_stay_and_classes_may_be_many() -> None:
    corpus = attentest.load("planted", rows=300, classes=4)
    start = attentest.train(corpus, epochs=1, train_vectors=False, **TINY)
    later = attentest.train(corpus, epochs=3, train_vectors=False, **TINY)
    vectors = [read_tensors(r.path / "model.safetensors").tensors["embedding.weight"] for r in (start, later)]
    assert bool((vectors[0] == vectors[1]).all())
    assert len(later.predictions["probability"][0].as_py()) == 4


def test_class_weights_are_the_papers() -> None:
    from attentest.training.fit import class_weights

    labels = np.array([0] * 6 + [1] * 2)  # JW: neg/pos = 3 for the positive class
    assert class_weights(labels, 2, True).tolist() == [1.0, 3.0]
    assert class_weights(labels, 2, False).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"encoder": "bilstn"}, "did you mean 'bilstm'"),
        ({"alignment": "aditive"}, "did you mean 'additive'"),
        ({"projection": "sofmax"}, "did you mean 'softmax'"),
        ({"projection": "sparsegen:1"}, "less than 1"),
        ({"self_projection": "uniform"}, "Unknown self_projection 'uniform'"),
        ({"encodr": "cnn"}, "did you mean 'encoder'"),
        ({"epochs": 0}, "at least 1"),
        ({"lr": -1.0}, "above 0"),
        ({"select_by": "accurate"}, "did you mean 'accuracy'"),
        ({"digits": "zero"}, "Unknown digits 'zero'"),
        ({"max_tokens": 2, "min_tokens": 5}, "less than min_tokens"),
        ({"device": "tpu"}, "auto, cpu or cuda"),
        ({"lr": 1e30, "epochs": 1}, "diverged"),
    ],
)
def test_bad_settings_get_a_sentence(
    corpus: attentest.Corpus, tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        attentest.train(corpus, tmp_path / "r", **(TINY | settings))


def test_corpora_that_cannot_be_trained_on() -> None:
    pairs = attentest.load("babi1-generated", rows=200)
    translated = replace(pairs, kind="generation", classes=())
    with pytest.raises(attentest.InputError, match="generation corpus"):
        attentest.train(translated)


def test_overwriting_loses_nothing_until_the_new_run_can_begin(corpus: attentest.Corpus, tmp_path: Path) -> None:
    run = attentest.train(corpus, tmp_path, epochs=1, **TINY)
    before = contents(run.path)
    for wrong in ({"vectors": "glov"}, {"min_tokens": 500, "max_tokens": 600}):
        with pytest.raises(attentest.InputError):
            attentest.train(corpus, tmp_path, epochs=1, overwrite=True, **(TINY | wrong))
        assert contents(run.path) == before


def test_a_training_that_never_finished_an_epoch_can_be_corrected(corpus: attentest.Corpus, tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="diverged"):
        attentest.train(corpus, tmp_path, epochs=1, lr=1e30, **TINY)
    assert attentest.train(corpus, tmp_path, epochs=1, lr=1e-3, **TINY).finished


def test_overwrite_goes_on_with_its_own_unfinished_training(corpus: attentest.Corpus, tmp_path: Path) -> None:
    class Stop(attentest.training.Listener):
        def progress(self, stage: str, done: int, total: int) -> None:
            if stage == "train" and done == total - 1:
                raise KeyboardInterrupt

    class Hear(attentest.training.Listener):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def note(self, sentence: str) -> None:
            self.heard.append(sentence)

    with pytest.raises(KeyboardInterrupt):
        attentest.train(corpus, tmp_path, epochs=2, listener=Stop(), overwrite=True, **TINY)
    hear = Hear()
    attentest.train(corpus, tmp_path, epochs=2, listener=hear, overwrite=True, **TINY)
    assert any("Resumed after epoch 1" in sentence for sentence in hear.heard)


def test_one_training_at_a_time_writes_to_a_folder(corpus: attentest.Corpus, tmp_path: Path) -> None:
    from attentest.training.claim import exclusive

    with exclusive(tmp_path / "r"), pytest.raises(attentest.InputError, match="Another training writes"):
        attentest.train(corpus, tmp_path / "r", epochs=1, **TINY)
    assert attentest.train(corpus, tmp_path / "r", epochs=1, **TINY).finished


def test_another_tools_files_are_not_a_run(corpus: attentest.Corpus, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"tool": "other"}')
    with pytest.raises(attentest.InputError, match="not a run"):
        attentest.train(corpus, tmp_path, epochs=1, overwrite=True, **TINY)
    assert (tmp_path / "run.json").exists()


def test_a_guide_is_known_by_its_weights(corpus: attentest.Corpus, run: attentest.Run, tmp_path: Path) -> None:
    guided = {"epochs": 1, "encoder": "average", "projection": "preset", **TINY}
    first = attentest.train(corpus, tmp_path / "g", preset=run, **guided)
    moved = shutil.copytree(run.path, tmp_path / "moved")
    assert attentest.train(corpus, tmp_path / "g", preset=moved, **guided).finished  # the same weights elsewhere
    other = attentest.train(corpus, epochs=1, seed=9, **TINY)
    with pytest.raises(attentest.InputError, match="another run"):
        attentest.train(corpus, tmp_path / "g", preset=other, **guided)
    with pytest.raises(attentest.InputError, match="uses fixed attention weights"):
        attentest.train(corpus, preset=first, **guided)
    with pytest.raises(attentest.InputError, match="fixed weights for its own corpus"):
        first.attend("a text")


def test_attention_can_be_frozen_by_its_learning_rate(corpus: attentest.Corpus) -> None:
    runs = [attentest.train(corpus, epochs=n, attention_lr=0.0, **TINY) for n in (1, 2)]
    first, second = (read_tensors(r.path / "model.safetensors").tensors for r in runs)
    assert bool((first["alignment.inner.weight"] == second["alignment.inner.weight"]).all())
    assert not bool((first["decoder.weight"] == second["decoder.weight"]).all())


def test_one_class_in_dev_is_said_and_written_as_null(tmp_path: Path) -> None:
    rows = {"text": [f"word{i % 7} text" for i in range(60)], "label": [i % 2 for i in range(60)]}
    split = ["train" if i < 40 else "dev" if i % 2 else "test" for i in range(60)]
    corpus = attentest.corpora.build_corpus("odd", {**rows, "split": split})
    run = attentest.train(corpus, tmp_path, epochs=1, **TINY)
    assert any("dev split has one class only" in note for note in run.notes)
    assert '"auc": null' in (tmp_path / "result.json").read_text(encoding="utf-8")
    assert np.isnan(run.metrics["auc"])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"seed": -1}, "seed is -1; it must be at least 0"),
        ({"seed": 2**70}, "it must be at most 4,294,967,295"),
        ({"attention_lr": -1.0}, "at least 0"),
        ({"weight_decay": -1.0}, "at least 0"),
        ({"epochs": "3"}, "expected int"),
        ({"lower": 1}, "expected bool"),
    ],
)
def test_settings_out_of_range_or_type(corpus: attentest.Corpus, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        attentest.train(corpus, **(TINY | settings))


def test_only_a_corpus_can_be_trained_on() -> None:
    with pytest.raises(attentest.InputError, match=r"attentest\.load"):
        attentest.train("reviews.csv")  # type: ignore[arg-type]


def test_run_says_where_its_corpus_came_from(tmp_path: Path) -> None:
    corpus = attentest.load("planted", rows=60, difficulty=0.5, positive="class 0")
    assert corpus.classes == ("class 1", "class 0")
    run = attentest.train(corpus, tmp_path, epochs=1, **TINY)
    assert run.settings["source"] == {"source": "planted", "positive": "class 0", "rows": 60, "difficulty": 0.5}
    assert run.settings["threads"] >= 1
