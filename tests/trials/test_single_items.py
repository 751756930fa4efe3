"""Texts with a single item, in which no weight can be moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import attentest
from attentest.trials import hold, make_trial, subject_of

MOVING = ("permutation", "adversary", "removal", "flips", "importance-sets", "overlap", "conicity", "erasure")
SIZE: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}


def run_on(texts: list[str], folder: Path) -> attentest.Run:
    rows = [f"{text},{label}" for text in texts for label in ("good", "bad")]
    folder.mkdir()
    (folder / "texts.csv").write_text("\n".join(["text,label", *rows]))
    return attentest.train(attentest.load(str(folder / "texts.csv")), folder / "run", **SIZE)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    return run_on([f"word{i}" for i in range(30)], tmp_path_factory.mktemp("runs") / "alone")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    texts = [f"word{i}" if i % 2 else f"a word{i} of many" for i in range(60)]
    return run_on(texts, tmp_path_factory.mktemp("runs") / "mixed")


@pytest.mark.parametrize("name", MOVING)
def test_nothing_is_said_of_them_alone(alone: attentest.Run, name: str) -> None:
    (finding,) = hold([make_trial(name)], subject_of(alone))
    assert "more than one item" in finding.answer
    assert finding.summary == {}
    assert finding.charts == {}
    assert finding.table.num_rows == alone.predictions.num_rows


@pytest.mark.parametrize("name", MOVING)
def test_they_are_left_out_of_the_means_and_counted(mixed: attentest.Run, name: str) -> None:
    (finding,) = hold([make_trial(name)], subject_of(mixed))
    several = sum(count > 1 for count in finding.table["tokens"].to_pylist())
    assert 0 < several < finding.table.num_rows
    assert max(estimate.n for estimate in finding.summary.values()) <= several
    assert finding.notes[-1].startswith(f"{finding.table.num_rows - several:,} texts have a single item")
