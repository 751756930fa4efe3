"""Errors name the parameter in Python and the flag on the command line."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import attentest
from attentest.cli import main
from attentest.cli.commands import app
from attentest.cli.flags import command_of, with_flags

PACKAGE = Path(attentest.__file__).parent
PROGRAM = get_command(app)


@pytest.mark.parametrize(
    ("command", "message", "said"),
    [
        ("audit", "choose another folder with `out`.", "choose another folder with --out."),
        ("train", "replace it with `overwrite=True`.", "replace it with --overwrite."),
        ("train", "need `tokenizer='whitespace'` and `digits='keep'`", "need --tokenizer whitespace and --digits keep"),
        ("train", "`min_frequency=2`, `max_tokens`", "--min-frequency 2, --max-tokens"),
        ("audit", "`data_dir` or `nothing` or `x y`", "--data-dir or `nothing` or `x y`"),
        ("report", "`threshold`", "--threshold"),
        ("audit", "`as_json`", "--json"),
    ],
)
def test_parameters_become_the_flags_of_the_command(command: str, message: str, said: str) -> None:
    assert with_flags(message, command_of(PROGRAM, [command, "x"])) == said


def test_the_command_is_found_among_the_arguments() -> None:
    assert command_of(PROGRAM, ["study", "jain2019", "--out", "x"]).name == "study"
    assert command_of(PROGRAM, ["store", "gc", "--dry-run"]).name == "gc"
    assert command_of(PROGRAM, []) is PROGRAM


def test_the_same_mistake_in_python_and_on_the_command_line(
    run: attentest.Run, corpus: attentest.Corpus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(attentest.InputError, match="replace it with `overwrite=True`"):
        attentest.train(corpus, run.path, hidden=4)
    arguments = ["train", "planted", "-o", "difficulty=0.5", "--rows", "300", "--hidden", "4", "--out", str(run.path)]
    monkeypatch.setattr(sys, "argv", ["attentest", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "replace it with --overwrite." in capsys.readouterr().err


def messages(source: str) -> list[str]:
    """The text constants of a module, but not its docstrings."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [text for text in constants if isinstance(text, str) and text not in docs]


def test_no_message_of_the_library_names_a_flag() -> None:
    flag = re.compile(r"(?<![\w<!-])--([a-z][a-z-]+(?![\w:(])|\{|$)")
    found = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "display")  # CSS has properties of this form
        for text in messages(path.read_text(encoding="utf-8"))
        if flag.search(text)
    ]
    assert found == []
