"""The charts of a stored finding, made anew from its table and its summary: its folder may be anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from attentest.errors import InputError
from attentest.studies import comparison
from attentest.studies.experiments import EXPERIMENTS, experiment_class
from attentest.studies.results import EXPERIMENT
from attentest.studies.verdict.criterion import People
from attentest.trials import TRIALS, trial_class
from attentest.trials.base import Chart, Trial, charts_of
from attentest.trials.charts.files import as_text, svg_of
from attentest.trials.of_translation import OF_TRANSLATION
from attentest.trials.stored import TABLE, StoredFinding

MOST_CHARACTERS = 500_000  # of a chart; ours have far fewer for any number of texts


def class_of(kind: str, name: str) -> Any:
    """What a trial or experiment says about itself; None if this version has it no more."""
    if kind == comparison.NAME:
        return comparison.ABOUT
    if kind == People.kind:
        return People
    if kind == EXPERIMENT:
        return experiment_class(name) if name in EXPERIMENTS else None
    return trial_class(name) if name in TRIALS or name in OF_TRANSLATION else None


def redrawn(finding: StoredFinding) -> Mapping[str, Chart]:
    """By title; none of a trial that this version does not know."""
    about = class_of(finding.record.kind, finding.record.trial)
    if about is None:
        return {}
    is_trial = isinstance(about, type) and issubclass(about, Trial)
    charts: Mapping[str, Chart] = finding.made(partial(charts_of, about) if is_trial else about.charts)
    if any(len(as_text(chart)) > MOST_CHARACTERS for chart in charts.values()):
        raise InputError(f"{finding.folder / TABLE} is damaged: it gives charts that are too large to be drawn.")
    return charts


def picture_of(chart: Chart) -> str:
    """Empty if it cannot be drawn: a page shows its data as a table then."""
    try:
        return svg_of(chart)
    except InputError:
        return ""
