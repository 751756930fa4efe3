"""What is told of JSON files that are damaged or of another version: the field, and the way out.

Every field of every file is damaged in tests/hostile/test_damaged_fields.py.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import attentest
from attentest.audits import Audit
from attentest.engine.store import DamagedError, Store
from attentest.reports.write import write_report
from attentest.studies.folder import status, write_plan
from attentest.trials import subject_of

Place = tuple[str | int, ...]


def without(content: Any, path: Place) -> Any:
    changed = copy.deepcopy(content)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return changed


def put(content: Any, path: Place, value: Any) -> Any:
    changed = copy.deepcopy(content)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def outcome(read: Callable[[], object]) -> str | None:
    """The message, or None if nothing was wrong with it; anything but a message fails the test."""
    try:
        read()
    except (attentest.InputError, DamagedError) as error:
        return str(error)
    return None


REQUIRED = {
    "summary.json": ("study", "title", "kind", "budget", "rows", "notes", "blocks", "findings", "missing", "failed"),
    "plan.json": ("study", "budget", "settings", "store", "corpora", "steps"),
    "verdict.json": ("thresholds",),
    "findings/*-removal/finding.json": ("kind", "trial", "question", "answer", "summary", "signature"),
}


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_field_is_named(name: str, audited: Audit, tmp_path: Path) -> None:
    mine = shutil.copytree(audited.folder, tmp_path / "copy")
    (file,) = mine.glob(name)
    content = json.loads(file.read_text(encoding="utf-8"))
    read = status if name == "plan.json" else write_report
    for field in REQUIRED[name]:
        file.write_text(json.dumps(without(content, (field,))), encoding="utf-8")
        message = outcome(lambda: read(mine))
        assert message is not None
        assert f"`{field}`" in message


def test_a_plan_of_another_form_is_told_when_it_is_written_again(audited: Audit, tmp_path: Path) -> None:
    from attentest.studies.audit import plan_audit

    mine = shutil.copytree(audited.folder, tmp_path / "copy")
    (mine / "plan.json").write_text('{"study": 3}', encoding="utf-8")
    with pytest.raises(attentest.InputError, match=r"plan\.json is damaged.*`study`"):
        write_plan(mine, plan_audit("planted", columns={"rows": 100}), Store(tmp_path / "store"))


def test_a_damaged_plan_can_be_overwritten(audited: Audit, tmp_path: Path) -> None:
    from attentest.studies.audit import plan_audit

    mine = shutil.copytree(audited.folder, tmp_path / "copy")
    (mine / "plan.json").write_text("{}", encoding="utf-8")
    planned, store = plan_audit("planted", columns={"rows": 100}), Store(tmp_path / "store")
    with pytest.raises(attentest.InputError, match="overwrite=True"):
        write_plan(mine, planned, store)
    write_plan(mine, planned, store, overwrite=True)
    assert status(mine).study == planned.study.name


def test_classes_that_are_not_those_of_the_labels_are_told(run: attentest.Run, tmp_path: Path) -> None:
    mine = shutil.copytree(run.path, tmp_path / "copy")
    content = json.loads((mine / "run.json").read_text(encoding="utf-8"))
    (mine / "run.json").write_text(json.dumps(put(content, ("corpus", "classes"), ["a", "b"])), encoding="utf-8")
    with pytest.raises(attentest.InputError, match=r"run\.json.*`classes`"):
        subject_of(attentest.open_run(mine))


@pytest.mark.parametrize(("group", "field"), [("model", "encoder"), ("text", "lower"), ("training", "seed")])
def test_a_setting_that_is_missing_is_told(group: str, field: str, run: attentest.Run, tmp_path: Path) -> None:
    """Runs of another version, which may have had fewer settings, are read."""
    mine = shutil.copytree(run.path, tmp_path / "copy")
    content = without(json.loads((mine / "run.json").read_text(encoding="utf-8")), (group, field))
    (mine / "run.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(attentest.InputError, match=rf"run\.json.*`{field}`"):
        attentest.open_run(mine)
    (mine / "run.json").write_text(json.dumps(put(content, ("versions", "attentest"), "0.0.1")), encoding="utf-8")
    attentest.open_run(mine)


def test_a_run_that_is_whole_is_read(run: attentest.Run) -> None:
    assert subject_of(attentest.open_run(run.path)).rows.size
