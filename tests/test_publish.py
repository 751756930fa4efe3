"""Results are switched to as one: a kill at any moment leaves the old ones or the new, and a mixture is noticed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import attentest
from attentest.files import draft_of, read_json, remove, remove_drafts, write_json
from attentest.publish import NEXT, alone_in, check_whole, is_published, keep_plan, plan_of, replacing, settle

NAMES = {"page.html", "summary.json", "findings", "model/run.json", "model/old.json"}
OLD = {
    "page.html": "old",
    "summary.json": "{}",
    "findings/a/x.json": "old a",
    "findings/finding.json": "old b",
    "model/old.json": "old",
}
NEW = {"page.html": "new", "summary.json": "[]", "findings/a/x.json": "new a", "model/run.json": "new"}


class Killed(BaseException):
    """As a SIGKILL: nothing after it runs, not even what should always run."""


def put(folder: Path, files: dict[str, str]) -> None:
    with alone_in(folder), replacing(folder, NAMES) as draft:
        for name, content in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_text(content)


def held(folder: Path) -> dict[str, str]:
    ours = (
        path for path in folder.rglob("*") if path.is_file() and path.name not in (".lock", "published.json", "mine")
    )
    return {path.relative_to(folder).as_posix(): path.read_text() for path in ours}


@contextmanager
def killed_at(moment: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A process that ends at the n-th change of the disk; what it had done before stays."""
    done: list[str] = []

    def counting(name: str, change: object) -> object:
        def changed(*given: object, **named: object) -> object:
            if len(done) == moment:
                raise Killed
            done.append(name)
            return change(*given, **named)  # type: ignore[operator]

        return changed

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", counting("replace", Path.replace))
        patched.setattr("attentest.publish.remove", counting("remove", remove))
        patched.setattr(Path, "mkdir", counting("mkdir", Path.mkdir))
        yield done


def test_a_kill_at_any_change_of_the_disk_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for moment in range(100):
        folder = tmp_path / str(moment)
        folder.mkdir()
        (folder / "model").mkdir()
        for mine in (folder / "mine", folder / "model" / "mine"):
            mine.write_text("of the user")
        put(folder, OLD)
        assert held(folder) == OLD
        with killed_at(moment, monkeypatch) as done:
            try:
                put(folder, NEW)
                ended = True
            except Killed:
                ended = False
        settle(folder)
        found = held(folder)
        drafts = {name for name in found if name.startswith(".results.")}
        whole = {name: content for name, content in found.items() if name not in drafts}
        assert whole in (OLD, NEW), f"killed after {done}"
        check_whole(folder)
        seen.add("new" if whole == NEW else "old")
        put(folder, NEW)  # the same command again
        assert held(folder) == NEW
        assert {mine.read_text() for mine in folder.rglob("mine")} == {"of the user"}
        assert len(list(folder.rglob("mine"))) == 2
        if ended:
            break
    assert ended
    assert seen == {"old", "new"}
    assert moment > 8


def test_a_mixture_is_noticed(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(attentest.InputError, match=r"summary\.json is not what published\.json lists.*command"):
        check_whole(tmp_path)
    (tmp_path / "summary.json").unlink()
    with pytest.raises(attentest.InputError, match=r"summary\.json"):
        check_whole(tmp_path)
    put(tmp_path, OLD)
    check_whole(tmp_path)
    (tmp_path / "page.html").unlink()  # no page is made of it
    check_whole(tmp_path)


def test_parts_of_the_results_are_replaced_alone(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    with alone_in(tmp_path), replacing(tmp_path, {"page.html"}) as draft:
        (draft / "page.html").write_text("newer")
    assert held(tmp_path) == OLD | {"page.html": "newer"}
    (tmp_path / "findings" / "finding.json").write_text("changed")
    with pytest.raises(attentest.InputError, match=r"finding\.json"):
        check_whole(tmp_path)


def test_results_that_are_there_already_are_known(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "summary.json").write_text("{}")
    (tmp_path / "out").mkdir()
    assert not is_published(tmp_path / "out", tmp_path / "made", ["summary.json"])
    put(tmp_path / "out", OLD)
    assert is_published(tmp_path / "out", tmp_path / "made", ["summary.json"])
    (tmp_path / "out" / "summary.json").write_text("[]")
    assert not is_published(tmp_path / "out", tmp_path / "made", ["summary.json"])


def test_the_plan_stays_with_the_results(tmp_path: Path) -> None:
    assert plan_of(tmp_path) == ""
    with alone_in(tmp_path), replacing(tmp_path, NAMES, "first"):
        pass
    with alone_in(tmp_path), replacing(tmp_path, {"page.html"}):
        pass
    assert plan_of(tmp_path) == "first"
    keep_plan(tmp_path, "second")
    assert plan_of(tmp_path) == "second"


def test_errors_of_what_makes_the_results_are_their_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="weights-3"), alone_in(tmp_path), replacing(tmp_path, NAMES):
        raise FileNotFoundError("weights-3")
    assert held(tmp_path) == {}


def test_a_folder_that_is_named_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    put(tmp_path / "link", OLD)
    put(tmp_path / "link", NEW)
    assert held(tmp_path / "real") == NEW


def test_nothing_is_begun_where_a_folder_of_results_is_a_link(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    (tmp_path / "model").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(attentest.InputError, match="model is a link"):
        put(tmp_path, NEW)
    assert not (tmp_path / NEXT).exists()
    assert (tmp_path / "page.html").read_text() == "old"


@pytest.mark.parametrize("name", ["..", ".", "", "/etc", "a/b/c", "../x", "a/../x", ".ssh"])
def test_a_list_of_somebody_else_leads_to_nothing_outside(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / NEXT).mkdir(parents=True)
    (folder / NEXT / "published.json").write_text('{"plan": "", "files": {}}')
    (folder / NEXT / "replaced.json").write_text(f'["{name}"]')
    (tmp_path / "x").write_text("precious")
    with pytest.raises(attentest.InputError, match="was not written by attentest"):
        settle(folder)
    assert (tmp_path / "x").read_text() == "precious"
    assert folder.is_dir()


def test_a_link_in_place_of_the_next_results_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "published.json").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / NEXT).symlink_to(tmp_path / "elsewhere")
    settle(tmp_path / "folder")
    assert (tmp_path / "elsewhere" / "published.json").read_text() == "precious"
    assert not (tmp_path / "folder" / NEXT).exists()


def test_a_link_in_place_of_a_folder_of_results_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "run.json").write_text("precious")
    folder = tmp_path / "folder"
    (folder / NEXT / "model").mkdir(parents=True)
    (folder / "model").symlink_to(tmp_path / "elsewhere")
    (folder / NEXT / "model" / "run.json").write_text("hostile")
    (folder / NEXT / "published.json").write_text('{"plan": "", "files": {}}')
    (folder / NEXT / "replaced.json").write_text('["model/run.json"]')
    with pytest.raises(attentest.InputError, match="is a link"):
        settle(folder)
    assert (tmp_path / "elsewhere" / "run.json").read_text() == "precious"


def test_nothing_is_moved_out_of_another_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "thesis").write_text("precious")
    folder = tmp_path / "folder"
    (folder / NEXT).mkdir(parents=True)
    (folder / NEXT / "m").symlink_to(tmp_path / "elsewhere")
    (folder / NEXT / "published.json").write_text('{"plan": "", "files": {}}')
    (folder / NEXT / "replaced.json").write_text('["m/thesis"]')
    with pytest.raises(attentest.InputError, match="is a link"):
        settle(folder)
    assert (tmp_path / "elsewhere" / "thesis").read_text() == "precious"


def test_drafts_of_dead_processes_are_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = {f".status.json.{os.getppid()}.attentest", ".notes.2024", "a.1.attentest", ".x.attentest"}
    for name in (
        *kept,
        ".status.json.999999999.attentest",
        ".a.999999999-3.attentest",
        ".b.0.attentest",
        f".page.{10**30}.attentest",
        draft_of(tmp_path / "y").name,
    ):
        (tmp_path / name).write_text("")
    (tmp_path / ".results.999999998.attentest" / "findings").mkdir(parents=True)
    remove_drafts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_threads_in_one_folder_leave_each_others_drafts_alone(tmp_path: Path) -> None:
    file = tmp_path / "status.json"

    def write(number: int) -> None:
        for _ in range(50):
            write_json(file, {"number": number, "long": "x" * 10_000})
            remove_drafts(tmp_path)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert read_json(file)["number"] in range(4)
    assert list(tmp_path.iterdir()) == [file]


def test_folders_of_any_depth_are_removed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("precious")
    here = os.open(tmp_path, os.O_RDONLY)
    for name in ("deep", *["folder"] * 1500):  # a path of 10,500 characters, more than a system takes
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.symlink(tmp_path, "link", dir_fd=inner)
        os.close(here)
        here = inner
    os.fchmod(here, 0)
    os.close(here)
    remove(tmp_path / "deep")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
