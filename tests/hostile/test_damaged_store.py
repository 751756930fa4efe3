"""Whatever is damaged in a store is set aside, named and made again; what a study needs is never removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import pytest
from other_kinds import IN_PLACE_OF_A_FILE, IN_PLACE_OF_A_FOLDER, Damage, link_to_file, put_in_place
from test_engine import Here, Notes, chain

from attentest.engine import Plan, Step, Store, run_plan
from attentest.engine.store import DamagedError
from attentest.errors import InputError
from attentest.files import draft_of

FILE = {"bytes": 1, "sha256": "0" * 16}
NAMES = (  # in a manifest, that lead out of an entry or are no names
    *("../x", "a/../../x", "/x", "//x", "..", ".", "", "a//b", "./a", "a/.", "C:x", "C:\\x", "..\\x", "a\\b"),
    *("entry.json", "a\0b", "a\nb", "\udce4", "ä", "a" * 5000, "\x1b[2J"),
)


def each(*values: Any, of: str = "", within: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
    return {f"{of or 'the whole'} is {str(value)[:20]!r}": within(value) for value in values}


CONTENTS: dict[str, Any] = {  # of a manifest; `...` is missing
    **each(None, [], [1], 7, "word", {}, True),
    **each(
        ..., None, [], {}, "a", 3, {"sum": None}, {"sum": 3}, {"sum": []}, of="files", within=lambda v: {"files": v}
    ),
    **each(..., None, 3, [], "another", "../x", of="key", within=lambda v: {"key": v}),
    **each(None, "1", 1.5, -1, 10**400, of="bytes", within=lambda v: {"files": {"sum": FILE | {"bytes": v}}}),
    **each(None, 1, "", [], {}, of="sha256", within=lambda v: {"files": {"sum": FILE | {"sha256": v}}}),
    **each(*NAMES, of="a name", within=lambda v: {"files": {v: FILE}}),
    "a file is a folder, too": {"files": {"sum": FILE, "sum/more": FILE}},
}
RAW = {
    "empty": b"",
    "half": b'{"key": ',
    "deep": b"[" * 100_000,
    "deep in files": b'{"files": ' + b'{"a":' * 50_000,
    "a huge number": b'{"key": 1' + b"0" * 5000 + b"}",
    "UTF-16": '{"key": "a"}'.encode("utf-16"),
    "no UTF-8": b'{"key": "\xff\xfe"}',
    "NaN": b'{"key": NaN}',
    "Infinity": b'{"files": {"sum": {"bytes": 1e999}}}',
    "zeros": bytes(100),
}


def made(place: Path | str, log: Path) -> tuple[Store, Plan, Step, Step]:
    store, plan = Store(place), chain(log, 1, 2)
    assert run_plan(plan, store, Here(store)).failed == {}
    first, last = plan
    return store, plan, first, last


def written(store: Store, key: str, content: Any) -> None:
    """A manifest with other fields, or another content."""
    file = store.path(key) / "entry.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
        return
    if isinstance(content, Mapping) and content:
        usual = json.loads(file.read_text(encoding="utf-8"))
        content = {name: value for name, value in (usual | content).items() if value is not ...}
    file.write_text(json.dumps(content), encoding="utf-8")


def check_made_again(store: Store, plan: Plan, step: Step, name: str = "") -> None:
    """The damaged entry is set aside, the note says where, and a run makes it again."""
    notes = Notes()
    outcome = run_plan(plan, store, Here(store), [notes])
    assert (outcome.failed, outcome.skipped) == ({}, [])
    (said,) = [note for note in notes.said if f"'{step.name}' was damaged" in note]
    assert name in said
    assert f"it is set aside as {store.root / 'damaged' / step.key}" in said
    assert os.path.lexists(store.root / "damaged" / step.key)
    assert [(store.fetch(s.key) / "sum").read_text(encoding="utf-8") for s in plan] == ["1", "3"]


@pytest.mark.parametrize("content", [*CONTENTS.values(), *RAW.values()], ids=[*CONTENTS, *RAW])
def test_a_damaged_manifest(content: Any, tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    written(store, first.key, content)
    with pytest.raises(DamagedError, match=r"entry\.json|sum"):
        store.fetch(first.key)
    check_made_again(store, plan, first, str(store.path(first.key)))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("damage", IN_PLACE_OF_A_FOLDER)
def test_something_else_where_an_entry_is(damage: Damage, tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    put_in_place(damage, store.path(first.key))
    check_made_again(store, plan, first)


@pytest.mark.parametrize("name", ["entry.json", "sum"])
@pytest.mark.parametrize("damage", [*IN_PLACE_OF_A_FILE, link_to_file])
def test_something_else_where_a_file_of_an_entry_is(damage: Damage, name: str, tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    put_in_place(damage, store.path(first.key) / name)
    check_made_again(store, plan, first, name)


def empty(entry: Path) -> None:
    for file in entry.iterdir():
        file.unlink()


def more_files(entry: Path) -> None:
    (entry / "more").mkdir()
    (entry / "more" / "finding.json").write_text("{}", encoding="utf-8")


def linked_folder(entry: Path) -> None:
    (entry / "more").symlink_to(entry.parent)


def no_manifest(entry: Path) -> None:
    (entry / "entry.json").unlink()


def no_result(entry: Path) -> None:
    (entry / "sum").unlink()


def other_bytes(entry: Path) -> None:
    (entry / "sum").write_text("7", encoding="utf-8")


def shorter(entry: Path) -> None:
    (entry / "sum").write_bytes(b"")


@pytest.mark.parametrize("damage", [empty, more_files, linked_folder, no_manifest, no_result, other_bytes, shorter])
def test_an_entry_with_other_files(damage: Callable[[Path], None], tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    damage(store.path(first.key))
    check_made_again(store, plan, first)


def test_an_entry_that_is_very_deep(tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    here = os.open(store.path(first.key), os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("deepest", os.O_CREAT, dir_fd=here))
    os.close(here)
    check_made_again(store, plan, first)
    assert store.collect()[0] == 3


def test_what_a_system_leaves_in_an_entry_does_not_damage_it(tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    (store.path(first.key) / ".DS_Store").touch()
    notes = Notes()
    assert run_plan(plan, store, Here(store), [notes]).done == 0
    assert notes.said == []


def test_what_was_set_aside_twice_has_two_names(tmp_path: Path) -> None:
    store, plan, first, _ = made(tmp_path / "store", tmp_path)
    for _ in range(3):
        other_bytes(store.path(first.key))
        assert run_plan(plan, store, Here(store)).failed == {}
    assert {path.name for path in (store.root / "damaged").iterdir()} == {
        first.key,
        f"{first.key}-2",
        f"{first.key}-3",
    }
    (tmp_path / "study").mkdir()
    store.register(tmp_path / "study", [step.key for step in plan])
    assert store.collect(dry_run=True)[0] == 3
    count, freed = store.collect()
    assert count == 3
    assert freed > 0
    assert list((store.root / "damaged").iterdir()) == []
    assert run_plan(plan, store, Here(store)).done == 0


@pytest.mark.parametrize("damage", IN_PLACE_OF_A_FOLDER)
@pytest.mark.parametrize("name", ["entries", "work", "locks"])
def test_something_else_where_a_folder_of_the_store_is(name: str, damage: Damage, tmp_path: Path) -> None:
    if damage.__name__ == "unreadable_folder":
        pytest.skip("a folder of the store that may not be read is told as a store that cannot be written")
    store, plan, *_ = made(tmp_path / "store", tmp_path)
    put_in_place(damage, store.root / name)
    again, notes = Store(store.root), Notes()
    outcome = run_plan(plan, again, Here(again), [notes])
    assert (outcome.failed, outcome.done) == ({}, 2 if name == "entries" else 0)
    assert any(str(store.root / "damaged" / name) in note for note in notes.said)
    if damage is link_to_file:
        assert (tmp_path / f"elsewhere-{name}").read_text(encoding="utf-8") == "of somebody else"


@pytest.mark.parametrize("name", ["locks", "work"])
@pytest.mark.parametrize("damage", [*IN_PLACE_OF_A_FILE, link_to_file])
def test_something_else_where_a_lock_or_a_work_folder_is(name: str, damage: Damage, tmp_path: Path) -> None:
    if damage.__name__ in ("folder", "unreadable_file") and name == "work":
        pytest.skip("that is what it is")
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1)
    (step,) = plan
    put_in_place(damage, store.root / name / step.key)
    assert run_plan(plan, store, Here(store)).failed == {}
    assert (store.fetch(step.key) / "sum").read_text(encoding="utf-8") == "1"
    aside = store.root / "damaged" / f"{'lock' if name == 'locks' else name}-{step.key}"
    if damage.__name__ != "unreadable_file":
        assert os.path.lexists(aside)
    if damage is link_to_file:
        assert (store.root / f"elsewhere-{step.key}").read_text(encoding="utf-8") == "of somebody else"


def test_what_was_in_the_way_of_the_work_is_told(tmp_path: Path) -> None:
    from attentest.engine.perform import perform
    from attentest.progress import Listener

    class Heard(Listener):
        def warning(self, sentence: str) -> None:
            said.append(sentence)

    said: list[str] = []
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1)
    (step,) = plan
    (store.root / "work" / step.key).touch()
    assert perform(step, store, Heard())
    assert [str(store.root / "damaged" / f"work-{step.key}") in sentence for sentence in said] == [True]


REGISTERS: dict[str, Any] = {
    **each(None, [], 7, "word", {}),
    **each(..., None, 3, [], {}, "", "another", "a\0b", "a" * 10_000, of="study", within=lambda v: {"study": v}),
    **each(..., None, 3, "a", {}, [3], [None], [[]], of="keys", within=lambda v: {"keys": v}),
}


@pytest.mark.parametrize("content", [*REGISTERS.values(), *RAW.values()], ids=[*REGISTERS, *RAW])
def test_nothing_is_removed_while_a_register_is_damaged(content: Any, tmp_path: Path) -> None:
    store, plan, first, last = made(tmp_path / "store", tmp_path)
    (tmp_path / "study").mkdir()
    store.register(tmp_path / "study", [last.key])
    (file,) = (store.root / "studies").glob("*.json")
    if isinstance(content, Mapping) and content:
        usual = json.loads(file.read_text(encoding="utf-8"))
        content = {name: value for name, value in (usual | content).items() if value is not ...}
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    for dry_run in (True, False):
        with pytest.raises(InputError, match="nothing is removed") as raised:
            store.collect(dry_run=dry_run)
        assert str(file) in str(raised.value)
    assert store.has(first.key)
    store.register(tmp_path / "study", [last.key])  # the study is run again
    assert store.collect()[0] == 1
    assert [store.has(step.key) for step in plan] == [False, True]


@pytest.mark.parametrize("damage", IN_PLACE_OF_A_FILE)
def test_something_else_where_a_register_is(damage: Damage, tmp_path: Path) -> None:
    store, plan, _, last = made(tmp_path / "store", tmp_path)
    (tmp_path / "study").mkdir()
    store.register(tmp_path / "study", [last.key])
    (file,) = (store.root / "studies").glob("*.json")
    put_in_place(damage, file)
    with pytest.raises(InputError, match="nothing is removed"):
        store.collect()
    store.register(tmp_path / "study", [last.key])
    store.collect()
    assert [store.has(step.key) for step in plan] == [False, True]


@pytest.mark.parametrize("damage", IN_PLACE_OF_A_FOLDER)
def test_nothing_is_removed_when_all_registers_are_gone(damage: Damage, tmp_path: Path) -> None:
    if damage.__name__ == "unreadable_folder":
        pytest.skip("it is still there")
    store, plan, *_ = made(tmp_path / "store", tmp_path)
    put_in_place(damage, store.root / "studies")
    again = Store(store.root)
    assert run_plan(plan, again, Here(again)).done == 0
    with pytest.raises(InputError, match="nothing is removed") as raised:
        again.collect()
    assert str(store.root / "damaged" / "studies") in str(raised.value)
    assert all(again.has(step.key) for step in plan)
    (store.root / "damaged" / "studies").unlink()
    assert again.collect()[0] == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root sees everything")
def test_a_study_that_cannot_be_seen_keeps_its_entries(tmp_path: Path) -> None:
    store, plan, *_ = made(tmp_path / "store", tmp_path)
    (tmp_path / "closed" / "study").mkdir(parents=True)
    store.register(tmp_path / "closed" / "study", [step.key for step in plan])
    (tmp_path / "closed").chmod(0)
    assert store.collect()[0] == 0
    (tmp_path / "closed").chmod(0o700)


@pytest.mark.parametrize("damage", [*IN_PLACE_OF_A_FOLDER, *IN_PLACE_OF_A_FILE])
def test_whatever_lies_in_the_store_is_collected(damage: Damage, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for name in ("entries", "work", "damaged"):
        (store.root / name).mkdir(exist_ok=True)
        damage(store.root / name / "odd")
    put_in_place(damage, store.root / "locks" / "odd")
    assert store.collect()[0] == 3
    assert not any(os.path.lexists(store.root / name / "odd") for name in ("entries", "work", "damaged"))


def test_what_another_process_makes_is_not_collected(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1)
    (step,) = plan
    with store.claim(step.key) as work:
        (work / "half").touch()
        Store(store.root).collect()
        assert (work / "half").exists()
    assert Store(store.root).collect()[0] == 1
    assert not (work / "half").exists()


DEAD = 2**22 + 1  # beyond all process numbers


@pytest.mark.parametrize("process", [DEAD, os.getpid()], ids=["dead", "ours"])
def test_drafts_of_dead_processes_are_removed(process: int, tmp_path: Path) -> None:
    """Also those that bear the number of this process, as an earlier one had it."""
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1)
    (step,) = plan
    with store.claim(step.key) as work:
        (work / "sum").write_text("1", encoding="utf-8")
        (work / f".entry.json.{process}.attentest").write_text("{", encoding="utf-8")
        (work / f".folder.{process}.attentest").mkdir()
    with store.claim(step.key):
        store.commit(step.key, {})
    assert {path.name for path in store.fetch(step.key).iterdir()} == {"entry.json", "sum"}
    draft = store.root / "studies" / f".a.json.{process}.attentest"
    draft.touch()
    store.register(tmp_path, [])
    assert not draft.exists()


def test_a_draft_of_a_living_process_stays(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mine = draft_of(store.root / "studies" / "a.json")
    draft = mine.with_name(mine.name.replace(str(os.getpid()), str(other.pid)))
    draft.touch()
    store.register(tmp_path, [])
    assert draft.exists()
    other.communicate(b"\n")
    store.register(tmp_path, [])
    assert not draft.exists()


# behind a URL

URL = "memory://bucket/attentest"


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Store]:
    """The store behind the URL as another machine sees it."""
    fsspec.filesystem("memory").store.clear()

    def seen_from(machine: str) -> Store:
        monkeypatch.setenv("HOME", str(tmp_path / machine))
        return Store(URL)

    return seen_from


def sent(shared: Callable[[str], Store], log: Path) -> tuple[Plan, Step]:
    plan = chain(log, 1, 2)
    store = shared("one")
    assert run_plan(plan, store, Here(store)).failed == {}
    first, _ = plan
    return plan, first


@pytest.mark.parametrize("content", [*CONTENTS.values(), *RAW.values()], ids=[*CONTENTS, *RAW])
def test_a_damaged_manifest_behind_a_url(content: Any, shared: Callable[[str], Store], tmp_path: Path) -> None:
    plan, first = sent(shared, tmp_path)
    files = fsspec.filesystem("memory")
    place = f"/bucket/attentest/entries/{first.key}/entry.json"
    if isinstance(content, Mapping) and content:
        usual = json.loads(files.cat_file(place))
        content = {name: value for name, value in (usual | content).items() if value is not ...}
    files.pipe_file(place, content if isinstance(content, bytes) else json.dumps(content).encode())
    for name in ("x", "entries/x", "C:x"):  # what the names would lead to
        files.pipe_file(f"/bucket/attentest/{name}", b"of somebody else")
    store, notes = shared("two"), Notes()
    before = {path for path in tmp_path.rglob("*") if store.root not in path.parents}
    outcome = run_plan(plan, store, Here(store), [notes])
    assert outcome.failed == {}
    assert sum("'add 1' was damaged" in note for note in notes.said) == 1
    assert (store.fetch(first.key) / "sum").read_text(encoding="utf-8") == "1"
    after = {path for path in tmp_path.rglob("*") if store.root not in path.parents}
    assert after == before  # nothing was written anywhere else
    assert list((store.root / "work").iterdir()) == []
    assert (shared("three").fetch(first.key) / "sum").read_text(encoding="utf-8") == "1"


def test_a_file_that_is_missing_behind_a_url(shared: Callable[[str], Store], tmp_path: Path) -> None:
    plan, first = sent(shared, tmp_path)
    fsspec.filesystem("memory").rm(f"/bucket/attentest/entries/{first.key}/sum")
    store = shared("two")
    with pytest.raises(DamagedError, match="bucket"):
        store.fetch(first.key)
    assert run_plan(plan, store, Here(store)).failed == {}


def test_a_damaged_copy_is_fetched_again(shared: Callable[[str], Store], tmp_path: Path) -> None:
    plan, first = sent(shared, tmp_path)
    store = shared("one")
    other_bytes(store.path(first.key))
    assert run_plan(plan, store, Here(store)).done == 0
    assert (store.fetch(first.key) / "sum").read_text(encoding="utf-8") == "1"
    assert store.has(first.key)


def test_what_a_killed_fetch_left_is_no_harm(shared: Callable[[str], Store], tmp_path: Path) -> None:
    _, first = sent(shared, tmp_path)
    store = shared("two")
    (store.root / "work" / f"{first.key}.fetched").mkdir()
    (store.root / "work" / f"{first.key}.fetched" / "half").touch()
    assert {path.name for path in store.fetch(first.key).iterdir()} == {"entry.json", "sum"}
    assert list((store.root / "work").iterdir()) == []


BROKEN = (
    ConnectionResetError("reset by peer"),
    TimeoutError(),
    RuntimeError("no\nroute"),
    PermissionError(13, "denied"),
)


@pytest.mark.parametrize("call", ["exists", "get_file", "put_file", "rm", "makedirs"])
@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
def test_a_connection_that_breaks_is_a_message(
    call: str, error: Exception, shared: Callable[[str], Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first = sent(shared, tmp_path)
    store = shared("two")

    def broken(*args: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(type(fsspec.filesystem("memory")), call, broken)
    use: dict[str, Callable[[], object]] = {
        "exists": lambda: store.has(first.key),
        "get_file": lambda: store.fetch(first.key),
        "rm": lambda: store.discard(first.key),
    }
    with pytest.raises(InputError, match=r"The store memory://bucket/attentest cannot be \w+: [^\n]+\.$"):
        use.get(call, lambda: committed(store))()
    assert list((store.root / "work").iterdir()) == []


def committed(store: Store) -> None:
    with store.claim("new") as work:
        (work / "sum").touch()
        store.commit("new", {})


@pytest.mark.parametrize("url", ["zip:///nowhere.zip", "zip://a::file:///nowhere.zip", "http://127.0.0.1:9/a"])
def test_a_store_that_is_down(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"The store \w+://.* cannot be \w+"):
        committed(Store(url))


def test_a_password_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError) as raised:
        Store("nosuch://user:secret@host/a")
    assert "secret" not in str(raised.value)
