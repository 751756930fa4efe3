"""Settings as keyword arguments: what type checkers and notebooks complete is what the dataclasses have."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import attentest
from attentest.audits import AuditGiven, plan
from attentest.estimator import AttentionClassifier
from attentest.training.keywords import SettingsGiven
from attentest.training.settings import GROUPS

HINTS = {name: hint for kind in GROUPS.values() for name, hint in get_type_hints(kind).items()}
DEFAULTS = {field.name: field.default for kind in GROUPS.values() for field in fields(kind)}


def test_the_typed_keywords_are_the_settings_by_name_and_type() -> None:
    assert get_type_hints(SettingsGiven) == HINTS
    assert list(get_type_hints(SettingsGiven)) == list(DEFAULTS)


@pytest.mark.parametrize("function", [attentest.train, AttentionClassifier.__init__])
def test_notebooks_complete_every_setting_with_its_default(function: object) -> None:
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values())


@pytest.mark.parametrize("function", [attentest.audit, plan])
def test_audits_complete_settings_and_columns(function: object) -> None:
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    assert set(get_type_hints(AuditGiven)) <= set(parameters)
    assert set(DEFAULTS) | {"text", "label", "split", "data_dir", "budget", "device"} <= set(parameters)
    assert (parameters["budget"].default, parameters["encoder"].default) == ("quick", None)


def test_columns_of_audits_are_those_of_load() -> None:
    asked = {"text", "second", "label", "split", "id", "rationale", "positive", "format", "encoding", "data_dir"}
    assert asked <= set(inspect.signature(attentest.load).parameters)
    assert asked <= set(get_type_hints(AuditGiven))


@pytest.mark.slow
def test_type_checkers_know_the_keywords_and_the_results(tmp_path: Path) -> None:
    lines = {
        'attentest.train(corpus, encoder="cnn", seed=1)': "attentest.runs.Run",
        'attentest.train(corpus).trial("permutation")': "attentest.trials.finding.Finding",
        'attentest.audit(corpus, text="body", encoder="cnn", budget="quick")': "attentest.audits.Audit",
        'attentest.train(corpus, encodr="cnn")': 'Unexpected keyword argument "encodr"',
        'attentest.train(corpus, hidden="4")': 'Argument "hidden" has incompatible type "str"; expected "int"',
        'attentest.audit(corpus, budgt="quick")': 'Unexpected keyword argument "budgt"',
    }
    program = tmp_path / "typed.py"
    program.write_text(
        "import attentest\ncorpus: attentest.Corpus\n" + "".join(f"reveal_type({line})\n" for line in lines)
    )
    source = str(Path(attentest.__file__).parents[1])
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(program)]
    environment = {**os.environ, "MYPYPATH": source}
    root = Path(__file__).parents[2]  # whose pyproject.toml has mypy's settings
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    for number, (line, told) in enumerate(lines.items(), 3):
        assert any(f"typed.py:{number}: " in row and told in row for row in said), (line, done.stdout, done.stderr)
