"""A training of a study whose work folder is damaged starts again, says so, and gives what an unbroken one gives."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from other_kinds import IN_PLACE_OF_A_FILE, link_to_file, put_in_place
from tensor_files import CONTENTS, FILES, Damage, changed, cut, flipped

import attentest
from attentest.corpora.stored import FILE as CORPUS
from attentest.corpora.stored import save_corpus
from attentest.progress import Listener
from attentest.studies.steps import training
from attentest.training.folder import FILES as OF_RUNS
from attentest.training.folder import OF_ENCODER

NAMES = [name for name in OF_RUNS if name not in OF_ENCODER]

SETTINGS: dict[str, Any] = {"epochs": 2, "dimension": 4, "hidden": 2, "encoder": "average", "seed": 1}
Trained = dict[str, bytes]


class Heard(Listener):
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    def warning(self, sentence: str) -> None:
        self.warnings.append(sentence)


class Stopped(Heard):
    """Interrupts the last epoch."""

    def progress(self, stage: str, done: int, total: int) -> None:
        if stage == "train" and done == total:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a training that was killed after an epoch, and the same one finished."""
    folder = tmp_path_factory.mktemp("training")
    (folder / "corpus").mkdir()
    save_corpus(attentest.load("planted", rows=60), folder / "corpus" / CORPUS)
    for name in ("begun", "finished"):
        (folder / name).mkdir()
    with pytest.raises(KeyboardInterrupt):
        step(folder, folder / "begun", Stopped())
    step(folder, folder / "finished", Heard())
    return folder


def step(place: Path, out: Path, listener: Listener) -> None:
    training.run(SETTINGS, {"corpus": place / "corpus"}, out, listener)


def contents(folder: Path) -> Trained:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def check_starts_again(place: Path, begun: Path, name: str) -> None:
    heard = Heard()
    step(place, begun, heard)
    (warning,) = heard.warnings
    assert name in warning
    assert warning.endswith("the training starts again.")
    assert not any("Resumed" in note for note in heard.notes)
    assert contents(begun) == contents(place / "finished")


def test_a_training_that_is_whole_goes_on(place: Path, tmp_path: Path) -> None:
    begun, heard = shutil.copytree(place / "begun", tmp_path / "work"), Heard()
    step(place, begun, heard)
    assert heard.warnings == []
    assert "Resumed after epoch 1." in heard.notes
    assert contents(begun) == contents(place / "finished")


def of_history(text: str) -> Damage:
    return changed(lambda tensors, metadata: metadata.update(history=text))


WRONG: tuple[Any, ...] = ("a", None, [], {}, float("nan"), 10**400)
ROW = {"epoch": 1, "loss": 0.5, "score": 0.5, "accuracy": 0.5}
HISTORIES: dict[str, Damage] = {
    **{
        f"history is {text[:20]}": of_history(text) for text in ("", "[", "7", "{}", "null", '"a"', "[]", "[1]", "[[]]")
    },
    **{f"history is {text[:20]}": of_history(text) for text in ("[null]", "[{}]", "[" * 100_000, "9" * 5000)},
    **{
        f"{name} is {str(value)[:9]}": of_history(json.dumps([ROW | {name: value}]))
        for name in ("epoch", "loss", "score", "accuracy")
        for value in WRONG
        if not (name == "accuracy" and value != value)  # a metric may be undefined
    },
    **{
        f"a history without {name}": of_history(json.dumps([{k: v for k, v in ROW.items() if k != name}]))
        for name in ("epoch", "loss", "score")
    },
    "an epoch twice": of_history(json.dumps([ROW, ROW])),
    "another epoch": of_history(json.dumps([ROW | {"epoch": 7}])),
    "rows of other columns": of_history(json.dumps([ROW, {"epoch": 2, "loss": 0.5, "score": 0.5}])),
    "no metadata": changed(lambda tensors, metadata: metadata.clear()),
    "another history": changed(
        lambda tensors, metadata: metadata.update(history=metadata["history"].replace("0.", "0.1")), keep_checksum=True
    ),
}


@pytest.mark.parametrize(
    "damage", [*FILES.values(), *CONTENTS.values(), *HISTORIES.values()], ids=[*FILES, *CONTENTS, *HISTORIES]
)
def test_a_damaged_checkpoint(damage: Damage, place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "begun", tmp_path / "work")
    damage(begun / "checkpoint.safetensors")
    check_starts_again(place, begun, "checkpoint.safetensors")


@pytest.mark.parametrize("part", ["dense.0.exp_avg", "dense.0.step", "rows.steps", "rows.0.mean"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_damaged_optimizer(part: str, lost: bool, place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "begun", tmp_path / "work")
    name = f"optimizer/{part}"

    def change(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
        was = tensors.pop(name)
        if not lost:
            tensors[name] = was.flatten().repeat(3)

    changed(change)(begun / "checkpoint.safetensors")
    check_starts_again(place, begun, "checkpoint.safetensors")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"format": 1}', "[" * 100_000, '{"format": NaN}'])
def test_a_damaged_record(text: str, place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "begun", tmp_path / "work")
    (begun / "run.json").write_text(text, encoding="utf-8")
    check_starts_again(place, begun, "run.json")


def test_a_record_of_another_training(place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "begun", tmp_path / "work")
    record = (begun / "run.json").read_text(encoding="utf-8").replace('"hidden": 2', '"hidden": 3')
    (begun / "run.json").write_text(record, encoding="utf-8")
    check_starts_again(place, begun, "another run")


@pytest.mark.parametrize(
    "name", ["run.json", "checkpoint.safetensors", "vocabulary.json", "model.safetensors", ".training"]
)
@pytest.mark.parametrize("damage", [*IN_PLACE_OF_A_FILE, link_to_file])
def test_something_else_where_a_file_of_a_training_is(name: str, damage: Damage, place: Path, tmp_path: Path) -> None:
    if damage.__name__ == "unreadable_file" and name in (".training", "vocabulary.json", "model.safetensors"):
        pytest.skip("it is written anew")
    (tmp_path / "store").mkdir()
    begun = shutil.copytree(place / "begun", tmp_path / "store" / "work")
    put_in_place(damage, begun / name)
    check_starts_again(place, begun, name)
    if damage is link_to_file:
        assert (tmp_path / "store" / f"elsewhere-{name}").read_text(encoding="utf-8") == "of somebody else"


def test_a_file_of_somebody_else(place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "begun", tmp_path / "work")
    (begun / "trials").mkdir()
    check_starts_again(place, begun, "trials")


@pytest.mark.parametrize(
    "damage", [cut(0), cut(0.5), flipped(0.3), flipped(0.6)], ids=["empty", "cut", "flip", "flip 2"]
)
@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("checkpoint.safetensors", "result.json", "run.json")]
)
def test_a_finished_training_that_was_not_committed(name: str, damage: Damage, place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "finished", tmp_path / "work")
    damage(begun / name)
    check_starts_again(place, begun, name)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("checkpoint.safetensors", "result.json", "run.json")]
)
def test_a_file_that_a_finished_training_lost(name: str, place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "finished", tmp_path / "work")
    (begun / name).unlink()
    check_starts_again(place, begun, name)


RESULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda content: [],
    "null": lambda content: None,
    "no files": lambda content: content | {"files": {"run.json": "0"}},
    "files of another type": lambda content: content | {"files": [1]},
    "another metric": lambda content: content | {"test": content["test"] | {"accuracy": 0.123}},
    "no metrics": lambda content: content | {"test": {}},
    "another epoch": lambda content: content | {"best_epoch": "a"},
}


@pytest.mark.parametrize("change", RESULTS.values(), ids=RESULTS)
def test_a_damaged_result(change: Callable[[dict[str, Any]], Any], place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "finished", tmp_path / "work")
    content = json.loads((begun / "result.json").read_text(encoding="utf-8"))
    (begun / "result.json").write_text(json.dumps(change(content)), encoding="utf-8")
    heard = Heard()
    step(place, begun, heard)
    assert len(heard.warnings) == 1
    assert contents(begun) == contents(place / "finished")


def test_a_finished_training_that_is_whole_is_taken(place: Path, tmp_path: Path) -> None:
    begun, heard = shutil.copytree(place / "finished", tmp_path / "work"), Heard()
    step(place, begun, heard)
    assert heard.warnings == []
    assert any("nothing was trained" in note for note in heard.notes)


# a folder of the user's own


def train(out: Path, listener: Listener | None = None, **more: Any) -> attentest.Run:
    return attentest.train(attentest.load("planted", rows=60), out, listener=listener, **SETTINGS, **more)


@pytest.mark.parametrize("damage", [cut(0.5), flipped(0.5), CONTENTS["NaN"], HISTORIES["history is null"]])
def test_a_damaged_checkpoint_of_the_users_own_is_refused(damage: Damage, place: Path, tmp_path: Path) -> None:
    begun = shutil.copytree(place / "begun", tmp_path / "run")
    damage(begun / "checkpoint.safetensors")
    before = contents(begun)
    with pytest.raises(attentest.InputError, match=r"checkpoint\.safetensors.*`overwrite=True` starts it again"):
        train(begun)
    assert contents(begun)["checkpoint.safetensors"] == before["checkpoint.safetensors"]
    heard = Heard()
    assert train(begun, heard, overwrite=True).finished
    assert len(heard.warnings) == 1
    assert contents(begun)["model.safetensors"] == contents(place / "finished")["model.safetensors"]


def test_a_finished_run_that_is_damaged_is_refused(place: Path, tmp_path: Path) -> None:
    mine = shutil.copytree(place / "finished", tmp_path / "run")
    flipped(0.5)(mine / "predictions.parquet")
    with pytest.raises(attentest.InputError, match=r"predictions\.parquet.*`overwrite=True`"):
        train(mine)
    assert train(mine, overwrite=True).finished


def test_killed_while_it_replaces_a_run_with_findings(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the old run and the new one there is always one: the folder is taken up again."""
    from attentest.training import train_model

    mine = shutil.copytree(place / "finished", tmp_path / "run")
    (mine / "trials").mkdir()

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(train_model, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            train(mine, overwrite=True, lr=0.01)
    assert train(mine, lr=0.01).finished


def test_a_folder_with_drafts_alone_is_free(tmp_path: Path) -> None:
    (tmp_path / ".run.json.4194305.attentest").write_text("{", encoding="utf-8")
    (tmp_path / ".training").touch()
    assert train(tmp_path).finished
    assert {file.name for file in tmp_path.iterdir()} == set(NAMES) - {"checkpoint.safetensors"}
