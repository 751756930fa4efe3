"""The commands of studies, as a user gives them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from program import Program

from attentest.engine.store import Store
from attentest.studies.folder import RunningStep

YAML = """
corpora: [planted]
columns: {rows: 200}
training: {epochs: 3, dimension: 12, hidden: 8}
trials: [uniform]
experiments:
  - seeds: {seeds: 2}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(YAML)
    return file


def tables(folder: Path) -> dict[str, str]:
    return {str(f.relative_to(folder)): f.read_text(encoding="utf-8") for f in sorted(folder.rglob("*.csv"))}


def test_plan_run_status_and_collect(command: Program, study: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    dry = command("study", study, "--dry-run", "--store", store, "--json")
    planned = json.loads(dry.out)
    assert len(planned["steps"]) == 8
    assert not any(step["done"] for step in planned["steps"])
    done = command("study", study, "--store", store, "--out", out, "--json")
    assert json.loads(done.out)["done"] == 8
    assert done.code == 0
    assert "8 of 8 steps done" in command("status", out).out
    assert "0 entries" in command("store", "gc", "--store", store).out
    dry = command("study", study, "--dry-run", "--store", store)
    assert dry.out.count("done  ") == 8


@pytest.mark.parametrize(
    ("seconds", "pace", "left"), [([1e308], 1e308, "16,666,667 minutes"), ([1e308] * 2, 0.0, "1 minute")]
)
def test_the_status_of_a_tampered_folder(
    command: Program, tmp_path: Path, seconds: list[float], pace: float, left: str
) -> None:
    steps = [{"key": f"{i}", "name": "x", "seconds": second} for i, second in enumerate(seconds)]
    plan = {"study": "x", "budget": "", "settings": {}, "store": str(tmp_path / "no"), "corpora": {}, "steps": steps}
    now = RunningStep("x", 0, "a", "training", 1e308)
    status = {"pid": os.getpid(), "running": {"0": asdict(now)}, "failed": {"x": ""}, "pace": pace}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "status.json").write_text(json.dumps(status))
    told = command("status", tmp_path)
    assert told.code == 0
    assert told.out.splitlines()[1:] == ["  running  x: training 100 %", "  failed   x: ", f"about {left} left"]


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize("beside", [[], ["locks", "studies", "thesis"]])
@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_a_folder_that_is_no_store_is_not_collected(
    command: Program, tmp_path: Path, beside: list[str], dry_run: list[str]
) -> None:
    for name in ("entries", "work", *beside):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("precious")
    before = contents(tmp_path)
    refused = command("store", "gc", "--store", tmp_path, *dry_run)
    assert refused.code == 2
    assert "not a store of attentest; choose another folder as --store" in refused.err
    assert contents(tmp_path) == before


def test_collecting_without_removing_changes_nothing(command: Program, tmp_path: Path) -> None:
    assert "0 entries" in command("store", "gc", "--store", tmp_path / "new", "--dry-run").out
    assert not (tmp_path / "new").exists()
    store = Store(tmp_path / "store").root
    (store / "entries").rmdir()
    (store / "entries").write_text("odd")
    before = contents(store)
    assert command("store", "gc", "--store", store, "--dry-run").code == 0
    assert contents(store) == before
    said, removed = command("store", "gc", "--store", store).out.splitlines()
    assert said.endswith(f"it is set aside as {store / 'damaged' / 'entries'}.")
    assert removed.startswith("0 entries")
    assert (store / "damaged" / "entries").read_text() == "odd"
    assert command("store", "gc", "--store", store).out.startswith("1 entry")


def test_a_store_of_an_earlier_version_is_taken_up(command: Program, tmp_path: Path) -> None:
    for name in ("entries", "work", "locks", "studies"):
        (tmp_path / name).mkdir()
    (tmp_path / "entries" / "old").mkdir()
    assert command("store", "gc", "--store", tmp_path).out.startswith("1 entry")
    (tmp_path / "studies").rmdir()  # a store all the same, from now on
    assert command("store", "gc", "--store", tmp_path).code == 0


def test_killed_and_started_again_the_tables_are_the_same(command: Program, study: Path, tmp_path: Path) -> None:
    """A short version of many kills: two here, at moments when different steps are under way."""
    whole = command("study", study, "--store", tmp_path / "a", "--out", tmp_path / "whole", "--workers", 1)
    assert whole.code == 0
    again = ["study", str(study), "--store", str(tmp_path / "b"), "--out", str(tmp_path / "broken"), "--workers", "1"]
    seen: set[str] = set()
    entries = tmp_path / "b" / "entries"
    for steps in (2, 5):  # of 8
        process = subprocess.Popen(
            [sys.executable, "-m", "attentest.cli", *again],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 120
        while len(list(entries.glob("*"))) < steps and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        finished = {path.name for path in entries.glob("*")}
        assert seen < finished
        seen = finished
    made = {path.name: (path / "entry.json").read_text(encoding="utf-8") for path in entries.glob("*")}
    assert command(*again).code == 0
    assert tables(tmp_path / "whole") == tables(tmp_path / "broken")
    for name, manifest in made.items():  # what was finished was not made again
        assert (entries / name / "entry.json").read_text(encoding="utf-8") == manifest


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("study", "wiegrefe2019"), "did you mean 'wiegreffe2019'"),
        (("study", "nothing.yaml"), "no such file"),
        (("study", "jain2019", "--engine", "slurm"), "choose local or ray"),
        (("study", "jain2019", "--budget", "huge", "--corpus", "planted"), "quick, standard, paper"),
        (("study", "own.yaml", "--budget", "quick"), "own does not say what the budget quick changes"),
        (("study", "jain2019", "imdb"), "give corpora after --corpus"),
        (("status", "."), "is not the folder of a study"),
        (("study", "jain2019", "--corpus", "nothing"), "nothing"),
    ],
)
def test_bad_input_is_a_sentence(
    command: Program, arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.yaml").write_text(YAML)
    monkeypatch.chdir(tmp_path)
    found = command(*arguments)
    assert found.code == 2
    assert sentence in found.err
    assert "Traceback" not in found.err


def test_a_failed_step_is_listed(command: Program, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(YAML.replace("epochs: 3", "epochs: 3, lr: 1.0e+30"))
    found = command("study", file, "--store", tmp_path / "store", "--out", tmp_path / "out", "--workers", 1)
    assert found.code == 1
    assert "failed: train planted" in found.out
    assert "Training diverged" in found.out
    assert "depend on failed steps" in found.out
