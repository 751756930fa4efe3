"""The page docs/your-model.md: its examples run, are short, and reach leave-one-out and gradients."""

from __future__ import annotations

import contextlib
import csv
import io
import random
import re
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_table

PAGE = (Path(__file__).parents[1] / "docs" / "your-model.md").read_text(encoding="utf-8")
LONGEST = 30  # lines of an example
ASIDES = ("we came late", "the room was full", "my sister paid", "it rained")
DISHES = ("soup", "pasta", "fish", "salad", "cake")
PRAISE, BLAME = ("wonderful", "fresh", "excellent"), ("awful", "bland", "stale")


def blocks(heading: str) -> list[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def write_reviews(file: Path) -> None:
    chance = random.Random(1)
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["body", "stars"])
        for row in range(120):
            stars, words = ((5, PRAISE), (1, BLAME))[row % 2]
            said = f"{chance.choice(ASIDES)} and the {chance.choice(DISHES)} was {chance.choice(words)} on day {row}"
            table.writerow([said, stars])


def lived_through(heading: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    write_reviews(folder / "reviews.csv")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ATTENTEST_STORE", str(folder / "store"))
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(heading):
            exec(block, names)
    return names


@pytest.mark.slow
def test_a_plain_module_is_audited_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = lived_through("A plain PyTorch module", tmp_path, monkeypatch)
    assert (tmp_path / "audits" / "plain" / "report.html").is_file()
    assert names["audit"].answer("faithful") != "not tested"
    table = read_table(tmp_path / "audits" / "plain" / "findings" / "correlation" / "table.parquet")
    assert {"tau attention – leave-one-out", "tau attention – gradient-input-fixed"} <= set(table.column_names)


@pytest.mark.slow
def test_a_module_around_an_encoder_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiny_folders import bert_folder

    bert_folder(tmp_path / "encoder", model="Model", initializer_range=0.5)
    names = lived_through("A module around a Hugging Face encoder", tmp_path, monkeypatch)
    assert (tmp_path / "audits" / "around" / "report.html").is_file()
    assert names["audit"].answer("used") != "not tested"
    table = read_table(tmp_path / "audits" / "around" / "findings" / "correlation" / "table.parquet")
    assert "tau attention – leave-one-out" in table.column_names
    assert any("gradient" in name for name in table.column_names)
    assert names["model"].network is names["network"]


@pytest.mark.parametrize("heading", ["A plain PyTorch module", "A module around a Hugging Face encoder"])
def test_what_is_written_around_a_model_is_short(heading: str) -> None:
    [around] = [block for block in blocks(heading) if "def encode(" in block or "Pretrained(" in block]
    assert len(around.splitlines()) <= LONGEST
