"""A disk without room (here: a limit on the size of files): a message, exit code 2, and an old file stays whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from shell import PROGRAM, shell

import attentest
from attentest.errors import InputError
from attentest.files import write_bytes

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("bash"), reason="no bash")]


@pytest.mark.parametrize(
    ("kilobytes", "line", "file"),
    [
        (1, "train planted --rows 60 --epochs 1 --dimension 8 --hidden 4 --out new", "new/run.json"),
        (1, "trial permutation own/run -o permutations=5", "permutation/table.parquet"),
        (1, "show own/run --html own/run/report.html", "report.html"),
        (1, "show own/run --svg own/run/report.html", "report.html"),
        (1, "audit own/run --texts 10 --out new --store store", "new/plan.json"),
        (1, "compare own/run own/other --texts 10 --out new --store store", "new/plan.json"),
        (1, "study right.yaml --out new --store store", "entry.json"),
        (50, "report own/run", "instances.csv"),
        (50, "report own/run/trials/permutation --out own/run/report.html", "report.html"),
    ],
)
def test_what_does_not_fit(kilobytes: int, line: str, file: str, own_run: attentest.Run, tmp_path: Path) -> None:
    study = "corpora: [planted]\ncolumns: {rows: 100}\ntrials: [permutation]\n"
    (tmp_path / "right.yaml").write_text(study, encoding="utf-8")
    shutil.copytree(own_run.path, own_run.path.parent / "other")
    own_run.trial("permutation", permutations=5)
    page = own_run.path / "report.html"
    page.write_text("an old page", encoding="utf-8")
    full = shell(f"ulimit -f {kilobytes}; {PROGRAM} {line}", tmp_path)
    assert full.returncode == 2
    said = full.stderr.splitlines()[-1]
    assert said.startswith("attentest: ")
    assert f"{file} cannot be written: " in said
    assert "Traceback" not in full.stderr
    assert page.read_text(encoding="utf-8") == "an old page"
    assert [path.name for path in tmp_path.rglob(".*.[0-9]*")] == []  # no drafts


def test_no_room_for_temporary_files(tmp_path: Path) -> None:
    full = shell(f"ulimit -f 0; {PROGRAM} models", tmp_path)
    assert full.returncode == 2
    assert full.stderr == "attentest: No temporary file can be written; set TMPDIR to a folder that has room.\n"


@pytest.mark.parametrize("place", ["/dev/full", "/dev/null", "folder", "fifo"])
def test_what_is_no_file_is_not_replaced(place: str, tmp_path: Path) -> None:
    """A page is moved into its place: a device there would be gone."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    target = tmp_path / place
    before = target.stat().st_mode
    with pytest.raises(InputError, match="it is not a regular file"):
        write_bytes(target, b"page")
    assert target.stat().st_mode == before
