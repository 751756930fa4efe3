"""Training of translation models: it learns, same seed same bytes, kills lose nothing, folders are respected."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_translators import TINY, toy_corpus

import attentest
from attentest.errors import InputError
from attentest.files import read_table
from attentest.training import Listener
from attentest.translation import TranslationRun
from attentest.translation.folder import FILES
from attentest.translation.scores import bleu, chrf

SETTINGS: dict[str, Any] = TINY


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> TranslationRun:
    folder = tmp_path_factory.mktemp("learned") / "run"
    settings: dict[str, Any] = {"hidden": 32, "heads": 2, "layers": 2, "wide": 32, "lr": 0.01, "epochs": 12}
    return attentest.train_translation(toy_corpus(300), folder, model="transformer", batch_tokens=150, **settings)


def test_a_small_model_learns_to_translate_and_needs_its_weights(learned: TranslationRun) -> None:
    assert learned.metrics["bleu"] > 80
    table = learned.translations
    sources, right = table["source"].to_pylist(), table["reference"].to_pylist()

    def share(**options: Any) -> float:
        found = learned.translate(sources, **options)
        return float(np.mean([one.text == reference for one, reference in zip(found, right, strict=True)]))

    assert share() > 0.6
    assert share(beam=3) > 0.6
    assert share(weights="uniform") < 0.3


def test_scores_have_their_signatures(learned: TranslationRun) -> None:
    assert set(learned.metrics) == set(learned.signatures) == {"bleu", "chrf", "bleu_words"}
    assert "tok:13a" in learned.signatures["bleu"]
    assert "case:lc" in learned.signatures["bleu"]
    assert "tok:none" in learned.signatures["bleu_words"]
    table = learned.translations
    again = bleu(table["translation"].to_pylist(), table["reference"].to_pylist(), lower=True)
    assert again.value == learned.metrics["bleu"]


def test_bleu_and_chrf_by_hand() -> None:
    same = ["the dog runs over the hill"]
    assert bleu(same, same, lower=False).value == pytest.approx(100)
    assert chrf(same, same, lower=False).value == pytest.approx(100)
    # 4 of 5, 3 of 4, 2 of 3 and 1 of 2 n-grams are right, and no brevity penalty
    found = bleu(["a b c d x"], ["a b c d e"], lower=False, tokenize="none")
    assert found.value == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_a_run_opens_again_and_gives_the_same(learned: TranslationRun) -> None:
    texts = ["two big dogs sleep.", "three small cats run."]
    first = learned.translate(texts, with_weights=True, beam=2)
    again = attentest.open_translation(learned.path).translate(texts, with_weights=True, beam=2, sentences=1)
    for one, other in zip(first, again, strict=True):
        assert one.text == other.text
        assert tuple(one.weights) == learned.sites
        for site, weights in one.weights.items():
            assert np.abs(weights - other.weights[site]).max() < 1e-6  # float32, in another batch
            assert weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert first[0].weights["across.0"].shape == (2, len(first[0].target_tokens), len(first[0].source_tokens))
    assert sum(first[0].token_scores) == pytest.approx(first[0].score, abs=1e-4)  # sums of float32


def test_given_translations_are_scored(learned: TranslationRun) -> None:
    (found,) = learned.translate("two big dogs sleep.", with_weights=True)
    (forced,) = learned.force("two big dogs sleep.", found.text)
    assert forced.score == pytest.approx(found.score, abs=1e-4)  # sums of float32
    (worse,) = learned.force("two big dogs sleep.", "drei kleine katzen rennen.")
    assert worse.score < forced.score
    (changed,) = learned.force("two big dogs sleep.", found.text, weights="uniform", site=["across"])
    assert changed.score < forced.score
    with pytest.raises(InputError, match="1 texts and 2 translations"):
        learned.force("a", ["b", "c"])


@pytest.mark.parametrize("model", ["bahdanau", "luong"])
def test_a_stopped_training_resumes_to_the_same_bytes(model: str, tmp_path: Path) -> None:
    class Stop(Listener):
        def progress(self, stage: str, done: int, total: int) -> None:
            if stage == "train" and done == total // 2 + 1:
                raise KeyboardInterrupt

    settings = SETTINGS | {"model": model, "tokenizer": "subword" if model == "luong" else "word", "vocabulary": 60}
    whole = attentest.train_translation(toy_corpus(40), tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        attentest.train_translation(toy_corpus(40), tmp_path / "stopped", listener=Stop(), **settings)
    stopped = attentest.open_translation(tmp_path / "stopped")
    assert not stopped.finished
    assert (stopped.path / "checkpoint.safetensors").exists()
    resumed = attentest.train_translation(toy_corpus(40), tmp_path / "stopped", **settings)
    assert contents(resumed.path) == contents(whole.path)
    before = {name: (resumed.path / name).stat().st_mtime_ns for name in contents(resumed.path)}
    attentest.train_translation(toy_corpus(40), resumed.path, **settings)  # finished: nothing to do
    assert {name: (resumed.path / name).stat().st_mtime_ns for name in contents(resumed.path)} == before


_TRAIN = """
import sys
sys.path.insert(0, sys.argv[2])
from tiny_translators import TINY, toy_corpus
import attentest
attentest.train_translation(toy_corpus(60), sys.argv[1], **TINY | {"epochs": 40, "select_by": "loss"})
"""


@pytest.mark.slow
def test_sigkill_at_any_moment_loses_nothing_finished(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def command(out: Path) -> list[str]:
        return [sys.executable, "-c", _TRAIN, str(out), str(Path(__file__).parent)]

    subprocess.run(command(whole), check=True)
    for _ in range(2):
        process = subprocess.Popen(command(killed))
        checkpoint = killed / "checkpoint.safetensors"
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
        while process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                break
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command(killed), check=True)
    assert contents(killed) == contents(whole)


@pytest.mark.parametrize("fixed", ["uniform", "random"])
def test_weights_that_are_not_learned_are_those_of_training_and_translation(fixed: str, tmp_path: Path) -> None:
    settings = SETTINGS | {"fixed": fixed, "epochs": 1, "select_by": "loss"}
    run = attentest.train_translation(toy_corpus(40), tmp_path / "run", **settings)
    (found,) = run.translate("two big dogs sleep.", with_weights=True)
    weights = found.weights["cross"]
    if fixed == "uniform":
        assert np.allclose(weights, 1 / 5)
    else:
        (again,) = run.translate("two big dogs sleep.", with_weights=True)
        assert np.array_equal(weights, again.weights["cross"])
        assert np.abs(weights - 1 / 5).max() > 0.01
    key = torch.cat([value.flatten() for name, value in run.model.named_parameters() if name.startswith("key.")])
    assert key.isfinite().all()


def test_patience_stops_early(tmp_path: Path) -> None:
    settings = SETTINGS | {"epochs": 30, "patience": 1, "lr": 1e-12, "warmup": 0.0}
    run = attentest.train_translation(toy_corpus(40), tmp_path / "run", **settings)
    assert read_table(run.path / "history.parquet").num_rows == 2


def test_other_runs_and_other_files_are_respected(tmp_path: Path) -> None:
    settings = SETTINGS | {"epochs": 1, "select_by": "loss"}
    run = attentest.train_translation(toy_corpus(40), tmp_path / "run", **settings)
    with pytest.raises(InputError, match="already holds another run"):
        attentest.train_translation(toy_corpus(40), run.path, **settings | {"seed": 1})
    again = attentest.train_translation(toy_corpus(40), run.path, overwrite=True, **settings | {"seed": 1})
    assert again.record.training.seed == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="not a translation run"):
        attentest.train_translation(toy_corpus(40), tmp_path / "mine", **settings)
    with pytest.raises(InputError, match="not a run"):
        attentest.train(attentest.load("planted", rows=40), run.path, epochs=1)
    with pytest.raises(InputError, match="is a translation run"):
        attentest.open_run(run.path)


def test_damage_is_told(tmp_path: Path, learned: TranslationRun) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(learned.path, copy)
    data = bytearray((copy / "model.safetensors").read_bytes())
    data[-5] ^= 64
    (copy / "model.safetensors").write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"model\.safetensors is damaged"):
        attentest.open_translation(copy).translate("two dogs")
    text = (copy / "translation.json").read_text(encoding="utf-8")
    (copy / "translation.json").write_text(text.replace('"layers": 2', '"layers": "two"'), encoding="utf-8")
    with pytest.raises(InputError, match="layers"):
        attentest.open_translation(copy)


def test_bad_input_is_told(learned: TranslationRun) -> None:
    class Heard(Listener):
        def __init__(self) -> None:
            self.notes: list[str] = []

        def note(self, sentence: str) -> None:
            self.notes.append(sentence)

    heard = Heard()
    found = learned.translate(["你好", " ".join(["dogs"] * 5000)], listener=heard)
    assert len(found[1].source_tokens) == 100
    assert heard.notes == [
        "Text 1 has no token that the model knows; its translation is a guess.",
        "Text 2 has 5,000 tokens and was cut to 100 (max_tokens).",
    ]
    for given, message in (
        ({"texts": " "}, "Text 1 is empty"),
        ({"texts": []}, "There is no text"),
        ({"texts": "a", "weights": "unifrom"}, "did you mean 'uniform'"),
        ({"texts": "a", "weights": "uniform", "site": ["cross"]}, "Unknown site 'cross'"),
        ({"texts": "a", "weights": "uniform", "head": 2}, "numbered from 0"),
        ({"texts": "a", "head": 0}, "say with `weights` by which"),
        ({"texts": "a", "beam": 0}, "beam is 0"),
    ):
        with pytest.raises(InputError, match=message):
            learned.translate(**given)
    for settings, message in (
        ({"model": "bahdnau"}, "did you mean 'bahdanau'"),
        ({"encoder": "cnn"}, "Unknown setting of a translation model 'encoder'"),
        ({"model": "transformer", "hidden": 10, "heads": 4}, "multiple of heads"),
        ({"hidden": 9}, "must be even"),
        ({"max_tokens": 1}, "more than 1 tokens"),
        ({"lr": 1e38, "epochs": 1, "warmup": 0.0}, "diverged"),
    ):
        with pytest.raises(InputError, match=message):
            attentest.train_translation(toy_corpus(40), **SETTINGS | settings)
    with pytest.raises(InputError, match="texts with labels"):
        attentest.train_translation(attentest.load("planted", rows=40))


def test_products_in_bfloat16_are_learned_from_and_nothing_is_kept_in_it(tmp_path: Path) -> None:
    fine, coarse = (
        attentest.train_translation(toy_corpus(), tmp_path / dtype, dtype=dtype, **SETTINGS)
        for dtype in ("float32", "bfloat16")
    )
    one, other = (run.model.state_dict() for run in (fine, coarse))
    assert {value.dtype for value in other.values()} == {torch.float32}
    gaps = [float((one[name] - other[name]).abs().max()) for name in one]
    assert max(gaps) > 0  # it is another arithmetic …
    losses = [read_table(run.path / "history.parquet")["loss"][-1].as_py() for run in (fine, coarse)]
    assert losses[1] == pytest.approx(losses[0], rel=0.05)  # … with 8 bits of a number, which learns alike
