"""A whole audit where a machine has almost nothing: one font, the C locale, an unusual time zone, an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from page_tree import Tree

import attentest
from attentest.files import name_of, read_json, read_table, write_json, write_table
from attentest.reports.parts.formatting import path as link

CLASSES = ("🦜" * 60 + " birds", "👩‍👩‍👧‍👦 families 🇩🇪")
NAME = os.fsdecode("avis é 🦜".encode())  # as a program in this process's locale has to write it
SMALL = ["-s", "epochs=1", "-s", "dimension=8", "-s", "hidden=4", "--texts", "24", "--workers", "1"]
NO_FONTS = '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{}</dir></fontconfig>'


def test_names_that_the_locale_cannot_decode_survive(tmp_path: Path) -> None:
    escaped = "caf\udcc3\udca9 \udcff"  # bytes of a name as Python has them where the locale is ASCII
    write_json(tmp_path / "a.json", {"path": escaped, "name": "é🦜"})
    assert read_json(tmp_path / "a.json") == {"path": escaped, "name": "é🦜"}
    assert "é🦜" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert link(f"a b/{escaped}") == "a%20b/caf%C3%A9%20%FF"
    assert link("é/\ud83e") == "%C3%A9/%3F"
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    assert name_of(folder) == "caf\N{REPLACEMENT CHARACTER}"
    assert name_of(tmp_path / NAME) == "avis é 🦜"
    table = pa.table({"a": [1]})
    write_table(folder / "a.parquet", table)
    assert read_table(folder / "a.parquet").equals(table)


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment: of the fonts only the one that the converter brings, and no encoding but ASCII."""
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts.conf").write_text(NO_FONTS.format(tmp_path / "fonts"), encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "XDG_", "PYTHONIO"))}
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Kathmandu"}
    places = {"HOME": str(tmp_path / "home"), "FONTCONFIG_FILE": str(tmp_path / "fonts.conf")}
    return kept | plain | places


def test_an_audit_with_one_font_and_the_c_locale(bare: dict[str, str], tmp_path: Path) -> None:
    corpus, out = tmp_path / f"{NAME}.jsonl", tmp_path / NAME
    rows = attentest.load("planted", rows=80).table.to_pylist()
    with corpus.open("w", encoding="utf-8") as file:
        for row in rows:
            named = {"text": row["text"], "label": CLASSES[row["label"]], "split": row["split"]}
            file.write(json.dumps(named, ensure_ascii=False) + "\n")
    given = [str(corpus), "--out", str(out), "--store", str(tmp_path / "store"), *SMALL]
    command = [sys.executable, "-m", "attentest.cli", "audit", *given]
    said = subprocess.run(command, env=bare, umask=0o077, cwd=tmp_path, capture_output=True, check=False)
    assert said.returncode == 0, said.stderr.decode(errors="replace")
    stored = [json.loads(file.read_text(encoding="utf-8")) for file in out.glob("findings/*/finding.json")]
    charts = [chart for finding in stored for chart in finding["charts"]]
    assert len(charts) > 20
    assert all(chart["svg"] and chart["png"] and chart["csv"] is None for chart in charts)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count('<figure class="chart"') == len(charts)
    assert page.count('<div class="picture"><svg') == len(charts)
    assert "could not be drawn" not in page
    text = Tree.of(page).text
    assert "Audit of avis é 🦜" in text
    assert CLASSES[1] in text
    assert "\N{REPLACEMENT CHARACTER}" not in text
