"""The folder of a study or an audit is always taken up by the command that began it, whenever that was killed."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.synchronize
import socket
from pathlib import Path

import pytest
from test_engine import Here

import attentest
from attentest import audits
from attentest.engine.store import Store
from attentest.studies.audit import plan_audit
from attentest.studies.expand import StudyPlan, expand
from attentest.studies.folder import status, write_plan
from attentest.studies.run_study import run_planned
from attentest.studies.schema import Study
from attentest.trials import subject_of

COLUMNS = {"rows": 100}


def planned() -> StudyPlan:
    return plan_audit("planted", columns=COLUMNS)


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "left",
    [
        [],
        [".lock"],
        [".lock", ".plan.json.99999999.attentest"],
        [".lock", ".plan.json.99999999.attentest", ".status.json.99999998.attentest"],
        [".lock", "status.json"],
    ],
    ids=len,
)
def test_what_a_kill_left_does_not_lock_the_folder(left: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for name in left:
        (folder / name).write_text("{")
    write_plan(folder, planned(), Store(tmp_path / "store"))
    assert json.loads((folder / "plan.json").read_text(encoding="utf-8"))["study"] == planned().study.name
    assert not [path for path in folder.iterdir() if path.name.endswith(".attentest")]


def test_a_kill_while_the_plan_is_first_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*given: object, **named: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        patched.setattr(Path, "unlink", lambda path, **named: None)  # nothing is tidied by a process that is dead
        with pytest.raises(Killed):
            write_plan(tmp_path / "out", planned(), Store(tmp_path / "store"))
    assert [path.name for path in (tmp_path / "out").glob(".plan.json.*")]
    write_plan(tmp_path / "out", planned(), Store(tmp_path / "store"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".lock", "plan.json"}


def test_files_of_the_user_are_refused_and_nothing_is_put_beside_them(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".notes.2024").write_text("precious")
    with pytest.raises(attentest.InputError, match="not a study; choose another folder"):
        write_plan(tmp_path / "out", planned(), Store(tmp_path / "store"))
    assert held(tmp_path / "out") == {".notes.2024": b"precious"}


def _write(folder: Path, store: Path, start: multiprocessing.synchronize.Event) -> None:
    expanded, place = planned(), Store(store)
    start.wait()
    write_plan(folder, expanded, place)


def test_two_commands_at_once_in_one_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    both = [context.Process(target=_write, args=(tmp_path / "out", tmp_path / "store", start)) for _ in range(3)]
    for process in both:
        process.start()
    start.set()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0, 0]
    assert status(tmp_path / "out").done == 0


def test_an_audit_of_a_subject_that_was_killed_is_taken_up(
    run: attentest.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_of(run, texts=10)

    class Killed(BaseException):
        pass

    def killed(*given: object, **named: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(audits, "instances", killed)
        patched.setattr("attentest.publish.remove", lambda path: None)
        with pytest.raises(Killed):
            attentest.audit(subject, tmp_path / "out")
    assert not (tmp_path / "out" / "summary.json").exists()
    done = attentest.audit(subject, tmp_path / "out")
    assert done.page.is_file()
    assert not [path.name for path in (tmp_path / "out").iterdir() if path.name.endswith(".attentest")]


def small(epochs: int = 1) -> StudyPlan:
    training = {"epochs": epochs, "dimension": 8, "hidden": 4}
    return expand(Study("small", corpora=("planted",), columns={"rows": 80}, models=({"encoder": "average"},),
                        training=training, trials={"uniform": {}}, texts=5))  # fmt: skip


def test_a_page_stays_while_the_results_do_and_goes_with_them(tmp_path: Path) -> None:
    out, store = tmp_path / "out", Store(tmp_path / "store")
    run_planned(small(), out, Here, store)
    attentest.report(out)
    before = held(out)
    assert "report.html" in before
    run_planned(small(), out, Here, store)
    assert held(out) == before
    run_planned(small(epochs=2), out, Here, store, overwrite=True)
    assert "report.html" not in held(out)  # it showed the results that were replaced
    assert {name.partition("/")[0] for name in held(out)} <= {name.partition("/")[0] for name in before}


def test_results_of_an_earlier_plan_are_told_on_the_page(tmp_path: Path) -> None:
    out, store = tmp_path / "out", Store(tmp_path / "store")
    run_planned(small(), out, Here, store)
    assert "results of an earlier time" not in attentest.report(out).page.read_text(encoding="utf-8")
    plan = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    plan["steps"][0]["key"] = "0" * 32  # as if the corpus had changed, and the audit was stopped after planning
    (out / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    assert "results of an earlier time" in attentest.report(out).page.read_text(encoding="utf-8")


@pytest.mark.parametrize("store", ["http://127.0.0.1:9/store", "ftp://127.0.0.1:9/store", "made-up/store"])
def test_the_status_of_somebody_elses_plan_makes_no_folder_and_asks_no_address(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(socket.socket, "connect", lambda *given: pytest.fail("a connection was opened"))
    write_plan(tmp_path / "out", planned(), Store(tmp_path / "store"))
    plan = json.loads((tmp_path / "out" / "plan.json").read_text(encoding="utf-8"))
    (tmp_path / "out" / "plan.json").write_text(json.dumps(plan | {"store": store}), encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert status(tmp_path / "out").done == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_another_store_is_no_other_plan(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_planned(small(), out, Here, Store(tmp_path / "store"))
    run_planned(small(), out, Here, Store(tmp_path / "other"))
    assert "results of an earlier time" not in attentest.report(out).page.read_text(encoding="utf-8")


def test_results_of_a_plan_that_another_command_replaced_are_not_put_in_its_place(tmp_path: Path) -> None:
    """Two commands with other settings in one folder, the second with `overwrite=True`, end in the other order."""
    out, store = tmp_path / "out", Store(tmp_path / "store")

    class Meanwhile(Here):
        def stop(self) -> None:
            super().stop()
            run_planned(small(epochs=2), out, Here, store, overwrite=True)

    with pytest.raises(attentest.InputError, match="Another command has planned other work"):
        run_planned(small(), out, Meanwhile, store)
    assert "results of an earlier time" not in attentest.report(out).page.read_text(encoding="utf-8")
    assert "2 epochs" in attentest.report(out).page.read_text(encoding="utf-8")
