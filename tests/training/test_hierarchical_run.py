"""Training a hierarchical model: the run folder, going on after a kill, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dotted import dotted_corpus
from typer.testing import CliRunner

import attentest
from attentest.chance import keyed_rows
from attentest.cli.commands import app
from attentest.interventions import RANDOM_SENTENCES, random_for_all
from attentest.models import Hierarchical, ModelSettings
from attentest.progress import Listener
from attentest.text.sequences import Sequences
from attentest.training.optimizer import PaperOptimizer
from attentest.training.predict import predict

PURPOSES = {"random weights": 3, RANDOM_SENTENCES: 2}  # and how many numbers are drawn for a text
TINY: dict[str, Any] = {"epochs": 2, "dimension": 8, "hidden": 4, "structure": "hierarchical"}


@pytest.fixture(scope="module")
def corpus() -> attentest.Corpus:
    return dotted_corpus(120)


@pytest.fixture(scope="module")
def han(corpus: attentest.Corpus, tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    return attentest.train(corpus, tmp_path_factory.mktemp("runs") / "han", **TINY)


def test_the_attention_table_has_words_and_sentences(han: attentest.Run) -> None:
    assert type(han.model) is Hierarchical
    assert "hierarchical bilstm" in repr(han)
    for row in han.attention.to_pylist():
        numbers, weights = np.array(row["sentence"]), np.array(row["weight"])
        assert len(numbers) == len(row["token"])
        assert np.bincount(numbers, weights).tolist() == pytest.approx([1] * len(row["sentence_weight"]), abs=1e-5)
        assert sum(row["sentence_weight"]) == pytest.approx(1, abs=1e-5)
        assert numbers.tolist() == np.cumsum([0] + [token == "." for token in row["token"][:-1]]).tolist()


def test_random_weights_of_words_and_of_sentences(corpus: attentest.Corpus, tmp_path: Path) -> None:
    """Vashishth et al. 2019 §4.1: U(0, 1), normalised, at both sites, the same in training and at inference."""
    run = attentest.train(corpus, tmp_path / "random", **TINY, projection="random", seed=5)
    for row in run.attention.to_pylist():
        numbers, weights = np.array(row["sentence"]), np.array(row["weight"])
        assert np.bincount(numbers, weights).tolist() == pytest.approx([1] * len(row["sentence_weight"]), abs=1e-5)
        assert sum(row["sentence_weight"]) == pytest.approx(1, abs=1e-5)
    several = [row for row in run.attention.to_pylist() if len(row["sentence_weight"]) > 2]
    assert all(len(set(np.round(row["sentence_weight"], 6))) > 2 for row in several)
    data = run.test_data()
    again = predict(run.model, data, np.arange(len(data.rows)))
    said = np.array(run.predictions["probability"].to_pylist())
    np.testing.assert_allclose(again.probabilities, said, atol=1e-5)
    other = attentest.train(corpus, tmp_path / "other", **TINY, projection="random", seed=6)
    assert other.attention["sentence_weight"].to_pylist() != run.attention["sentence_weight"].to_pylist()


def test_random_shares_by_hand() -> None:
    """A text of two sentences with two words and one: the shares of a sentence sum to its weight."""
    sequences, sentences = Sequences(np.arange(2, 8), np.array([0, 3, 6])), np.array([0, 0, 1, 0, 1, 1])
    shares = random_for_all(sequences, 0, sentences)
    drawn, above = (1 - keyed_rows(0, name, np.arange(2), (size,)) for name, size in PURPOSES.items())
    for text, (start, split) in enumerate(((0, 2), (3, 1))):
        words, weights = drawn[text], above[text] / above[text].sum()
        first, second = words[:split] / words[:split].sum(), words[split:] / words[split:].sum()
        wanted = [*first * weights[0], *second * weights[1]]
        assert shares[start : start + 3].tolist() == pytest.approx(wanted, abs=1e-6)


def test_heat_is_the_share_of_the_document(han: attentest.Run) -> None:
    found = han.heatmaps(3)
    for heatmap in found:
        assert sum(heatmap.weights) == pytest.approx(1, abs=1e-5)
        again = han.attend(heatmap.text)[0]
        assert again.weights == pytest.approx(heatmap.weights, abs=1e-6)
        assert again.probabilities == pytest.approx(heatmap.probabilities, abs=1e-6)
    for shown in (found.html(), found.svg()):
        assert "word weight × sentence weight" in shown


def test_the_command_line(tmp_path: Path) -> None:
    rows = [f"It was {word}. I went home {i}.,{label}" for i in range(20) for word, label in (("good", 1), ("bad", 0))]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *rows]))
    runner, out = CliRunner(), str(tmp_path / "han")
    tiny = ["--epochs", "1", "--dimension", "4", "--hidden", "2"]
    trained = runner.invoke(app, ["train", str(tmp_path / "a.csv"), "--structure", "hierarchical", "--out", out, *tiny])
    assert trained.exit_code == 0, trained.output
    shown = runner.invoke(app, ["show", out, "--n", "1"])
    assert "heaviest (word weight × sentence weight): " in " ".join(shown.output.split())
    assert json.loads(runner.invoke(app, ["show", out, "--json"]).output)[0]["shown"].startswith("word weight")
    for site in ([], ["--site", "word"]):
        judged = runner.invoke(app, ["trial", "permutation", out, *site, "--json"])
        assert judged.exit_code == 0, judged.output
        assert json.loads(judged.output)["signature"]["site"] == (site[1] if site else "sentence")
    assert sorted(p.name for p in (tmp_path / "han" / "trials").iterdir()) == ["permutation", "permutation-word"]


def test_same_seed_same_bytes(corpus: attentest.Corpus, han: attentest.Run, tmp_path: Path) -> None:
    again = attentest.train(corpus, tmp_path / "again", **TINY)
    for name in ("model.safetensors", "attention.parquet", "predictions.parquet"):
        assert (again.path / name).read_bytes() == (han.path / name).read_bytes(), name


class StopAfter(Listener):
    def __init__(self, batches: int) -> None:
        self.batches = batches

    def progress(self, stage: str, done: int, total: int) -> None:
        if stage == "train" and done > self.batches:
            raise KeyboardInterrupt


def test_a_broken_training_goes_on(corpus: attentest.Corpus, han: attentest.Run, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        attentest.train(corpus, tmp_path / "r", listener=StopAfter(4), **TINY)
    assert (tmp_path / "r" / "checkpoint.safetensors").exists()
    run = attentest.train(corpus, tmp_path / "r", **TINY)
    assert (run.path / "model.safetensors").read_bytes() == (han.path / "model.safetensors").read_bytes()


def test_both_alignments_are_without_weight_decay(han: attentest.Run) -> None:
    model = attentest.open_run(han.path).model
    optimizer = PaperOptimizer(model, 1e-3, 1e-2, 1e-5)
    rest, attention = optimizer.dense.param_groups
    names = {id(p): name for name, p in model.named_parameters()}
    assert {names[id(p)].rsplit(".", 2)[0] for p in attention["params"]} == {"alignment.word", "alignment.sentence"}
    assert attention["weight_decay"] == 0
    assert not any("alignment" in names[id(p)] for p in rest["params"])


def test_parts_can_be_taken_and_frozen(corpus: attentest.Corpus, han: attentest.Run) -> None:
    run = attentest.train(corpus, **TINY, start=han, take=("encoder",), freeze=("encoder",), seed=1)
    theirs = han.model.state_dict()
    for name, value in run.model.state_dict().items():
        assert (value.equal(theirs[name])) == name.startswith("encoder."), name


def test_pairs_are_flat() -> None:
    with pytest.raises(attentest.InputError, match="needs single texts; for a corpus of pairs use 'flat'"):
        attentest.train(attentest.load("babi1-generated", rows=60), structure="hierarchical")


def test_tables_of_published_figures_call_it_han() -> None:
    assert ModelSettings(structure="hierarchical").name == "han"
    assert ModelSettings("cnn", structure="hierarchical").name == "han-cnn+additive"


def test_what_needs_weights_of_a_whole_text_is_refused(corpus: attentest.Corpus, han: attentest.Run) -> None:
    flat = attentest.train(corpus, epochs=1, dimension=8, hidden=4)
    with pytest.raises(attentest.InputError, match="use `structure='flat'`"):
        attentest.train(corpus, structure="hierarchical", projection="preset", preset=flat)
    with pytest.raises(attentest.InputError, match="train it with `structure='flat'`"):
        attentest.train(corpus, structure="hierarchical", objective="adversary", base=flat)
    both: list[dict[str, Any]] = [{"projection": "preset", "preset": han}, {"objective": "adversary", "base": han}]
    for others in both:
        with pytest.raises(attentest.InputError, match="has weights within sentences"):
            attentest.train(corpus, **others)
