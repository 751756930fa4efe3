"""Bad input to any command: exit code 2, a message of at most three lines, no trace, nothing written."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from bad_values import FREE, cases, counts, functions, parameters
from odd_files import odd_files
from program import Answer, Program
from tiny_encoders import save_encoder
from tiny_translators import TINY, toy_corpus

import attentest
from attentest.people.design import create_study
from attentest.people.exchange import import_answers

LONGEST = 20  # seconds
ALL = list(cases())
# what a terminal obeys, and what turns a line round; a newline ends a message
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


@pytest.fixture(scope="module")
def places(run: attentest.Run, sibling: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("odd")
    csv = folder / "good.csv"
    words = ("good", "bad")
    csv.write_text("text,label\n" + "".join(f"a {words[n % 2]} film {n},{n % 2}\n" for n in range(60)), "utf-8")
    study = folder / "right.yaml"
    study.write_text("corpora: [planted]\ncolumns: {rows: 100}\ntrials: [permutation]\n", encoding="utf-8")
    encoder = save_encoder(folder / "encoder")
    size: dict[str, Any] = TINY | {"epochs": 1, "select_by": "loss"}
    translator = attentest.train_translation(toy_corpus(40), folder / "translator", **size)
    people = create_study(run, folder / "people", n=5, known=0)
    answers = folder / "answers.csv"
    answers.write_text("annotator,item,relevant\n" + "".join(f"ann,{item.id},yes\n" for item in people.items), "utf-8")
    import_answers(people, answers)
    right = {
        "csv": csv,
        "encoder": encoder,
        "translator": translator.path,
        "study": study,
        "run": run.path,
        "sibling": sibling.path,
        "people": people.folder,
        "answers": answers,
        "store": folder / "store",
    }
    return odd_files(folder) | {name: str(path) for name, path in right.items()}


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still at work after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def wrong_with(answer: Answer, out: Path) -> str:
    """What is wrong with an answer to bad input, or nothing."""
    said = answer.err.rstrip("\n").split("\n")
    faults = {
        f"exit code {answer.code}": answer.code != 2,
        "no message": not answer.err.strip(),
        f"{len(said)} lines": len(said) > 3,
        "a very long message": len(answer.err) > 4000,
        "a trace": "Traceback" in answer.err,
        "control characters": CONTROL.search(answer.err) is not None,
        "output": answer.out != "",
        "written files": out.is_dir() and any(out.iterdir()),
    }
    return ", ".join(fault for fault, there in faults.items() if there)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "parameter"), dict.fromkeys((case.command, case.parameter) for case in ALL), ids=lambda part: part or "-"
)
def test_bad_input_is_told(
    named: str,
    parameter: str,
    places: dict[str, str],
    command: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    faults = []
    for number, case in enumerate(one for one in ALL if (one.command, one.parameter) == (named, parameter)):
        out = tmp_path / f"out-{number}"
        arguments = [filled(one, places | {"out": str(out)}) for one in case.arguments]
        try:
            with at_most(LONGEST):
                answer = command(*named.split(), *arguments)
            fault = wrong_with(answer, out)
        except Exception as error:
            answer, fault = None, f"{type(error).__name__}: {error}"
        if fault:
            shown = [one if len(one) < 200 else f"{one[:200]}…" for one in arguments]
            faults.append(f"{case.kind}: {shown}: {fault}\n    {answer and answer.err[:500]}")
    assert not faults, "\n".join(faults)
    assert not [path.name for path in tmp_path.iterdir() if not path.name.startswith("out-")]


def filled(argument: str, places: dict[str, str]) -> str:
    return re.sub("@([^@]+)@", lambda found: places[found[1]], argument)


def test_every_command_gets_bad_input() -> None:
    found = counts()
    assert sum(kinds.total() for kinds in found.values()) >= 500
    assert all(kinds.total() >= 3 for name, kinds in found.items() if name not in ("store", "annotate"))


def test_every_option_gets_bad_input() -> None:
    there = {(command, name) for command, function in functions() for name, _, _ in parameters(function)}
    left_out = there - {(case.command, case.parameter) for case in ALL}
    assert [(command, name) for command, name in left_out if not {name, (command, name)} & FREE] == []
