"""Hold trials of a translation run: one table each, from which it concludes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa
import torch

from attentest.errors import InputError
from attentest.files import inside
from attentest.trials.base import charts_of, with_numbers
from attentest.trials.finding import Finding
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.version import __version__


def hold_on_translation(
    trials: Sequence[TranslationTrial], subject: TranslationSubject, watch: Watch = lambda done, total: None
) -> list[Finding]:
    """The findings of all `trials`, in their order."""
    return [_held(trial, subject, watch) for trial in trials]


def _held(trial: TranslationTrial, subject: TranslationSubject, watch: Watch) -> Finding:
    if not trial.applies_to(subject):
        raise InputError(f"The trial {trial.name} does not apply to {subject.run.path}: {trial.lacks(subject)}.")
    with torch.no_grad():
        columns = trial.columns(subject, watch)
    table = pa.table({"id": subject.ids, **columns})
    conclusion = trial.conclude(table)
    table = with_numbers(table, conclusion.for_charts)
    settings = asdict(trial)  # type: ignore[call-overload]
    finding = Finding(
        trial=trial.name,
        question=trial.question,
        answer=conclusion.answer,
        table=table,
        summary=conclusion.summary,
        signature={"attentest": __version__, "trial": trial.name, "settings": settings, **subject.signature},
        charts=charts_of(type(trial), table, conclusion.summary),
        notes=tuple(conclusion.notes),
        headline=trial.headline,
    )
    return finding if subject.folder is None else finding.save(inside(subject.folder, trial.name))
