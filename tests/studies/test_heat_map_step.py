"""The step that makes heat maps: which trained adversary stands beside the base, and with what."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import attentest
from attentest.progress import Listener
from attentest.studies.experiments.adversary import FAR
from attentest.studies.experiments.base import difference
from attentest.studies.steps import instances as step
from attentest.trials.instances import TRAINED


@pytest.fixture(scope="module")
def third(run: attentest.Run, corpus: attentest.Corpus) -> attentest.Run:
    return attentest.train(corpus, run.path.parent / "third", epochs=1, dimension=16, hidden=8, seed=5)


def trained_rows(out: Path, base: attentest.Run, *others: attentest.Run) -> list[dict[str, Any]]:
    inputs = {"run": base.path} | {f"adversary lambda {n}": other.path for n, other in enumerate(others)}
    out.mkdir()
    step.run({"texts": 5, "device": "cpu"}, inputs, out, Listener())
    rows = pq.read_table(out / step.FILE).to_pylist()
    names = ["original", "permuted", "adversarial", *([TRAINED] if others else [])]
    assert [row["variant"] for row in rows] == names * 5
    return [row for row in rows if row["variant"] == TRAINED]


def assert_of(rows: list[dict[str, Any]], base: attentest.Run, chosen: attentest.Run) -> None:
    place = {id: n for n, id in enumerate(chosen.predictions["id"].to_pylist())}
    said, apart = chosen.predictions.to_pylist(), difference(base, chosen)
    for row in rows:
        n = place[row["id"]]
        assert row["weight"] == pytest.approx(chosen.shares[n])
        assert row["predicted"] == said[n]["predicted"]
        assert row["probability"] == pytest.approx(max(said[n]["probability"]))
        assert (row["tvd"], row["jsd"]) == pytest.approx((apart.tvd[n], apart.jsd[n]))
        assert row["text"] == said[n]["text"]


def test_without_an_adversary_there_are_three_variants(run: attentest.Run, tmp_path: Path) -> None:
    assert trained_rows(tmp_path / "out", run) == []


def test_the_furthest_one_where_none_is_far(
    run: attentest.Run, sibling: attentest.Run, third: attentest.Run, tmp_path: Path
) -> None:
    means = {other.path.name: float(np.mean(difference(run, other).jsd)) for other in (sibling, third)}
    assert max(means.values()) < FAR
    furthest = max((sibling, third), key=lambda other: means[other.path.name])
    for n, order in enumerate(((sibling, third), (third, sibling))):
        assert_of(trained_rows(tmp_path / f"{n}", run, *order), run, furthest)


def test_the_most_accurate_of_those_that_are_far(
    run: attentest.Run, sibling: attentest.Run, third: attentest.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "FAR", 0.0)  # both are
    nearest = min((sibling, third), key=lambda other: difference(run, other).jsd.mean())
    better = attentest.open_run(shutil.copytree(nearest.path, tmp_path / "better"))
    result = json.loads((better.path / "result.json").read_text(encoding="utf-8"))
    (better.path / "result.json").write_text(json.dumps(result | {"test": result["test"] | {"f1": 1.1}}))
    others = {sibling, third} - {nearest} | {better}
    assert_of(trained_rows(tmp_path / "out", run, *others), run, better)
