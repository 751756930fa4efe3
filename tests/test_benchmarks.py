"""The benchmarks compare the same work: the twin starts as the same model, and figures are written as promised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import __main__ as bench
from benchmarks.memory import LIMIT, ROWS, peak_memory, write_corpus
from benchmarks.row import Row
from benchmarks.training import DIMENSION, Twin, Work, made_up

from attentest.models import Classifier, ModelSettings
from attentest.text.batches import make_batch


def test_the_twin_of_training_is_the_same_model() -> None:
    data = made_up(Work("small", rows=60, mean=19, longest=50, epochs=1, target=1))
    model = Classifier(ModelSettings(), 0.1 * torch.randn(len(data.vocabulary), DIMENSION), 2)
    batch = make_batch(data, np.arange(20))
    ours, _ = model(batch)
    assert torch.allclose(ours[:, 1], Twin(model).logits(batch.ids, batch.mask), atol=1e-5)


def test_table_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    row = Row("name", "work", 1.0, 3.0, 3.0, 2.0)
    monkeypatch.setattr(bench, "_benchmark", lambda name: lambda: [row])
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "__main__.py"))
    assert bench.main(["name"]) == 0
    assert json.loads((tmp_path / "latest.json").read_text(encoding="utf-8")) == [
        {"name": "name", "work": "work", "ours": 1.0, "twin": 3.0, "ratio": 3.0, "target": 2.0}
    ]
    assert "ratio    3.00" in capsys.readouterr().out


def test_unknown_benchmark(capsys: pytest.CaptureFixture) -> None:
    assert bench.main(["training-sts"]) == 2
    assert "did you mean 'training-sst'" in capsys.readouterr().err


def test_every_benchmark_can_be_found() -> None:
    assert all(callable(bench._benchmark(name)) for name in bench.BENCHMARKS)


@pytest.mark.slow
def test_a_million_rows_stay_under_two_gigabytes(tmp_path: Path) -> None:
    write_corpus(tmp_path / "million.csv", ROWS)
    rows, peak = peak_memory(tmp_path / "million.csv")
    assert rows == ROWS
    assert peak < LIMIT
