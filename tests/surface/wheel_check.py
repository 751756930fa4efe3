"""`make wheel-test`: the wheel alone is enough. It is built, installed where the source cannot be seen, and audits.

The new environment sees the dependencies of this one through a .pth file; .pth files are not followed from there, so an
editable install of attentest is not seen.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
STUDY = ("study", "wiegreffe2019", "--corpus", "planted", "--dry-run", "--json")
PUBLISHED = "from attentest.studies.published import published; print(len(published('wiegreffe2019')))"
AUDIT = (
    *("audit", "planted", "--rows", "100", "--texts", "10"),
    *("-s", "epochs=1", "-s", "dimension=8", "-s", "hidden=4", "--store", "store", "--out", "audited"),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = Path(folder) / "elsewhere"
        elsewhere.mkdir()
        wheel = build(Path(folder) / "dist")
        missing = missing_files(wheel)
        assert not missing, f"the wheel lacks {', '.join(missing)}"
        python = install(wheel, Path(folder) / "environment")
        program = python.with_name("attentest")
        place = said(elsewhere, python, "-c", "import attentest; print(attentest.__file__)").strip()
        assert Path(place).is_relative_to(folder), f"{place} was imported, not the wheel"
        version = said(elsewhere, program, "--version")
        assert version.split()[-1] in wheel.name, version
        assert "audit" in said(elsewhere, python, "-m", "attentest", "--help")
        assert "planted" in said(elsewhere, program, *STUDY)
        assert int(said(elsewhere, python, "-c", PUBLISHED)) > 0
        said(elsewhere, program, *AUDIT)
        page = (elsewhere / "audited" / "report.html").read_text(encoding="utf-8")
        for part in ("<style>", "<svg", "vega", 'type="application/json"', "</html>"):
            assert part in page, f"the page has no {part}"
        assert "<testcase" in said(elsewhere, program, "export", "audited", "--to", "junit")
        print(f"{wheel.name}: {len(page) / 1e6:.1f} MB of page from an audit with the source gone")


def build(folder: Path) -> Path:
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("attentest-*.whl")
    return wheel


def missing_files(wheel: Path) -> list[str]:
    """Files of the package (modules, templates, scripts, tables, studies, py.typed) that did not come along."""
    wanted = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        return sorted((wanted | {"attentest/py.typed"}) - set(archive.namelist()))


def install(wheel: Path, folder: Path) -> Path:
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


def said(folder: Path, *command: str | Path) -> str:
    """What a command prints, run in that folder without a word about where the source is."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
