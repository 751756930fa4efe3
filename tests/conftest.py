"""Small data made here, and the benchmarks where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import attentest
from attentest.audits import Audit, conclude
from attentest.engine import Store
from attentest.studies.audit import BUDGETS, Budget, plan_audit
from attentest.studies.run_study import run_planned

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


@pytest.fixture(scope="session")
def sibling(run: attentest.Run, corpus: attentest.Corpus) -> attentest.Run:
    """Of `run`: the same texts, another seed, and trained for longer."""
    out = run.path.parent / "sibling"
    return attentest.train(corpus, out, epochs=6, dimension=16, hidden=8, seed=4, lr=0.03)


TINY = Budget(
    "everything once, as small as it can be",
    rows=None,
    tokens=None,
    texts=20,
    epochs=1,
    trials={
        "adversary": {"k": 2},
        "permutation": {"permutations": 5},
        "dispersion": {"influence_texts": 3},
        "information": {"runs": 2, "clusters": 5},
    },
    experiments={
        "uniform": {},
        "seeds": {"seeds": 2},
        "guides": {"epochs": 1},
        "adversary": {"lambdas": [0.0, 0.01], "epochs": 1, "seeds": 2, "far": 0.0},  # any is far
        "frozen": {"epochs": 1},
        "sparsity": {"lambdas": [0.0, 0.5]},
        "fix": {"runs": 2},
        "informed-adversary": {"strength": 0.01, "epochs": 1, "runs": 2},
        "gumbel": {"runs": 2},
    },
)
SIZE = {"epochs": 1, "dimension": 8, "hidden": 4}


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """An audit with every trial and every experiment, in this process; for reading only."""
    from test_engine import Here

    place = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(BUDGETS, "tiny", TINY)
        expanded = plan_audit("planted", "tiny", columns={"rows": 160}, training=SIZE)
    outcome = run_planned(expanded, place / "audit", Here, Store(place / "store"))
    assert outcome.failed == {}
    assert outcome.skipped == []
    return conclude(place / "audit", outcome)
