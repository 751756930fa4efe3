"""Conclude an experiment from the runs and findings that were made for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attentest.progress import Listener
from attentest.studies.cells import write_cells
from attentest.studies.experiments import make_experiment
from attentest.training.run import Run
from attentest.trials.base import with_numbers
from attentest.trials.finding import Finding
from attentest.trials.stored import finding_in
from attentest.version import __version__


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    conclude(settings, inputs, out, Run)


def conclude(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, opened: Callable[[Path], Any]) -> None:
    """From runs as they are `opened`: an experiment is about one kind of them."""
    experiment = make_experiment(settings["experiment"], settings["settings"])
    runs = {role.partition(" ")[2]: opened(path) for role, path in inputs.items() if role.startswith("run ")}
    findings = {
        role.partition(" ")[2]: finding_in(path) for role, path in inputs.items() if role.startswith("finding ")
    }
    base = runs["base"]
    result = experiment.conclude(runs, findings)
    table = with_numbers(result.table, result.conclusion.for_charts)
    finding = Finding(
        trial=experiment.name,
        question=experiment.question,
        answer=result.conclusion.answer,
        table=table,
        summary=result.conclusion.summary,
        signature={
            "attentest": __version__,
            "experiment": experiment.name,
            "settings": settings["settings"],
            "corpus": base.record.corpus.name,
            "corpus_hash": base.record.corpus.fingerprint,
            "model": base.settings["model"],
        },
        charts=experiment.charts(table, result.conclusion.summary),
        notes=tuple(result.conclusion.notes),
        kind=experiment.kind,
    )
    finding.save(out / experiment.name)
    write_cells(out, result.cells)
