"""Small data made here, and the benchmarks where they are at hand."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from program import Program, program

import attentest
from attentest.audits import Audit, run_audit
from attentest.engine import Store
from attentest.studies.audit import BUDGETS, Budget, plan_audit

ROOT = Path(__file__).parents[1]


def pytest_configure() -> None:
    """Signals end programs as usual, also those that tests start: under nohup, say, some are ignored."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the benchmarks: ATTENTEST_DATA, or shared/data beside the checkout."""
    folder = Path(os.environ.get("ATTENTEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no benchmark data: set ATTENTEST_DATA to its folder")
    return folder


@pytest.fixture(autouse=True)
def own_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is for the tests, also where the program runs in their process."""
    monkeypatch.setattr("attentest.cli.signals.install", lambda: None)


@pytest.fixture(scope="session")
def corpus() -> attentest.Corpus:
    return attentest.load("planted", rows=300)


@pytest.fixture(scope="session")
def run(corpus: attentest.Corpus, tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """A small finished run; for reading only."""
    out = tmp_path_factory.mktemp("runs") / "small"
    made = attentest.train(corpus, out, epochs=2, dimension=16, hidden=8, seed=3)
    share("run", out)
    return made


@pytest.fixture(scope="session")
def sibling(run: attentest.Run, corpus: attentest.Corpus) -> attentest.Run:
    """Of `run`: the same texts, another seed, and trained for longer; for reading only."""
    out = run.path.parent / "sibling"
    made = attentest.train(corpus, out, epochs=6, dimension=16, hidden=8, seed=4, lr=0.03)
    share("sibling", out)
    return made


@pytest.fixture
def own_run(run: attentest.Run, tmp_path: Path) -> attentest.Run:
    """A copy of `run` to write into."""
    return attentest.open_run(shutil.copytree(run.path, tmp_path / "own" / "run"))


@pytest.fixture(scope="session")
def encoder_run(tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """A tiny Hugging Face classifier, which lies beside it as `theirs`, on texts with rationales; for reading only."""
    from tiny_encoders import marked_corpus, save_classifier

    from attentest.training.take import take_pretrained

    place = tmp_path_factory.mktemp("encoders")
    taken = take_pretrained(marked_corpus(), save_classifier(place / "theirs"), place / "run")
    share("encoder_run", taken.path)
    return attentest.open_run(taken.path)


@pytest.fixture(autouse=True)
def shared_folders_stay_as_they_are(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that writes into a folder that others read fails itself, in whatever order tests run."""
    yield
    for name in SHARED.keys() & set(request.fixturenames):
        folder, before = SHARED[name]
        now = contents(folder)
        SHARED[name] = (folder, now)
        changed = sorted(str(file) for file in before.keys() | now.keys() if before.get(file) != now.get(file))
        assert not changed, f"{folder} is for reading only; changed: {', '.join(changed)}"


SHARED: dict[str, tuple[Path, dict[Path, tuple[int, int]]]] = {}  # by fixture: a folder, and what was in it


def share(name: str, folder: Path) -> None:
    SHARED[name] = (folder, contents(folder))


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder): (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Runs `attentest …` in this process."""
    return program(monkeypatch, capsys)


TINY = Budget(
    "everything once, as small as it can be",
    rows=None,
    tokens=None,
    texts=20,
    training={"epochs": 1},
    trials={
        "adversary": {"k": 2},
        "permutation": {"permutations": 5},
        "dispersion": {"influence_texts": 3},
        "information": {"runs": 2, "clusters": 5},
    },
    experiments={
        "controls": {"texts": 20, "epochs": 1},
        "uniform": {},
        "seeds": {"seeds": 2, "examine": ["uniform"]},
        "guides": {"epochs": 1},
        "adversary": {"lambdas": [0.0, 0.01], "epochs": 1, "seeds": 2, "far": 0.0},  # any is far
        "frozen": {"epochs": 1},
        "sparsity": {"lambdas": [0.0, 0.5]},
        "fix": {"runs": 2},
        "informed-adversary": {"strength": 0.01, "epochs": 1, "runs": 2},
        "gumbel": {"runs": 2},
    },
)
SIZE: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """An audit with every trial and every experiment, in this process; for reading only."""
    from test_engine import Here

    place = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(BUDGETS, "tiny", TINY)
        expanded = plan_audit("planted", "tiny", columns={"rows": 160}, training=SIZE)
    made = run_audit(expanded, place / "audit", Here, Store(place / "store"))
    assert made.outcome.failed == {}
    assert made.outcome.skipped == []
    share("audited", place / "audit")
    return made
