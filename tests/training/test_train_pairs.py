"""Training on pairs of texts, from a file to its heat maps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from program import Program

import attentest
from attentest.corpora import build_corpus
from attentest.text import TextSettings, tokenize_corpus
from attentest.text.batches import inference_batches, make_batch
from attentest.training.settings import ModelPart

SMALL: dict[str, Any] = {"epochs": 2, "dimension": 8, "hidden": 4}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    rows = [
        f"a {colour} door and a tall wall {n},is the door {asked}?,{'yes' if colour == asked else 'no'}"
        for n in range(20)
        for colour in ("red", "blue")
        for asked in ("red", "blue")
    ]
    path.write_text("\n".join(["premise,claim,answer", *rows, "a red door,   ,yes", "a door,?,no"]))
    return path


def load(file: Path) -> attentest.Corpus:
    return attentest.load(file, text="premise", second="claim", label="answer")


@pytest.fixture(scope="module", params=["context", "context+query"])
def asked(request: pytest.FixtureRequest, file: Path) -> attentest.Run:
    return attentest.train(load(file), decoder=request.param, **SMALL)


def test_both_texts_are_read_with_one_vocabulary(file: Path) -> None:
    data = tokenize_corpus(load(file), TextSettings())
    assert data.second is not None
    assert {"door", "is", "?"} <= set(data.vocabulary.tokens)
    batch = make_batch(data, np.array([0, 1]))
    assert batch.second_ids is not None
    assert [data.vocabulary.tokens[i] for i in batch.second_ids[0]] == ["is", "the", "door", "red", "?"]
    only_marks = tokenize_corpus(load(file), TextSettings(tokenizer="whitespace"))
    assert len(only_marks.rows) == len(data.rows)


def test_a_second_text_without_tokens_is_dropped_and_said(file: Path) -> None:
    corpus = load(file)
    assert any("second" in note for note in corpus.notes)  # the blank one of the file
    second = ["", *corpus.table["second"].to_pylist()[1:]]
    place = corpus.table.column_names.index("second")
    made = replace(corpus, table=corpus.table.set_column(place, "second", pa.array(second, pa.large_string())))
    data = tokenize_corpus(made, TextSettings())
    assert len(data.rows) == len(corpus) - 1
    assert "Dropped 1 pairs without a token in the second text." in data.notes


def test_long_second_texts_are_cut(file: Path) -> None:
    data = tokenize_corpus(load(file), TextSettings(max_tokens=3))
    assert data.second is not None
    assert data.second.lengths.max() == 3
    assert any("second texts to their first 3" in note for note in data.notes)


def test_a_run_on_pairs_opens_and_says_the_same(asked: attentest.Run) -> None:
    again = attentest.open_run(asked.path)
    assert again.kind == "pair"
    rows = asked.predictions.to_pylist()[:5]
    found = again.attend([row["text"] for row in rows], [row["second"] for row in rows])
    for row, heatmap in zip(rows, found, strict=True):
        assert heatmap.probabilities == pytest.approx(row["probability"], abs=1e-6)
        assert heatmap.second == row["second"]
        assert heatmap.as_dict()["second"] == row["second"]


def test_same_seed_same_run(asked: attentest.Run, file: Path) -> None:
    decoder = asked.settings["model"]["decoder"]
    again = attentest.train(load(file), decoder=decoder, **SMALL)
    assert again.predictions.equals(asked.predictions)


def test_texts_that_do_not_go_with_the_model(asked: attentest.Run, run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match="reads pairs: give a second text"):
        asked.attend("a red door")
    with pytest.raises(attentest.InputError, match="2 texts and 1 second"):
        asked.attend(["a", "b"], ["c"])
    with pytest.raises(attentest.InputError, match="no token in the text '  '"):
        asked.attend("a red door", "  ")
    with pytest.raises(attentest.InputError, match="reads single texts"):
        run.attend("a text", "another")


def test_second_texts_are_shown_and_escaped(file: Path, asked: attentest.Run) -> None:
    shown = asked.attend("a <b>red</b> door", "is <script>it</script> red?")
    assert "&lt;script&gt;it" in shown.html()
    assert "<script>it" not in shown.html()
    assert "&lt;script&gt;it" in shown.svg()
    from rich.console import Console

    console = Console(record=True, width=100)
    console.print(shown)
    assert "» is <script>it</script> red?" in console.export_text()


def test_models_of_pairs_need_pairs(corpus: attentest.Corpus) -> None:
    with pytest.raises(attentest.InputError, match="decoder 'context\\+query' needs pairs"):
        attentest.train(corpus, decoder="context+query", **SMALL)
    with pytest.raises(attentest.InputError, match="pairing 'conditional' needs pairs"):
        attentest.train(corpus, pairing="conditional", **SMALL)


def test_only_entities_of_the_text_are_chosen(tmp_path: Path) -> None:
    """The layout of CNN questions, small: the answer is always one of the entities there."""
    for split, count in (("training", 30), ("validation", 6), ("test", 6)):
        folder = tmp_path / "questions" / split
        folder.mkdir(parents=True)
        for n in range(count):
            one, two = n % 4, (n + 1 + n % 2) % 5
            two = two if two != one else 4
            lines = [
                "http://x",
                "",
                f"@entity{one} met @entity{two} in town",
                "",
                "@placeholder met someone",
                "",
                f"@entity{one}",
            ]
            (folder / f"{n}.question").write_text("\n".join([*lines, "", f"@entity{one}:Ann", f"@entity{two}:Bob"]))
    corpus = attentest.load(tmp_path, format="cnn")
    assert corpus.answers == "entities"
    run = attentest.train(corpus, decoder="context+query", min_frequency=1, **SMALL)
    for row in run.predictions.to_pylist():
        possible = {run.classes[i] for i, p in enumerate(row["probability"]) if p > 0}
        assert possible == set(row["text"].split()) & set(run.classes)
    assert attentest.open_run(run.path).attend("@entity0 met nobody", "@placeholder met")[
        0
    ].confidence == pytest.approx(1)


def test_the_command_line(command: Program, file: Path, tmp_path: Path) -> None:
    columns = ["--text", "premise", "--second", "claim", "--label", "answer"]
    sizes = ["--epochs", "1", "--dimension", "8", "--hidden", "4", "--decoder", "context+query"]
    out = tmp_path / "run"
    trained = command("train", file, *columns, *sizes, "--out", out, "--json")
    assert json.loads(trained.out)["kind"] == "pair"
    shown = command("show", out, "--text", "a red door", "--second", "is it red?", "--json")
    assert json.loads(shown.out)[0]["second"] == "is it red?"
    empty = command("show", out, "--text", "a red door", "--second", "")
    assert empty.code == 2
    assert "no token in the text ''" in empty.err


def test_both_encoders_are_the_part_encoder(file: Path, asked: attentest.Run) -> None:
    kept: tuple[ModelPart, ...] = ("embedding", "encoder", "decoder")
    decoder = asked.settings["model"]["decoder"]
    frozen = attentest.train(load(file), decoder=decoder, start=asked, freeze=kept, take=kept, **SMALL)
    before, after = asked.model.state_dict(), frozen.model.state_dict()
    moved = {name.partition(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert moved == {"alignment"}


def test_runs_of_another_kind_or_other_classes_are_refused(
    file: Path, asked: attentest.Run, corpus: attentest.Corpus
) -> None:
    single = attentest.load(file, text="premise", label="answer")
    with pytest.raises(attentest.InputError, match="reads a pair corpus"):
        attentest.train(single, base=asked, objective="adversary", **SMALL)
    with pytest.raises(attentest.InputError, match="choose a run with the same kind and classes"):
        attentest.train(attentest.load("planted", rows=100, classes=3), start=attentest.train(corpus, **SMALL), **SMALL)


def entities(folder: Path, rare: bool = False) -> attentest.Corpus:
    rows = []
    for n in range(60):
        one, two = f"@e{n % 3}", "@e9" if rare and n == 0 else f"@e{(n + 1) % 3}"
        rows.append({"text": f"{one} and later {two} odd{n}", "second": "who is first ?", "label": one})
    if rare:
        rows[0]["label"] = "@e9"
    columns = {key: [row[key] for row in rows] for key in ("text", "second", "label")}
    recipe = {"answers": "entities", "tokenizer": "whitespace"}
    return build_corpus("entities", columns, kind="pair", recipe=recipe)


def test_rare_entities_are_words_of_their_own(tmp_path: Path) -> None:
    data = tokenize_corpus(entities(tmp_path, rare=True), TextSettings(tokenizer="whitespace", min_frequency=5))
    assert "@e9" in data.vocabulary.tokens
    assert "odd3" not in data.vocabulary.tokens


def test_answers_that_are_cut_off_are_dropped_and_said(tmp_path: Path) -> None:
    corpus = entities(tmp_path, rare=True)
    data = tokenize_corpus(corpus, TextSettings(tokenizer="whitespace", max_tokens=2))
    assert len(data.rows) == len(corpus) - 1  # that of the rare one stands fourth
    assert "Dropped 1 questions whose answer is not in what is read of the text." in data.notes


@pytest.mark.parametrize("settings", [{"tokenizer": "word"}, {"digits": "qqq"}])
def test_answers_that_are_no_tokens_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(attentest.InputError, match="is not a single token"):
        attentest.train(entities(tmp_path), **settings, **SMALL)


def test_long_second_texts_count_for_the_size_of_a_batch() -> None:
    columns = {"text": ["one"] * 400, "second": ["word " * 300] * 400, "label": [0, 1] * 200}
    data = tokenize_corpus(build_corpus("long", columns, kind="pair"), TextSettings())
    batches = list(inference_batches(data, np.arange(len(data.rows)), 16_384))
    assert max(b.second_ids.numel() for b in batches) <= 16_384  # type: ignore[union-attr]
    assert sorted(np.concatenate([b.rows for b in batches])) == list(range(len(data.rows)))
