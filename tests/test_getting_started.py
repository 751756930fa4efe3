"""The page docs/getting-started.md, done from its top to its end by a reader who skips nothing.

Blocks marked `bash` and `python` are run in a folder of their own. Those marked `sh` set up the environment (make,
pip), which the tests have already; they are only looked at.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import attentest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def reader(folder: Path) -> dict[str, str]:
    """The environment: `attentest` is a program, and its store lies in the folder."""
    program = folder / "bin" / "attentest"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attentest.cli "$@"\n')
    program.chmod(0o755)
    source = Path(attentest.__file__).parents[1]
    return {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH")))),
        "ATTENTEST_STORE": str(folder / "store"),
        "OMP_NUM_THREADS": "1",
    }


def test_blocks_are_of_known_kinds() -> None:
    assert {kind for kind, _ in BLOCKS} == {"sh", "bash", "python"}
    setting_up = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
    assert all(line.startswith(("make ", "pip ", "source ")) for line in setting_up)


@pytest.mark.slow
def test_all_of_it_works(tmp_path: Path) -> None:
    environment = reader(tmp_path)
    said = ""
    for kind, block in BLOCKS:
        if kind == "sh":
            continue
        command = [sys.executable, "-c", block] if kind == "python" else ["bash", "-e", "-o", "pipefail", "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        said += done.stdout
    assert "is not accepted" in said or "is accepted" in said
    named = [name for name in re.findall(r"`([\w./-]+\.(?:html|json|csv))`", PAGE) if not name.startswith("demo/")]
    assert len(named) > 6
    assert not [name for name in named if not (tmp_path / name).is_file()]
    verdicts = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert set(verdicts["answers"].values()) <= {"yes", "no", "unclear", "not tested"}
