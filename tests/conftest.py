"""Small data made here, and the benchmarks where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import attentest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the benchmarks: ATTENTEST_DATA, or shared/data beside the checkout."""
    folder = Path(os.environ.get("ATTENTEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no benchmark data: set ATTENTEST_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def corpus() -> attentest.Corpus:
    return attentest.load("planted", rows=300)


@pytest.fixture(scope="session")
def run(corpus: attentest.Corpus, tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """A small finished run."""
    out = tmp_path_factory.mktemp("runs") / "small"
    return attentest.train(corpus, out, epochs=2, dimension=16, hidden=8, seed=3)
