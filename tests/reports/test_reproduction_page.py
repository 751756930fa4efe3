"""The page of a reproduction: a dot for each cell, in one file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from toy_reproduction import f1, row, written
from typer.testing import CliRunner

import attentest
from attentest.cli.commands import app


def test_a_dot_for_each_cell(tmp_path: Path) -> None:
    uniform = row("wiegreffe2019", "sst_jw", "uniform, trained and inferred", "f1", 0.5)
    rows = [*(f1(seed, 0.82 + 0.004 * seed) for seed in range(3)), uniform]
    folder = written(tmp_path / "tables", rows)
    before = sorted(folder.iterdir())
    said = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "page.html")])
    assert said.exit_code == 0, said.output
    assert sorted(folder.iterdir()) == before
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    [spec] = re.findall(r'<script type="application/json" class="spec">(.*?)</script>', page, re.DOTALL)
    dots = json.loads(spec)["data"]["values"]
    assert [(dot["variant"], dot["status"], dot["trainings"]) for dot in dots] == [
        ("base", "within", "3"),
        ("uniform, trained and inferred", "outside", "1"),
    ]
    told = {entry["title"] for entry in json.loads(spec)["layer"][1]["encoding"]["tooltip"]}
    assert {"paper", "table", "corpus", "model", "variant", "published", "ours", "status"} <= told
    assert "2 of these are compared, and 1 are within their tolerance" in page
    assert not re.search(r'(src|href)="https?:', page)


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    reasons = "not comparable:\n  - {table: Table 2, why: '</script><script>alert(1)</script>'}\n"
    folder = written(tmp_path / "tables", [f1(0, 0.8)], reasons=reasons)
    page = attentest.report(folder, tmp_path / "page.html").page.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page


def test_it_lies_in_the_folder_unless_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "tables", [])
    found = attentest.report(folder)
    assert found.page == folder / "report.html"
    assert found.report.figures == []
    assert "not run yet" in found.page.read_text(encoding="utf-8")
