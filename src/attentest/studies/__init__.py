"""Studies: a paper's tables, or a grid of one's own, as a plan of steps."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from attentest.errors import InputError, unknown_name
from attentest.files import is_file
from attentest.studies.schema import PAPERS, Study, read_study

__all__ = ["PAPERS", "Study", "find_study", "read_study"]


def find_study(name: str) -> Study:
    """A paper's study by its name, or one's own from a YAML file."""
    if name in PAPERS:
        return read_study(Path(str(files("attentest.studies") / "papers" / f"{name}.yaml")))
    if Path(name).suffix in (".yaml", ".yml"):
        if not is_file(Path(name)):
            raise InputError(f"{name}: there is no such file.")
        return read_study(Path(name))
    raise unknown_name("study", name, PAPERS)
