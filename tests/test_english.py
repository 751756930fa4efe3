"""What people read is plain technical English: no private abbreviations of papers, none of the old turns of phrase."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.generate import every_command
from typer.testing import CliRunner

import attentest
from attentest.cli.commands import app

ROOT = Path(__file__).parents[1]
SOURCE = Path(attentest.__file__).parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "architecture.md"),  # for developers
]
FILES = [
    *PAGES,
    *sorted((SOURCE / "reports" / "templates").glob("*.html")),
    *sorted((SOURCE / "studies" / "papers").glob("*.yaml")),
    *sorted((SOURCE / "studies" / "published").glob("*.csv")),
]
MODULES = sorted(SOURCE.rglob("*.py"))

PAPERS = r"\b(JW|WP|SS|VA|ME|WE)\b"  # say Jain & Wallace 2019
PHRASES = "|".join(
    (
        r"\bheld\b(?! fixed)",  # a trial runs
        r"\b(hold|holds) (the|all|a) trials?\b",
        r"\b(go|goes|went) on\b",  # resumes
        r"\banew\b",
        r"\bhangs? on\b",  # depends on
        r"\bbeside\b",  # next to, compared with, additional
        r"\b(one's|its|their) own (trial|model|folder|study|option|parameter)s?\b",
        r"\b(a|an) (model|trial|study|grid|option|parameter|token|name) of (one's|its|their|your) own\b",
        r"\bof one's own\b",
        r"\bwhat (was|were) (found|said)\b",  # the result, reported
        r"\bother side\b",  # fails the threshold
        r"\bside that was asked\b",
        r"\basked for\b",
        r"\bstates \(?a direction\b",  # hidden size per direction
        r"\b\d+ a direction\b",
        r"\b(to|can) mend\b",
        r"\bat hand\b",
        r"\bdropped, counted and said\b",
        r"\bset (ours|theirs|them|the \w+) against\b",  # compare with
    )
)
FORBIDDEN = re.compile(f"{PAPERS}|{PHRASES}")


def complaints(text: str) -> list[str]:
    line = " ".join(text.split())  # a phrase may be broken across lines
    return [line[max(0, m.start() - 40) : m.end() + 40] for m in FORBIDDEN.finditer(line)]


def strings(module: str) -> Iterator[str]:
    """Of a module's strings those of several words, docstrings aside: help, messages, questions, charts."""
    tree = ast.parse(module)
    parents = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, parents) and node.body]
    docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        said = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(said, str) and " " in said.strip():
            yield said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_pages_are_plain(file: Path) -> None:
    assert complaints(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_what_a_module_says_is_plain(module: Path) -> None:
    said = list(strings(module.read_text(encoding="utf-8")))
    assert [complaint for text in said for complaint in complaints(text)] == []


@pytest.mark.parametrize("name", [name for name, _ in every_command()])
def test_help_is_plain(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split()[1:], "--help"], terminal_width=200).output
    assert len(shown) > 100
    assert complaints(shown) == []


@pytest.mark.parametrize("name", ["trials", "corpora", "models"])
def test_lists_are_plain(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--json"]).output
    assert len(shown) > 500
    assert complaints(shown) == []


@pytest.mark.parametrize(
    "text",
    [
        "as in JW Fig. 1",
        "the trial rationale was not held",
        "start it again, and it goes on",
        "drawn anew",
        "What has weight is what the decision hangs on.",
        "published figures beside ours",
        "a model of one's own",
        "the whole interval is on the side that was asked for",
        "clearly on the other side: texts",
        "one page that says what was found",
    ],
)
def test_old_words_are_noticed(text: str) -> None:
    assert complaints(text)


def test_plain_words_pass() -> None:
    assert complaints("Jain & Wallace 2019: with attention held\nfixed, run the trial again; WEIGHTS, NAMES.") == []


def test_docstrings_and_single_words_are_for_developers() -> None:
    module = '"""Module, JW."""\nx = "two words"\ny = "one"\ndef f():\n    "WP docstring"\n'
    assert list(strings(module)) == ["two words"]
