"""A field of wrong type, missing or null in any JSON file that is read back is a message with file and field."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import attentest
from attentest.audits import Audit
from attentest.engine.store import DamagedError, Store
from attentest.reports.gather import kept_thresholds
from attentest.reports.write import write_report
from attentest.studies.cells import read_cells
from attentest.studies.folder import status, write_plan
from attentest.studies.results import read_summary
from attentest.trials import subject_of
from attentest.trials.stored import read_finding

WRONG: tuple[tuple[str, Any], ...] = (("a list", [[]]), ("a number", 17.5), ("a word", "word"), ("null", None))
FREE = {
    "signature",
    "description",
    "origin",
    "recipe",
}  # written down for people and other programs, not read as fields
Place = tuple[str | int, ...]


class Case(NamedTuple):
    """A file in a folder, and what reads it."""

    file: str
    read: Callable[[Path], object]


def trained(folder: Path) -> object:
    """Train what the folder holds again: it is found finished, or refused."""
    corpus = attentest.load("planted", rows=300)
    return attentest.train(corpus, folder, epochs=2, dimension=16, hidden=8, seed=3)


RUN = (
    Case("run.json", attentest.open_run),
    Case("run.json", trained),
    Case("result.json", lambda folder: attentest.open_run(folder).metrics),
    Case("vocabulary.json", lambda folder: attentest.open_run(folder).vocabulary),
)
AUDIT = (
    Case("summary.json", read_summary),
    Case("verdict.json", kept_thresholds),
    Case("findings/*-removal/finding.json", lambda folder: read_finding(next(folder.glob("findings/*-removal")))),
    Case("plan.json", status),
    Case("status.json", status),
)


def places(content: Any, path: Place = ()) -> Iterator[Place]:
    """Every field of a JSON file, to any depth; of a list the first entry stands for all."""
    if path:
        yield path
    if isinstance(content, dict):
        for key, value in content.items():
            if key not in FREE:
                yield from places(value, (*path, key))
    elif isinstance(content, list) and content:
        yield from places(content[0], (*path, 0))


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


def damages(content: Any) -> Iterator[tuple[str, Any]]:
    for path in places(content):
        yield f"{path} missing", without(content, path)
        for name, value in WRONG:
            yield f"{path} is {name}", put(content, path, value)
    for name, value in (*WRONG, ("an empty object", {})):
        yield f"the whole is {name}", value


def outcome(read: Callable[[], object]) -> str | None:
    """The message, or None if nothing was wrong with it; anything but a message fails the test."""
    try:
        read()
    except (attentest.InputError, DamagedError) as error:
        return str(error)
    return None


OF_OTHERS = ("already holds another run", "is not there", "does not belong to this run", "there is no such")


def check(case: Case, folder: Path, work: Path) -> list[str]:
    """The messages to every damage of the file in a copy of the folder."""
    mine = shutil.copytree(folder, work / "copy")
    (file,) = mine.glob(case.file)
    usual = file.read_text(encoding="utf-8")
    content = json.loads(usual)
    told = []
    for what, damaged in damages(content):
        file.write_text(json.dumps(damaged), encoding="utf-8")
        message = outcome(lambda: case.read(mine))
        if message is not None:
            # a value of the right type may name another file, or be another run's
            assert file.name in message or any(part in message for part in OF_OTHERS), f"{what}: {message}"
            told.append(f"{what}: {message}")
    for text in ("", "[", "{" * 3000, "nul", "[" * 100_000):
        file.write_text(text, encoding="utf-8")
        assert outcome(lambda: case.read(mine))
    file.write_text(usual, encoding="utf-8")
    assert outcome(lambda: case.read(mine)) is None
    return told


@pytest.mark.parametrize("case", RUN, ids=lambda case: f"{case.file}-{case.read.__name__}")
def test_of_a_run(case: Case, run: attentest.Run, tmp_path: Path) -> None:
    told = check(case, run.path, tmp_path)
    assert told
    if case.file == "run.json":
        for field in ("format", "corpus", "fingerprint", "classes", "model", "training", "text", "notes"):
            assert any(f"'{field}'" in line and "missing:" in line and f"`{field}`" in line for line in told), field


@pytest.mark.parametrize("case", AUDIT, ids=lambda case: case.file)
def test_of_an_audit(case: Case, audited: Audit, tmp_path: Path) -> None:
    assert check(case, audited.folder, tmp_path)


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


def test_of_the_store(audited: Audit, tmp_path: Path) -> None:
    """A damaged entry is damaged, whatever of its manifest is; a damaged register is a message."""
    plan = json.loads((audited.folder / "plan.json").read_text(encoding="utf-8"))
    store = Store(shutil.copytree(plan["store"], tmp_path / "store"))
    key = plan["steps"][0]["key"]
    file = store.path(key) / "entry.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    read = {name: content[name] for name in ("key", "files")}
    listed = len(content["files"])
    for _, damaged in damages(read):
        files = damaged.get("files") if isinstance(damaged, dict) else None
        if isinstance(files, dict) and len(files) == listed - 1:
            continue  # of a file that is not listed nobody knows
        file.write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(DamagedError):
            store.fetch(key)
    file.write_text(json.dumps(content), encoding="utf-8")
    store.fetch(key)
    (register,) = (store.root / "studies").glob("*.json")
    content = json.loads(register.read_text(encoding="utf-8"))
    for _, damaged in damages(content):
        register.write_text(json.dumps(damaged), encoding="utf-8")
        outcome(lambda: store.collect(dry_run=True))


def test_of_cells(tmp_path: Path) -> None:
    cells = [{"variant": "a", "measure": "b", "value": 1.0, "low": None, "high": 2.0, "model": ""}]
    file = tmp_path / "cells.json"
    for what, damaged in damages(cells):
        file.write_text(json.dumps(damaged), encoding="utf-8")
        message = outcome(lambda: read_cells(tmp_path))
        # numbers may be undefined, names may be any words, and there may be no cells
        allowed = ("'model') missing", "is null", "is a number", "is a word", "(0,) missing")
        assert message or any(part in what for part in allowed), what


def test_a_corpus_that_was_saved(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    corpus = attentest.load("planted", rows=20)
    file = tmp_path / "corpus.parquet"
    corpus.save(file)
    table = pq.read_table(file)
    (key,) = [name for name in table.schema.metadata if b"attentest" in name]
    content = json.loads(table.schema.metadata[key])
    for what, damaged in damages(content):
        pq.write_table(table.replace_schema_metadata({key: json.dumps(damaged)}), file)
        message = outcome(lambda: attentest.load(file))
        assert message or "notes" in what or "'name',) is a word" in what or "is a word" in what, what


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
