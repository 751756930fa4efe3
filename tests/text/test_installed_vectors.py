"""Vectors in installed packages: their names stand for files, and their keys for what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import attentest
from attentest.files import hash_of
from attentest.studies import expand
from attentest.studies.schema import Study
from attentest.text import installed_vectors
from attentest.text.installed_vectors import INSTALLED, InstalledVectors, located

NAME = "toy-4d"
PLANTED = attentest.load("planted", rows=100)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with vectors of the words of a corpus, in word2vec format."""
    about = tmp_path / "toy_vectors-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-vectors\nVersion: 1.0\n", encoding="utf-8")
    file = tmp_path / "toy_vectors" / "vectors.txt"
    file.parent.mkdir()
    words = dict.fromkeys(" ".join(PLANTED.table["text"].to_pylist()).split())
    lines = (f"{word} 1 0 0 {number}" for number, word in enumerate(words))
    file.write_text("\n".join([f"{len(words)} 4", *lines]), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(INSTALLED, NAME, InstalledVectors("toy-vectors", "1.0", "toy_vectors/vectors.txt"))
    return file


def test_a_name_stands_for_its_file(package: Path) -> None:
    assert Path(located(NAME)) == package
    assert located("random") == "random"
    assert located("glove-6b-50d") == "glove-6b-50d"
    assert located(str(package)) == str(package)
    with pytest.raises(attentest.InputError, match=f"Unknown vectors 'glove': give random, .*{NAME} or the path"):
        located("glove")


def test_a_package_that_is_not_there_is_a_message(package: Path) -> None:
    package.unlink()
    with pytest.raises(attentest.InputError, match=r"install toy-vectors==1\.0 without its requirements"):
        located(NAME)
    installed_vectors.INSTALLED[NAME] = InstalledVectors("no-such-package", "2.0", "a.txt")
    with pytest.raises(attentest.InputError, match=r"install no-such-package==2\.0 without its requirements"):
        located(NAME)


def test_a_run_starts_from_them(package: Path) -> None:
    run = attentest.train(PLANTED, vectors=NAME, encoder="average", hidden=4, epochs=1)
    assert run.model.state_dict()["embedding.weight"].shape[1] == 4


def test_a_plan_knows_them_by_what_is_in_them(package: Path) -> None:
    def trained(**training: Any) -> Any:
        study = Study("toy", corpora=("planted",), columns={"rows": 100}, training=training)
        return next(step for step in expand.expand(study).plan if "vectors" in step.settings)

    step = trained(vectors=NAME)
    assert step.settings["vectors"] == str(package)  # where it lies …
    assert step.settings["vectors_hash"] == hash_of(package)
    package.parent.rename(package.parent.with_name("moved"))
    INSTALLED[NAME] = InstalledVectors("toy-vectors", "1.0", "moved/vectors.txt")
    assert trained(vectors=NAME).key == step.key  # … is no matter
    moved = package.parent.with_name("moved") / "vectors.txt"
    moved.write_text("the 1 0 0 1\n", encoding="utf-8")
    assert trained(vectors=NAME).key != step.key
