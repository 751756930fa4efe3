"""Streams, folders and locales as shells and services hand them over: no trace, and the documented exit code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from shell import PROGRAM, shell

import attentest

TINY = "--rows 60 --epochs 1 --dimension 8 --hidden 4"
COMMANDS = {  # that succeed
    "version": "--version",
    "help": "--help",
    "corpora": "corpora",
    "models": "models --json",
    "trials": "trials",
    "train": f"train planted {TINY} --out run",
    "show": "show small",
    "trial": "trial permutation small -o permutations=5",
    "report": "report small",
    "audit": "audit planted --dry-run --store store",
    "study": "study right.yaml --dry-run --store store",
    "compare": "compare small small-2 --store store --texts 10",
    "store gc": "store gc --store store",
    "status": "status begun",
}


@pytest.fixture
def place(run: attentest.Run, tmp_path: Path) -> Path:
    """A folder with what the commands need."""
    shutil.copytree(run.path, tmp_path / "small")
    shutil.copytree(run.path, tmp_path / "small-2")
    (tmp_path / "right.yaml").write_text(
        "corpora: [planted]\ncolumns: {rows: 100}\ntrials: [permutation]\n", encoding="utf-8"
    )
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "plan.json").write_text(
        '{"study": "x", "budget": "", "settings": {}, "store": "store", "corpora": {}, "steps": []}', encoding="utf-8"
    )
    return tmp_path


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/dev/full").exists() or not shutil.which("bash"), reason="no /dev/full or no bash"),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_left(name: str, place: Path) -> None:
    gone = shell(f"{PROGRAM} {COMMANDS[name]} | true", place)
    assert gone.returncode == 141
    assert gone.stderr.count("attentest") == 0
    assert "Traceback" not in gone.stderr
    assert "Exception ignored" not in gone.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_output(name: str, place: Path) -> None:
    full = shell(f"{PROGRAM} {COMMANDS[name]} > /dev/full", place)
    assert full.returncode == 2
    assert full.stderr.rstrip().endswith("attentest: The output cannot be written: No space left on device.")
    assert "Traceback" not in full.stderr
    assert "Exception ignored" not in full.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_closed_streams(name: str, place: Path) -> None:
    """What was closed is as /dev/null; no file that is opened later takes its number."""
    assert shell(f"{PROGRAM} {COMMANDS[name]} <&- >&- 2>&-", place).returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_one_closed_stream(closed: str, place: Path) -> None:
    done = shell(f"{PROGRAM} trials {closed}", place)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("permutation" in done.stdout) == (closed != ">&-")


@pytest.mark.parametrize("name", ["models", "train"])
@pytest.mark.parametrize("errors", ["2>&-", "2> /dev/full", "2> >(true)"])
def test_messages_that_cannot_be_written(name: str, errors: str, place: Path) -> None:
    """The work goes on, and its output is there."""
    done = shell(f"{PROGRAM} {COMMANDS[name]} {errors}", place)
    assert done.returncode == 0
    assert done.stdout


@pytest.mark.parametrize("streams", ["> /dev/full 2> /dev/full", "2> /dev/full | true", "2>&1 | true"])
def test_no_stream_at_all(streams: str, place: Path) -> None:
    done = shell(f"{PROGRAM} {COMMANDS['train']} {streams}", place)
    assert done.returncode == (141 if "true" in streams else 2)
    assert attentest.open_run(place / "run").finished


def test_the_first_line_is_read(place: Path) -> None:
    first = shell(f"{PROGRAM} trials | head -1", place)
    assert first.returncode in (0, 141)  # the rest may be written before the reader leaves
    assert len(first.stdout.splitlines()) == 1
    assert first.stderr == ""


@pytest.mark.parametrize("name", ["models", "train", "show", "store gc"])
def test_a_working_folder_that_is_gone(name: str, place: Path) -> None:
    gone = shell(f"mkdir gone; cd gone; rmdir ../gone; {PROGRAM} {COMMANDS[name]}", place)
    assert gone.returncode == 2
    assert gone.stderr.splitlines()[-1].startswith("attentest: The working folder cannot be used")
    assert "Traceback" not in gone.stderr


@pytest.mark.parametrize("name", ["help", "show", "trial", "report"])
def test_an_ascii_world(name: str, place: Path) -> None:
    done = shell(f"{PROGRAM} {COMMANDS[name]}", place, LC_ALL=None, LANG="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout.isascii()


@pytest.mark.parametrize("home", [None, "/proc/nosuch", "/dev/null"])
def test_no_home(home: str | None, place: Path) -> None:
    assert shell(f"{PROGRAM} {COMMANDS['train']}", place, HOME=home).returncode == 0
    if home is not None:
        stored = shell(f"{PROGRAM} audit planted --dry-run", place, HOME=home, ATTENTEST_STORE=None)
        assert stored.returncode == 2
        assert stored.stderr.startswith(f"attentest: The store {home}/.cache/attentest/store cannot be written: ")
