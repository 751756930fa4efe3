"""Signals at many moments: the exit code, one line, nothing that stays. Most are real programs in processes.

What an interpreter does before it reads our first line (about 20 ms) is not ours: tests wait for the handlers.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest

import attentest
from attentest.audits import Audit

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")

SECONDS = 5.0  # two are promised, on a machine that has nothing else to do
LINES = {
    signal.SIGINT: "attentest: Interrupted.",
    signal.SIGTERM: "attentest: Terminated.",
    signal.SIGHUP: "attentest: The terminal was closed.",
}
STEPS_ARE_KEPT = "Run the same command again to resume; finished steps are kept."
EPOCHS_ARE_KEPT = "Run the same command again to resume from the last epoch."
PROGRAM = ("-m", "attentest")
WAYS = {
    "package": PROGRAM,
    "cli": ("-m", "attentest.cli"),
    "installed": ("-c", "import sys; from attentest.cli import main; sys.exit(main())"),
}

Process = subprocess.Popen[str]
Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python in a session of its own, of which nothing is left after the test."""
    started: list[Process] = []

    def start(*arguments: object, ignored: Sequence[int] = ()) -> Process:
        def ignore() -> None:
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        pipe = subprocess.PIPE
        command = [sys.executable, *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, preexec_fn=ignore
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_what_is_open_is_closed_although_a_library_swallows_the_signal(start: Start, tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from attentest.cli import signals
signals.install()
with signals.closed_at_end(Path({str(tmp_path / "closed")!r}).touch):
    print("ready", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""
    process = start("-c", program)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert (tmp_path / "closed").exists()


def members(process: Process) -> list[str]:
    """The living processes of its session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, session, *_ = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            if session == str(process.pid) and state not in "ZX":
                found.append(folder.name)
    return found


def until(what: Callable[[], object], process: Process, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def handles(process: Process, number: int) -> bool:
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def is_ready(process: Process) -> bool:
    return handles(process, signal.SIGHUP)  # the last that is set


def has_loaded(process: Process, library: str) -> bool:
    with suppress(OSError):
        return library in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
    return False


def ends(process: Process, number: int, advice: str | None = "", group: bool = False, times: int = 1) -> None:
    """It ends as it should: soon, with its code and one line (with this advice, or any), and with all it started."""
    assert process.poll() is None, process.communicate()
    sent = time.monotonic()
    for _ in range(times):
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(process.pid, number)
        time.sleep(0.02 if times > 1 else 0)
    out, said = process.communicate(timeout=60)
    assert time.monotonic() - sent < SECONDS
    assert process.returncode == 128 + number, said
    assert not out
    line = LINES[signal.Signals(number)]
    if advice is None:
        assert said in (f"{line}\n", f"{line} {STEPS_ARE_KEPT}\n", f"{line} {EPOCHS_ARE_KEPT}\n")
    else:
        assert said == f"{line} {advice}".rstrip() + "\n"
    nothing_is_left(process)


def nothing_is_left(process: Process) -> None:
    deadline = time.monotonic() + SECONDS
    while left := members(process):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def audit(folder: Path, *more: object) -> list[object]:
    """An audit that takes a while, with nothing on its error stream."""
    places = ["--store", folder / "store", "--out", folder / "audit"]
    return [*PROGRAM, "audit", "planted", "-o", "rows=3000", "--workers", 2, *places, "--json", *more]


def imported(*arguments: str) -> list[str]:
    command = [sys.executable, "-X", "importtime", *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return [line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")]


def test_nothing_is_imported_before_signals_are_handled() -> None:
    names, interpreter = imported(*PROGRAM, "--version"), imported("-c", "import runpy")
    before = set(names[: names.index("attentest.cli")]) - set(interpreter)
    assert "attentest.cli.signals" in before
    assert {name.partition(".")[0] for name in before} - {"attentest"} <= sys.stdlib_module_names
    assert not {"typing", "logging", "inspect", "dataclasses", "asyncio", "json"} & before


@pytest.mark.parametrize("number", LINES, ids=lambda number: number.name)
@pytest.mark.parametrize("way", WAYS)
def test_the_first_moment(start: Start, tmp_path: Path, number: int, way: str) -> None:
    process = start(*WAYS[way], *audit(tmp_path)[2:])
    until(lambda: is_ready(process), process)
    ends(process, number)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("number", LINES, ids=lambda number: number.name)
def test_while_it_starts_and_plans(start: Start, tmp_path: Path, number: int, moment: float) -> None:
    process = start(*audit(tmp_path))
    until(lambda: is_ready(process), process)
    time.sleep(moment)
    ends(process, number, advice=None, group=True)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "large.csv"
    text = " ".join(f"word{i}" for i in range(40))
    with file.open("w", encoding="utf-8") as lines:
        lines.write("text,label\n")
        lines.writelines(chain.from_iterable((f"{text} {i},good\n", f"{text} {i},bad\n") for i in range(200_000)))
    return file


def is_reading(process: Process, file: Path) -> bool:
    with suppress(OSError):
        return any(handle.readlink() == file for handle in Path(f"/proc/{process.pid}/fd").iterdir())
    return False


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("number", LINES, ids=lambda number: number.name)
def test_while_it_reads_a_large_file(start: Start, large: Path, tmp_path: Path, number: int, moment: float) -> None:
    process = start(*PROGRAM, "train", large, "--out", tmp_path / "run", "--json")
    until(lambda: is_reading(process, large), process)
    time.sleep(moment)
    # who presses Ctrl-C once may do so again; a fast machine may have read it all by then, and train
    ends(process, number, None, times=5)


def test_while_it_trains(start: Start, tmp_path: Path) -> None:
    process = start(*PROGRAM, "train", "planted", "--rows", 200, "--epochs", 10000, "--out", tmp_path / "run", "--json")
    until((tmp_path / "run" / "checkpoint.safetensors").exists, process)
    ends(process, signal.SIGINT, EPOCHS_ARE_KEPT)


@pytest.mark.slow
@pytest.mark.parametrize("number", LINES, ids=lambda number: number.name)
def test_while_it_runs_a_trial(start: Start, own_run: attentest.Run, number: int) -> None:
    endless = ["-o", "method=search", "-o", "steps=10000000"]
    process = start(*PROGRAM, "trial", "adversary", own_run.path, *endless, "--json")
    until(lambda: has_loaded(process, "libtorch_cpu"), process)
    time.sleep(3)
    ends(process, number)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.03, 0.1, 0.2])
@pytest.mark.parametrize("number", LINES, ids=lambda number: number.name)
def test_while_it_draws_a_page(
    start: Start, audited: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, moment: float
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # no script is kept there, so that Vega's converter is at work
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    old = (folder / "report.html").read_bytes()
    process = start(*PROGRAM, "report", folder, "--json")
    until(lambda: has_loaded(process, "vl_convert"), process)
    time.sleep(moment)
    ends(process, number)
    assert (folder / "report.html").read_bytes() == old


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("group", [True, False], ids=["group", "alone"])
@pytest.mark.parametrize("number", LINES, ids=lambda number: number.name)
def test_with_two_workers(start: Start, tmp_path: Path, number: int, group: bool, moment: float) -> None:
    process = start(*audit(tmp_path))
    until(lambda: len(members(process)) >= 3, process)  # with the resource tracker of multiprocessing
    time.sleep(moment)
    ends(process, number, STEPS_ARE_KEPT, group)


@pytest.mark.parametrize("moment", [0.1, *(pytest.param(later, marks=pytest.mark.slow) for later in (0.5, 4.0))])
def test_workers_of_a_killed_program_end(start: Start, tmp_path: Path, moment: float) -> None:
    process = start(*audit(tmp_path))
    until(lambda: len(members(process)) >= 3, process)
    time.sleep(moment)
    process.kill()
    process.wait()
    nothing_is_left(process)
    assert process.communicate() == ("", "")


def test_what_was_ignored_at_the_start_stays_so(start: Start, tmp_path: Path) -> None:
    process = start(*audit(tmp_path), ignored=[signal.SIGHUP, signal.SIGINT])
    until(lambda: handles(process, signal.SIGTERM), process)
    os.killpg(process.pid, signal.SIGHUP)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(2)
    ends(process, signal.SIGTERM, advice=None)


INSTALL = "import sys, time\nfrom attentest.cli import signals\nsignals.install()\nprint('ready', file=sys.stderr)\n"
STUBBORN = {
    "a call that does not return": "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)",
    "an exception that is swallowed": "while True:\n  try: time.sleep(60)\n  except BaseException: pass",
    "an exception that becomes another": "try: time.sleep(60)\nexcept BaseException: raise ImportError('no') from None",
    "a finaliser": "class Slow:\n  def __del__(self): time.sleep(60)\nSlow()",
    "the end": "import atexit\natexit.register(time.sleep, 60)",
    "a thread that stays": "import threading\nthreading.Thread(target=time.sleep, args=(60,)).start()\ntime.sleep(60)",
}


@pytest.mark.parametrize("code", STUBBORN.values(), ids=STUBBORN)
def test_a_program_that_cannot_be_interrupted_ends(start: Start, code: str) -> None:
    process = start("-c", INSTALL + code)
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    time.sleep(0.1)
    ends(process, signal.SIGTERM)


def test_an_error_stream_that_nobody_reads_holds_nothing_up(start: Start) -> None:
    process = start("-c", INSTALL + "import os\nwhile True: os.write(2, bytes(100_000))")
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 130


def test_in_a_terminal_the_bar_is_finished_and_the_cursor_is_there(tmp_path: Path) -> None:
    main, terminal = os.openpty()
    command = [sys.executable, *PROGRAM, "train", "planted", "--rows", "200", "--epochs", "10000"]
    command += ["--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stderr=terminal, start_new_session=True, text=True)
    os.close(terminal)
    shown = b""
    while b"  train " not in shown:  # its bar
        shown += os.read(main, 65536)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # the end of what a terminal says
        while more := os.read(main, 65536):
            shown += more
    os.close(main)
    assert process.wait() == 130
    *_, last = shown.decode().splitlines()
    assert last.endswith(f"\x1b[?25hattentest: Interrupted. {EPOCHS_ARE_KEPT}")
    assert shown.rindex(b"\x1b[?25l") < shown.rindex(b"\x1b[?25h")


def test_nothing_is_raised_in_a_library_that_is_half_imported(tmp_path: Path) -> None:
    """Some end the process with an abort when something is raised in them while they start."""
    library = (
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n    os._exit(9)\n"
    )
    (tmp_path / "library.py").write_text(library, encoding="utf-8")
    program = "from attentest.cli import signals\nsignals.install()\nimport library\n"
    path = os.pathsep.join((str(tmp_path), str(Path(attentest.__file__).parents[1])))
    found = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert (found.returncode, found.stderr) == (130, "attentest: Interrupted.\n")
