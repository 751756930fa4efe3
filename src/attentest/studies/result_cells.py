"""The cells of a study's results, and which of them stand next to published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from attentest.studies.cells import cells_of_finding, cells_of_run, read_cells
from attentest.studies.results import EXPERIMENT, RUN, TRIAL, ResultRef
from attentest.training.run import Run
from attentest.translation.folder import is_translation_run
from attentest.trials.cells import Cell
from attentest.trials.stored import finding_in


def cells_of_result(ref: ResultRef, folder: Path, classes: Sequence[str] = ()) -> list[Cell]:
    """The cells of a run, a trial's finding or an experiment; none of what has no figures."""
    if ref.kind == RUN and not is_translation_run(folder):
        return list(cells_of_run(Run(folder), "base" if ref.projection == "softmax" else ref.projection))
    if ref.kind == EXPERIMENT:
        return read_cells(folder)
    return cells_of_finding(finding_in(folder), ref.projection, classes) if ref.kind == TRIAL else []


def comparable_cells(ref: ResultRef, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Those that stand next to published ones, by model: the model with softmax stands for the paper's, others only for
    what bears their projection's name."""
    found: dict[str, list[Cell]] = {}
    for one in cells if ref.compared else ():
        if ref.projection in ("softmax", one.variant):
            found.setdefault(one.model or ref.model, []).append(one)
    return found
