"""A real Ray on this machine: the same study gives the same tables, also when a worker is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from test_engine import Here, Notes

import attentest
from attentest.engine import Plan, Store, run_plan
from attentest.engine.on_ray import RayPool
from attentest.errors import InputError
from attentest.studies.run_study import run_study
from attentest.studies.schema import read_study

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'attentest[ray]'")

STUDY = {
    "corpora": ["planted"],
    "columns": {"rows": 200},
    "training": {"epochs": 60, "dimension": 12, "hidden": 8},  # long enough to be caught in the middle
    "trials": ["uniform"],
    "experiments": {"seeds": {"seeds": 2}},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    source = Path(attentest.__file__).parents[1]  # that of the tests, also where another one is installed
    path = os.pathsep.join(map(str, (Path(__file__).parent, source)))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    yield
    ray.shutdown()


def tables(folder: Path) -> dict[str, str]:
    return {str(f.relative_to(folder)): f.read_text(encoding="utf-8") for f in sorted(folder.rglob("*.csv"))}


@pytest.mark.slow
def test_the_same_tables_also_when_a_worker_is_killed(cluster: None, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(STUDY))
    study = read_study(file)
    here = run_study(study, tmp_path / "here", Here, store=Store(tmp_path / "a"))
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_worker, args=(tmp_path / "b" / "work", killed))
    killer.start()
    on_ray = run_study(study, tmp_path / "ray", RayPool, store=Store(tmp_path / "b"))
    killer.join()
    assert killed
    assert (here.failed, on_ray.failed) == ({}, {})
    assert on_ray.done == here.done
    assert tables(tmp_path / "here") == tables(tmp_path / "ray")


def kill_a_worker(work: Path, killed: list[int]) -> None:
    """SIGKILL to the process that holds the lock of a training which is under way."""
    until = time.monotonic() + 300  # on a busy machine Ray alone takes a minute to start
    while time.monotonic() < until and not killed:
        for folder in work.glob("*"):
            pid = _writer(folder) if (folder / "checkpoint.safetensors").exists() else None
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.02)


def _writer(folder: Path) -> int | None:
    """The process that has the lock file of this entry open."""
    lock = folder.parents[1] / "locks" / folder.name
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if not (process / "cmdline").read_bytes().startswith(b"ray::"):
                continue
            handles = [str(handle.readlink()) for handle in (process / "fd").iterdir()]
        except OSError:
            continue
        if str(lock) in handles:
            return int(process.name)
    return None


@pytest.mark.slow
def test_failed_steps_on_ray(cluster: None, tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), Plan()
    plan.add("broken", "toy_steps:fail", {})
    plan.add("good", "toy_steps:add", {"number": 2})
    outcome = run_plan(plan, store, RayPool(store))
    assert outcome.failed == {"broken": "this one never works"}
    assert outcome.done == 1


@pytest.mark.slow
def test_warnings_of_steps_on_ray(cluster: None, tmp_path: Path) -> None:
    store, plan, watcher = Store(tmp_path / "store"), Plan(), Notes()
    plan.add("warns", "toy_steps:warn", {})
    assert run_plan(plan, store, RayPool(store), [watcher]).done == 1
    assert watcher.said == ["the work was damaged and is started again"]


@pytest.mark.slow
def test_ctrl_c(tmp_path: Path) -> None:
    ray.shutdown()
    command = [sys.executable, "-m", "attentest", "audit", "planted", "-o", "rows=2000", "--engine", "ray", "--json"]
    command += ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "audit")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    status, deadline = tmp_path / "audit" / "status.json", time.monotonic() + 120
    while not status.exists() or not json.loads(status.read_text(encoding="utf-8"))["running"]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - sent < 5
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("attentest: Interrupted. Run the same command again to resume")
    assert "Traceback" not in said


def test_ray_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="not installed"):
        RayPool(Store(tmp_path))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_ray_that_cannot_be_reached(tmp_path: Path, address: str) -> None:
    ray.shutdown()
    with pytest.raises(InputError, match="cannot be reached: Connection refused"):
        RayPool(Store(tmp_path), address)


@pytest.mark.slow
def test_no_ray_on_this_machine(tmp_path: Path) -> None:
    ray.shutdown()
    with pytest.raises(InputError, match="'auto' cannot be reached"):
        RayPool(Store(tmp_path), "auto")
