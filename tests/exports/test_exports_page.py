"""What docs/exports.md shows can be run, and names what there is."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from program import Program

from attentest.audits import Audit
from attentest.reports.write import verdict_file
from attentest.studies.verdict.judge import NO, UNCLEAR, UNTESTED, YES

PAGE = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(audited: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(audited.folder, tmp_path / "audits" / "movies")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.usefixtures("folder")
def test_its_commands_run(command: Program) -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    exports = [line for line in lines if line.startswith("attentest export ")]
    assert len(exports) >= 3
    for line in exports:
        assert command(*shlex.split(line)[1:]).code == 0
    assert Path("README.md").stat().st_size > 1000
    assert Path("verdicts.xml").stat().st_size > 1000


def test_its_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("python"):
        exec(block, {})
    assert "'faithful': " in capsys.readouterr().out
    assert Path("verdicts.xml").is_file()


def test_its_job_exports_what_it_audits() -> None:
    (block,) = blocks("yaml")
    job = yaml.safe_load(block)["attention"]
    audit, export = (shlex.split(line) for line in job["script"])
    assert audit[audit.index("--out") + 1] == export[2]
    assert export[export.index("--out") + 1] == job["artifacts"]["reports"]["junit"]


def test_its_tables_name_every_answer_and_every_field(audited: Audit) -> None:
    for answer in (YES, NO, UNCLEAR, UNTESTED):
        assert f"\n| {answer} | " in PAGE
    for field in verdict_file(audited.report, {}).keys() - {"$schema"}:
        assert f"\n| `{field}` | " in PAGE
