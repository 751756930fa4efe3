"""Escape sequences, line breaks and marks of direction in names and texts never reach the terminal raw."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from program import Answer, Program

from attentest.display.heatmaps.text import escaped, one_line, visible

STEERING = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x7f\u202eevil\u2066"
NAME = f"n{STEERING}\n[/b][red]:smile:\u2028"
CONTROL = re.compile(  # all but the newline at the end of a line
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)
TINY = ("--epochs", 1, "--dimension", 8, "--hidden", 4)


@pytest.fixture
def corpus_file(tmp_path: Path) -> Path:
    """A corpus whose file, columns, classes, ids and texts are all hostile."""
    file = tmp_path / f"{NAME.replace('/', '')}.jsonl"
    texts = [(n, word) for n in range(60) for word in ("good", "bad")]
    rows = [
        {"text": f"a {word}{STEERING} film\t{n}\n{NAME}", "label": f"{word}{NAME}", "id": f"{n} {word}{NAME}"}
        for n, word in texts
    ]
    rows = [{f"{column}{NAME}": value for column, value in row.items()} for row in rows]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def check(answer: Answer, code: int = 0) -> Answer:
    assert answer.code == code, answer.err
    for said in (answer.out, answer.err):
        found = CONTROL.search(said)
        assert found is None, said[max(0, found.start() - 60) : found.start() + 60]
    return answer


@pytest.mark.slow
def test_nothing_steers_the_terminal(command: Program, corpus_file: Path, tmp_path: Path) -> None:
    run, store = tmp_path / f"run{NAME.replace('/', '')}", tmp_path / "store"
    columns = [part for name in ("text", "label", "id") for part in (f"--{name}", f"{name}{NAME}")]
    check(command("train", corpus_file, *columns, "--name", NAME, "--out", run, *TINY))
    check(command("train", corpus_file, *columns, "--name", NAME, "--out", run, *TINY, "--json"))
    check(command("train", corpus_file, *columns, "--name", NAME, "--out", run, "--seed", 1), 2)  # another run is there
    assert len(check(command("train", corpus_file, "--text", NAME), 2).err.splitlines()) == 1  # names the columns
    other = shutil.copytree(run, tmp_path / f"other{STEERING}")
    shown = check(command("show", run, run, "--n", 3))
    assert "\N{SYMBOL FOR ESCAPE}" in shown.out
    found = check(command("show", run, "--json"))
    assert STEERING in json.loads(found.out)[0]["text"]
    check(command("show", run, "--text", f"good {NAME}", "--html", tmp_path / f"page{STEERING}.html"))
    check(command("show", run, "--id", NAME), 2)
    for trial in ("permutation", "uniform", "correlation"):
        check(command("trial", trial, run, "--texts", 8))
        check(command("trial", trial, run, "--texts", 8, "--json"))
    check(command("report", run))
    check(command("report", run, "--json"))
    out = tmp_path / f"audit{NAME.replace('/', '')}"
    check(command("audit", corpus_file, *columns, "--name", NAME, "--dry-run", "--store", store))
    check(command("audit", corpus_file, *columns, "--name", NAME, "--dry-run", "--store", store, "--json"))
    check(command("compare", run, other, "--texts", 5, "--out", out, "--store", store))
    check(command("compare", run, other, "--texts", 5, "--out", out, "--store", store, "--json"))
    check(command("status", out))
    check(command("status", out, "--json"))
    check(command("report", out))
    check(command("study", _study(tmp_path, corpus_file), "--dry-run", "--store", store))
    check(command("study", _study(tmp_path, corpus_file), "--out", tmp_path / "study", "--store", store))
    check(command("status", tmp_path / "study"))
    check(command("report", tmp_path / "study"))


def _study(folder: Path, corpus_file: Path) -> Path:
    file = folder / f"study{STEERING}.yaml"
    content = {
        "name": f"study{NAME}",
        "title": NAME,
        "corpora": [str(corpus_file)],
        "columns": {name: f"{name}{NAME}" for name in ("text", "label", "id")},
        "training": {"epochs": 1, "dimension": 8, "hidden": 4},
        "texts": 8,
        "trials": ["permutation"],
    }
    file.write_text(json.dumps(content), encoding="utf-8")  # which is YAML, too
    return file


def test_messages_are_one_line(command: Program, tmp_path: Path) -> None:
    for arguments in (["train", f"{NAME}.csv"], ["show", NAME], ["report", NAME], ["status", NAME], [NAME]):
        said = check(command(*arguments), 2).err
        assert said.count("\n") == 1
        assert said.startswith("attentest: ")


def test_text_made_visible() -> None:
    assert one_line("a\x1b[1m\n\tb\u2028\x9b") == "a\N{SYMBOL FOR ESCAPE}[1m\u240a\u2409b\ufffd\ufffd"
    assert visible("a\n\tb") == "a\n\tb"


def test_json_reads_back() -> None:
    for text in (NAME, "\ud800", "naïve 😀", "\\", '"', "\x7f\x80\x9f"):
        written = escaped(json.dumps(text, ensure_ascii=False))
        assert CONTROL.search(written) is None
        assert json.loads(written) == text
