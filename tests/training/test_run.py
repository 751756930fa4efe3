"""Opening run folders that are whole, unfinished, damaged or not ours."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import attentest
from attentest.training.tensors import read_tensors


@pytest.fixture
def copy(run: attentest.Run, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run.path, tmp_path / "copy"))


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="no such run folder"):
        attentest.open_run(tmp_path / "none")


def test_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="folder of a run"):
        attentest.open_run(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 99}'])
def test_settings_that_are_not_ours(copy: Path, content: str) -> None:
    (copy / "run.json").write_text(content)
    with pytest.raises(attentest.InputError, match=r"run\.json"):
        attentest.open_run(copy)


@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_truncated_weights(copy: Path, kept: int) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(attentest.InputError, match=r"truncated, damaged or not a safetensors file"):
        _ = attentest.open_run(copy).model


def test_a_pickle_is_never_opened(copy: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "exploded",))

    (copy / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(attentest.InputError, match="safetensors"):
        _ = attentest.open_run(copy).model
    assert not (tmp_path / "exploded").exists()


def test_weights_of_another_model(copy: Path) -> None:
    save_file({"embedding.weight": torch.zeros(3, 2)}, copy / "model.safetensors")
    with pytest.raises(attentest.InputError, match="does not belong to this run"):
        _ = attentest.open_run(copy).model
    tensors = read_tensors(copy / "model.safetensors").tensors
    vocabulary = json.loads((copy / "vocabulary.json").read_text(encoding="utf-8"))
    save_file(tensors | {"embedding.weight": torch.zeros(len(vocabulary), 16)}, copy / "model.safetensors")
    with pytest.raises(attentest.InputError, match="does not belong to this run"):
        _ = attentest.open_run(copy).model


def test_vocabulary_of_something_else(copy: Path) -> None:
    (copy / "vocabulary.json").write_text('["a", "b"]')
    with pytest.raises(attentest.InputError, match="not a vocabulary"):
        _ = attentest.open_run(copy).vocabulary


def test_truncated_table_and_unfinished_run(copy: Path) -> None:
    file = copy / "predictions.parquet"
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(attentest.InputError, match="damaged"):
        attentest.open_run(copy).heatmaps()
    file.unlink()
    with pytest.raises(attentest.InputError, match="not finished"):
        attentest.open_run(copy).heatmaps()


def test_foreign_checkpoint_is_not_resumed(corpus: attentest.Corpus, copy: Path) -> None:
    (copy / "result.json").unlink()
    save_file({"model/x": torch.zeros(1)}, copy / "checkpoint.safetensors")
    with pytest.raises(attentest.InputError, match="not a checkpoint of this run"):
        attentest.train(corpus, copy, epochs=2, dimension=16, hidden=8, seed=3)
    (copy / "checkpoint.safetensors").write_bytes(b"garbage")
    with pytest.raises(attentest.InputError, match="truncated, damaged"):
        attentest.train(corpus, copy, epochs=2, dimension=16, hidden=8, seed=3)


def test_what_a_notebook_shows(run: attentest.Run, corpus: attentest.Corpus) -> None:
    assert "accuracy" in run._repr_html_()
    assert "bilstm + additive + softmax on planted" in repr(run)
    assert "<table>" in corpus._repr_html_()
    assert "planted" in repr(corpus)


def test_choice_of_texts(run: attentest.Run) -> None:
    ids = run.predictions["id"].to_pylist()
    assert [h.id for h in run.heatmaps(ids=ids[:2])] == ids[:2]
    assert [h.id for h in run.heatmaps(3)] == [h.id for h in run.heatmaps(3)]
    assert [h.id for h in run.heatmaps(3)] != [h.id for h in run.heatmaps(3, seed=1)]
    assert len(run.heatmaps(10_000)) == len(ids)
    wrong = [row["id"] for row in run.predictions.to_pylist() if row["label"] != row["predicted"]]
    assert wrong, "the small run is meant to make mistakes"
    assert {h.id for h in run.heatmaps(10_000, wrong=True)} == set(wrong)
    with pytest.raises(attentest.InputError, match="No test text has the id 'nope'"):
        run.heatmaps(ids=["nope"])
    with pytest.raises(attentest.InputError, match="at least 1"):
        run.heatmaps(0)


def test_texts_of_ones_own(run: attentest.Run) -> None:
    found = run.attend("Ünknown   words,\nonly")
    assert [found[0].text[s:e] for s, e in found[0].spans] == ["Ünknown", "words", ",", "only"]
    assert sum(found[0].weights) == pytest.approx(1, abs=1e-5)
    with pytest.raises(attentest.InputError, match="no token"):
        run.attend(["fine", "   "])


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("run.json", {"format": 1}),
        ("run.json", {"format": 1, "corpus": {}, "text": {}, "model": {}, "training": {}, "notes": []}),
        ("result.json", {}),
    ],
)
def test_json_that_is_not_whole(copy: Path, file: str, content: dict[str, Any]) -> None:
    (copy / file).write_text(json.dumps(content))
    with pytest.raises(attentest.InputError, match=file):
        _ = attentest.open_run(copy).metrics


def test_tables_of_something_else(copy: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    attention = pq.read_table(copy / "attention.parquet")
    pq.write_table(attention.slice(0, 3), copy / "attention.parquet")
    with pytest.raises(attentest.InputError, match="numbers of rows differ"):
        attentest.open_run(copy).heatmaps()
    pq.write_table(pa.table({"x": [1]}), copy / "predictions.parquet")
    with pytest.raises(attentest.InputError, match=r"predictions\.parquet is damaged: its column 'id' is missing"):
        attentest.open_run(copy).heatmaps()


def test_odd_requests(run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match="No text"):
        run.attend([])
    with pytest.raises(attentest.InputError, match="seed is -1"):
        run.heatmaps(seed=-1)
    assert run.attend("bad \udcff byte")[0].text == "bad ? byte"
    with pytest.raises(attentest.InputError, match="no such run folder"):
        attentest.open_run("x" * 400)


def test_test_split_is_read_from_the_run_alone(run: attentest.Run) -> None:
    data = run.test_data()
    assert [data.text(i) for i in range(3)] == run.predictions["text"].to_pylist()[:3]
    assert data.sequences.lengths.tolist() == [len(w) for w in run.attention["weight"].to_pylist()]


def test_public_names_can_be_completed() -> None:
    assert set(attentest.__all__) <= set(dir(attentest))
