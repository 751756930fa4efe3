"""The step that makes heat maps: which trained adversary stands beside the base, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from told_on_dev import told

import attentest
from attentest.progress import Listener
from attentest.studies.experiments.adversary import FAR
from attentest.studies.experiments.base import difference
from attentest.studies.steps import instances as step
from attentest.trials.instances import TRAINED


@pytest.fixture(scope="module")
def adversaries(run: attentest.Run, corpus: attentest.Corpus) -> tuple[attentest.Run, attentest.Run]:
    size: dict[str, Any] = {"epochs": 1, "dimension": 16, "hidden": 8, "objective": "adversary", "select_by": "loss"}
    first, second = (attentest.train(corpus, base=run, strength=strength, **size) for strength in (0.0, 0.1))
    return first, second


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
    run: attentest.Run, adversaries: tuple[attentest.Run, attentest.Run], tmp_path: Path
) -> None:
    assert max(other.dev["jsd"] for other in adversaries) < FAR
    furthest = max(adversaries, key=lambda other: other.dev["jsd"])
    for n, order in enumerate((adversaries, adversaries[::-1])):
        assert_of(trained_rows(tmp_path / f"{n}", run, *order), run, furthest)


def test_the_most_accurate_on_dev_of_those_that_are_far_there(
    run: attentest.Run, adversaries: tuple[attentest.Run, attentest.Run], tmp_path: Path
) -> None:
    copies = [told(other, tmp_path / f"{n}", jsd=FAR + 0.1, f1=0.5 + n / 10) for n, other in enumerate(adversaries)]
    for n, order in enumerate((copies, copies[::-1])):
        assert_of(trained_rows(tmp_path / f"out {n}", run, *order), run, copies[1])
    nearer = told(adversaries[1], tmp_path / "nearer", jsd=FAR - 0.1, f1=0.9)
    assert_of(trained_rows(tmp_path / "out", run, copies[0], nearer), run, copies[0])
