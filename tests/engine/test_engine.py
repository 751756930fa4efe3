"""The engine: keys, the store's promises, and plans that fail, die and go on."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from attentest.engine import Plan, Step, Store, run_plan
from attentest.engine.code_version import _imports, code_version, meaning
from attentest.engine.local import LocalPool, _no_interrupts, attempt
from attentest.engine.perform import perform
from attentest.engine.scheduler import Event, Runner, Watcher
from attentest.engine.store import DamagedError
from attentest.errors import InputError

TOY = "toy_steps"


class Here:
    """Steps in this process, one at a time."""

    slots = 1

    def __init__(self, store: Store) -> None:
        self.store = store
        self.events: list[Event] = []

    def start(self, steps: Sequence[Step]) -> None:
        self.events += attempt(steps, self.store)

    def wait(self) -> list[Event]:
        found, self.events = self.events, []
        return found

    def stop(self) -> None:
        pass


class Notes(Watcher):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, sentence: str) -> None:
        self.said.append(sentence)


def chain(log: Path, *numbers: int, **more: object) -> Plan:
    """Each number added to the sum of the one before."""
    plan = Plan()
    last: dict[str, Step] = {}
    for number in numbers:
        settings = {"number": number, "log": str(log), **more}
        last = {"before": plan.add(f"add {number}", f"{TOY}:add", settings, last)}
    return plan


def ran(log: Path) -> list[int]:
    return [int(line) for line in (log / "ran").read_text(encoding="utf-8").split()]


def test_a_plan_runs_once_and_its_results_stay(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2, 3)
    first = run_plan(plan, store, Here(store))
    assert (first.done, first.reused, first.failed) == (3, 0, {})
    *_, last = plan
    assert (store.fetch(last.key) / "sum").read_text(encoding="utf-8") == "6"
    again = run_plan(plan, store, Here(store))
    assert (again.done, again.reused) == (0, 3)
    longer = run_plan(chain(tmp_path, 1, 2, 3, 4), store, Here(store))  # another plan with the same beginning
    assert (longer.done, longer.reused) == (1, 3)
    assert ran(tmp_path) == [1, 2, 3, 4]
    five = list(chain(tmp_path, 1, 2, 3, 4, 5))
    some = run_plan(chain(tmp_path, 1, 2, 3, 4, 5), store, Here(store), targets=five[1:2])
    assert (some.done, some.reused) == (0, 2)  # the others are neither done nor asked


def test_keys_hang_on_settings_inputs_and_code() -> None:
    plan = Plan()
    one = plan.add("a", f"{TOY}:add", {"number": 1})
    assert plan.add("the same under another name", f"{TOY}:add", {"number": 1}) is one
    keys = {
        one.key,
        plan.add("a", f"{TOY}:add", {"number": 2}).key,
        plan.add("a", f"{TOY}:fail", {"number": 1}).key,
        plan.add("a", f"{TOY}:add", {"number": 1}, {"before": one}).key,
        plan.add("a", f"{TOY}:add", {"number": 1}, modules=("attentest.trials.uniform",)).key,
    }
    assert len(keys) == 5


def test_code_versions_follow_imports() -> None:
    assert "attentest.measures.kendall" in _imports("attentest.trials.correlation")
    assert code_version("attentest.trials.permutation") != code_version("attentest.trials.uniform")
    assert code_version("attentest.errors") == code_version("attentest.errors")


CODE = b'''"""What it is."""
class A:
    """Says."""
    how_to_read: ClassVar[str] = "high is high"
    size: int = setting(3, "How large.", least=1)
    def double(self):
        """Twice."""
        return 2 * self.size  # the point of it
'''


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (b"What it is.", b"What it was.", True),
        (b"Says.", b"Tells.", True),
        (b"high is high", b"low is low", True),
        (b"How large.", b"The size.", True),
        (b"  # the point of it", b"", True),
        (b"    def double", b"\n\n    def double", True),
        (b"2 * self", b"3 * self", False),
        (b"setting(3", b"setting(4", False),
        (b"least=1", b"least=2", True),
        (b"double", b"twice", False),
    ],
)
def test_a_version_follows_what_code_does_and_not_what_it_says(before: bytes, after: bytes, same: bool) -> None:
    assert before in CODE
    assert (meaning(CODE) == meaning(CODE.replace(before, after))) is same


def side_by_side(log: Path, numbers: tuple[int, ...], breaks: tuple[int, ...] = ()) -> Plan:
    """Steps that can be done together, all on one other."""
    plan = Plan()
    first = plan.add("first", f"{TOY}:add", {"number": 1, "log": str(log)})
    for number in numbers:
        settings = {"number": number, "log": str(log), **({"breaks": True} if number in breaks else {})}
        plan.add(f"add {number}", f"{TOY}:add", settings, {"before": first}, together="same")
    return plan


@pytest.mark.parametrize("runner", [Here, lambda store: LocalPool(store, 2)])
def test_steps_that_go_together_are_done_in_one_go(tmp_path: Path, runner: Callable[[Store], Runner]) -> None:
    store, plan = Store(tmp_path / "store"), side_by_side(tmp_path, (10, 20, 30))
    outcome = run_plan(plan, store, runner(store))
    assert (outcome.done, outcome.failed) == (4, {})
    assert (tmp_path / "together").read_text(encoding="utf-8").split() == ["3", "3", "3"]
    assert sorted(ran(tmp_path)) == [1, 10, 20, 30]
    assert [(store.fetch(s.key) / "sum").read_text(encoding="utf-8") for s in plan] == ["1", "11", "21", "31"]
    more = run_plan(side_by_side(tmp_path, (10, 20, 30, 40, 50)), store, runner(store))  # only what is missing
    assert (more.done, more.reused) == (2, 4)
    assert (tmp_path / "together").read_text(encoding="utf-8").split() == ["3", "3", "3", "2", "2"]


@pytest.mark.parametrize("runner", [Here, lambda store: LocalPool(store, 2)])
def test_of_steps_that_go_together_only_the_broken_one_fails(tmp_path: Path, runner: Callable[[Store], Runner]) -> None:
    store, plan = Store(tmp_path / "store"), side_by_side(tmp_path, (10, 20, 30), breaks=(20,))
    outcome = run_plan(plan, store, runner(store))
    assert outcome.failed == {"add 20": "this one breaks"}
    assert outcome.done == 3
    assert [store.has(step.key) for step in plan] == [True, True, False, True]


def test_a_worker_that_dies_with_several_steps_loses_none_of_them(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), Plan()
    for number in (1, 2, 3):
        settings = {"number": number, "log": str(tmp_path), "dies": number == 2}
        plan.add(f"add {number}", f"{TOY}:add", settings, together="same")
    outcome = run_plan(plan, store, LocalPool(store, 2))
    assert (outcome.done, outcome.failed) == (3, {})
    assert all(store.has(step.key) for step in plan)


def test_a_step_that_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), Plan()
    for number in (1, 2, 3):
        settings = {"number": number, "log": str(tmp_path), "always_dies": number == 2}
        plan.add(f"add {number}", f"{TOY}:add", settings, together="same")
    outcome = run_plan(plan, store, LocalPool(store, 2))
    assert list(outcome.failed) == ["add 2"]
    assert [store.has(step.key) for step in plan] == [True, False, True]


def test_an_input_of_several_steps_that_is_damaged_is_made_again_once(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), side_by_side(tmp_path, (10, 20, 30))
    first, *others = plan

    class Spoiled(Here):
        def start(self, steps: Sequence[Step]) -> None:
            if list(steps) == others and not (tmp_path / "spoiled").exists():
                (tmp_path / "spoiled").touch()
                (store.path(first.key) / "sum").write_text("7", encoding="utf-8")
            super().start(steps)

    watcher = Notes()
    outcome = run_plan(plan, store, Spoiled(store), [watcher])
    assert outcome.failed == {}
    (said,) = [note for note in watcher.said if "damaged in the store" in note]
    assert said.startswith("'first' was damaged in the store and is run again: ")
    assert ran(tmp_path).count(1) == 2
    assert [(store.fetch(step.key) / "sum").read_text(encoding="utf-8") for step in others] == ["11", "21", "31"]


def test_the_time_of_a_group_is_shared_by_its_steps_and_so_is_its_progress(tmp_path: Path) -> None:
    class Times(Watcher):
        def __init__(self) -> None:
            self.seconds: list[float] = []
            self.moved: set[str] = set()

        def finished(self, step: Step, seconds: float) -> None:
            self.seconds.append(seconds)

        def progress(self, step: Step, text: str, share: float) -> None:
            self.moved.add(step.name)

    class Slow(Here):
        def start(self, steps: Sequence[Step]) -> None:
            self.events.append(Event(steps[0].key, "progress", "read", 0.5))
            super().start(steps)
            time.sleep(0.6)

    store, plan, times = Store(tmp_path / "store"), side_by_side(tmp_path, (10, 20, 30)), Times()
    run_plan(plan, store, Slow(store), [times])
    assert len(times.seconds) == 4
    assert sum(times.seconds[1:]) >= 0.6
    assert max(times.seconds[1:]) < sum(times.seconds[1:]) / 2  # a third each
    assert times.moved == {"first", "add 10", "add 20", "add 30"}


def test_what_a_step_warns_of_is_heard_and_its_other_notes_are_not(tmp_path: Path) -> None:
    store, plan, watcher = Store(tmp_path / "store"), Plan(), Notes()
    plan.add("warns", f"{TOY}:warn", {})
    assert run_plan(plan, store, LocalPool(store, 1), [watcher]).done == 1
    assert watcher.said == ["the work was damaged and is started again"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_uses_one_thread_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    store, plan = Store(tmp_path / "store"), Plan()
    step = plan.add("threads", f"{TOY}:count_threads", {})
    assert run_plan(plan, store, LocalPool(store, workers)).done == 1
    assert (store.fetch(step.key) / "threads").read_text(encoding="utf-8") == "1"


def test_a_worker_that_does_not_listen_is_stopped(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), Plan()
    pool = LocalPool(store, 1)
    pool.start([plan.add("hangs", f"{TOY}:hang", {"log": str(tmp_path)})])
    while not (tmp_path / "hangs").exists():
        assert not pool.wait()
    began = time.monotonic()
    pool.stop()
    assert time.monotonic() - began < 2
    assert not multiprocessing.active_children()


def test_no_worker_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1"):
        LocalPool(Store(tmp_path / "store"), 0)


def test_a_failed_step_stops_only_what_stands_on_it(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    broken = plan.add("broken", f"{TOY}:fail", {})
    plan.add("hopeless", f"{TOY}:add", {"number": 9}, {"before": broken})
    outcome = run_plan(plan, store, Here(store))
    assert outcome.done == 2
    assert outcome.failed == {"broken": "this one never works"}
    assert outcome.skipped == ["hopeless"]
    assert not store.has(broken.key)  # half a result is none


def test_a_damaged_entry_is_found_said_and_done_again(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    run_plan(plan, store, Here(store))
    first, last = plan
    (store.path(last.key) / "sum").write_text("7")
    with pytest.raises(DamagedError):
        store.fetch(last.key)
    watcher = Notes()
    assert run_plan(plan, store, Here(store), [watcher]).done == 1
    assert "'add 2' was damaged in the store and is run again" in watcher.said[0]
    assert (store.fetch(last.key) / "sum").read_text(encoding="utf-8") == "3"
    (store.path(first.key) / "entry.json").write_text("{")
    assert run_plan(plan, store, Here(store), [watcher]).done == 1  # only what was damaged


def test_a_damaged_entry_under_a_damaged_entry(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    run_plan(plan, store, Here(store))
    for step in plan:
        (store.path(step.key) / "sum").write_text("7")
    *_, last = plan
    assert run_plan(plan, store, Here(store), targets=[last]).done == 2
    assert (store.fetch(last.key) / "sum").read_text(encoding="utf-8") == "3"


def test_an_input_damaged_while_the_plan_runs_is_made_again(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    first, last = plan

    class Spoiled(Here):
        def start(self, steps: Sequence[Step]) -> None:
            if steps == [last] and not (tmp_path / "spoiled").exists():
                (tmp_path / "spoiled").touch()
                (store.path(first.key) / "sum").write_text("7")
            super().start(steps)

    watcher = Notes()
    outcome = run_plan(plan, store, Spoiled(store), [watcher])
    assert outcome.failed == {}
    (said,) = watcher.said
    assert said == (
        f"'add 1' was damaged in the store and is run again: {store.path(first.key) / 'sum'} is not what was written; "
        f"it is set aside as {store.root / 'damaged' / first.key}."
    )
    assert (store.fetch(last.key) / "sum").read_text(encoding="utf-8") == "3"


def test_an_input_that_stays_damaged_fails_the_step(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    first, last = plan

    class Spoiled(Here):
        def start(self, steps: Sequence[Step]) -> None:
            if steps == [last]:
                (store.path(first.key) / "sum").write_text("7")
            super().start(steps)

    outcome = run_plan(plan, store, Spoiled(store))
    assert list(outcome.failed) == ["add 2"]
    assert "sum" in outcome.failed["add 2"]


def test_a_commit_that_was_killed_before_the_move(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1)
    (step,) = plan
    with store.claim(step.key) as work:
        (work / "entry.json").write_text("{}")
        (work / "sum").write_text("1")
    with store.claim(step.key):
        store.commit(step.key, {})
    assert set(store.manifest(step.key).files) == {"sum"}
    assert store.fetch(step.key)


def test_a_store_is_the_same_from_every_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store("store").place == str(tmp_path / "store")


def test_places_are_not_part_of_a_key() -> None:
    plan = Plan()
    one, two = (plan.add("a", f"{TOY}:add", {"number": 1}, places={"log": place}) for place in ("here", "there"))
    assert one is two
    assert one.settings == {"number": 1, "log": "here"}


def test_what_only_finished_steps_stand_on_is_not_made_again(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    run_plan(plan, store, Here(store))
    first, last = plan
    store.discard(first.key)
    assert run_plan(plan, store, Here(store), targets=[last]).done == 0


def test_a_store_behind_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "one"))
    store, plan = Store("memory://bucket/attentest"), chain(tmp_path, 1, 2)
    run_plan(plan, store, Here(store))
    monkeypatch.setenv("HOME", str(tmp_path / "two"))  # another machine, with no copies yet
    other = Store("memory://bucket/attentest")
    assert other.root != store.root
    *_, last = plan
    assert (other.fetch(last.key) / "sum").read_text(encoding="utf-8") == "3"
    assert run_plan(plan, other, Here(other)).done == 0
    other.discard(last.key)
    assert not other.has(last.key)


def test_collecting_keeps_what_studies_need(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    run_plan(plan, store, Here(store))
    first, last = plan
    (tmp_path / "study").mkdir()
    store.register(tmp_path / "study", [last.key])
    assert store.collect(dry_run=True)[0] == 1
    assert store.has(first.key)
    assert store.collect()[0] == 1
    assert store.has(last.key)
    assert not store.has(first.key)
    (tmp_path / "study").rmdir()
    assert store.collect()[0] == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        Store(tmp_path / "store")
    tmp_path.chmod(0o700)


def test_a_store_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        Store(tmp_path / "file" / "store")


def test_an_unknown_url() -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        Store("nosuch://bucket")


@pytest.fixture
def workers_find_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.mark.usefixtures("workers_find_toys")
def test_the_local_pool(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1, 2)
    plan.add("broken", f"{TOY}:fail", {})
    plan.add("killed once", f"{TOY}:add", {"number": 5, "log": str(tmp_path), "dies": True})
    watcher = Notes()
    outcome = run_plan(plan, store, LocalPool(store, 2), [watcher])
    assert outcome.done == 3
    assert outcome.failed == {"broken": "this one never works"}
    assert watcher.said == ["The worker process of 'killed once' died; the step is run again."]
    assert sorted(ran(tmp_path)) == [1, 2, 5, 5]


@pytest.mark.usefixtures("workers_find_toys")
def test_a_worker_that_dies_between_two_steps_is_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    pool = LocalPool(store, 1)
    first, second = chain(tmp_path, 1, 2)
    pool.start([first])
    while not any(event.kind == "done" for event in pool.wait()):
        pass
    (worker,) = pool._idle
    worker.process.kill()
    worker.process.join()
    pool.start([second])
    while not any(event.kind == "done" for event in pool.wait()):
        pass
    pool.stop()
    assert store.has(second.key)


def test_no_workers() -> None:
    with pytest.raises(InputError, match="at least 1"):
        LocalPool(Store("memory://x"), -1)


RUN = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from test_engine import Here, chain
from attentest.engine import Store, run_plan
store = Store(sys.argv[3])
run_plan(chain(Path(sys.argv[4]), 1, 2, 3, 4, seconds=0.05), store, Here(store))
"""


def start_run(store: Path, log: Path) -> subprocess.Popen[bytes]:
    here = Path(__file__).parent
    return subprocess.Popen([sys.executable, "-c", RUN, str(here), str(here), str(store), str(log)])


def test_killed_at_any_moment_nothing_finished_runs_twice(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for moment in (1.0, 1.3, 1.6):
        process = start_run(store, tmp_path)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start_run(store, tmp_path).wait() == 0
    kept = Store(store)
    *_, last = chain(tmp_path, 1, 2, 3, 4, seconds=0.05)
    assert (kept.fetch(last.key) / "sum").read_text(encoding="utf-8") == "10"
    times = {n: ran(tmp_path).count(n) for n in (1, 2, 3, 4)}
    # a step may have been under way at each kill, but what was finished is never done again
    assert sum(times.values()) <= 4 + 3


def test_two_at_once_share_the_work(tmp_path: Path) -> None:
    store = tmp_path / "store"
    both = [start_run(store, tmp_path) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert sorted(ran(tmp_path)) == [1, 2, 3, 4]


def test_what_another_made_meanwhile_is_taken(tmp_path: Path) -> None:
    store, plan = Store(tmp_path / "store"), chain(tmp_path, 1)
    (step,) = plan
    assert perform(step, store) is True
    assert perform(step, store) is False
    manifest = json.loads((store.path(step.key) / "entry.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["number"] == 1
    assert set(manifest["files"]) == {"sum"}


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Workers do not run the script that starts them."""
    script = tmp_path / "script.py"
    script.write_text(
        "from attentest.engine import Plan, Store, run_plan\n"
        "from attentest.engine.local import LocalPool\n"
        "print('once')\n"
        "plan, store = Plan(), Store('store')\n"
        f"plan.add('add', '{TOY}:add', {{'number': 1}}, {{}})\n"
        "print(run_plan(plan, store, LocalPool(store, 1)))\n"
    )
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert done.stdout.count("once") == 1, done.stderr
    assert "done=1" in done.stdout
    assert not done.stderr


def test_an_interrupt_that_reaches_another_thread_waits_until_a_worker_is_started() -> None:
    """A thread that does not block the signal gets it, and Python interrupts the main one."""
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    inside = []

    def interrupted() -> None:
        with _no_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
            inside.append("to the end")

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        stop.set()
        other.join()
    assert inside == ["to the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
