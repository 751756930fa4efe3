"""Lines of bash around the program, as a user types them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

PROGRAM = f"{shlex.quote(sys.executable)} -m attentest.cli"
SOURCE = Path(__file__).parents[2] / "src"


def shell(line: str, folder: Path, **variables: str | None) -> subprocess.CompletedProcess[str]:
    """Run a line, which exits as the first program in its last pipe did."""
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {**os.environ, "PYTHONPATH": path, **variables}
    return subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        env={name: value for name, value in given.items() if value is not None},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
    )
