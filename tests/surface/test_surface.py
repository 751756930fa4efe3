"""What stands around the code: metadata, extras, the citation, hooks, and the check of the wheel."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import wheel_check
import yaml

import attentest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
MODULES = {"scikit-learn": "sklearn"}  # where the module is not called as the package is


def package(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found, requirement
    return found[0]


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert set(citation) >= {"message", "title", "authors", "abstract", "keywords"}
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert (citation["version"], citation["license"]) == (attentest.__version__, PROJECT["license"])
    assert citation["authors"] == [{"name": "The attentest authors"}]


def test_all_is_every_extra_that_users_may_want() -> None:
    (everything,) = EXTRAS["all"]
    assert everything == f"attentest[{','.join(name for name in EXTRAS if name not in ('dev', 'all'))}]"


def test_every_extra_is_used_and_told() -> None:
    source = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in set(EXTRAS) - {"dev", "all"}:
        assert re.search(rf"\[{extra}\]", readme), extra
        assert f"pip install 'attentest[{extra}]'" in source, extra
        for requirement in EXTRAS[extra]:
            name = package(requirement)
            assert re.search(rf"\b{MODULES.get(name, name)}\b", source), requirement


def test_constraints_are_for_what_is_asked_for() -> None:
    asked = {package(one) for group in (PROJECT["dependencies"], *EXTRAS.values()) for one in group}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert {package(line) for line in lines if not line.startswith("#")} <= asked


def test_hooks_are_the_tools_of_make_lint_and_need_no_network() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local"
    hooks = repository["hooks"]
    assert [hook["entry"] for hook in hooks] == [f".venv/bin/{tool}" for tool in ("ruff check", "ruff format", "mypy")]
    assert {hook["language"] for hook in hooks} == {"system"}


@pytest.mark.parametrize(
    "lost", ["attentest/py.typed", "attentest/reports/templates/page.html", "attentest/reports/verdict.schema.json"]
)
def test_a_file_that_is_not_in_the_wheel_is_named(tmp_path: Path, lost: str) -> None:
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in (ROOT / "src").rglob("*"):
            name = file.relative_to(ROOT / "src").as_posix()
            if name != lost:
                archive.writestr(name, "")
    assert wheel_check.missing_files(wheel) == [lost]


def test_every_public_name_has_a_docstring() -> None:
    bare = [name for name in attentest.__all__ if not (name.startswith("__") or getattr(attentest, name).__doc__)]
    assert not bare
