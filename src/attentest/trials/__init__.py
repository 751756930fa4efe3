"""Trials: one question each, put to a model's attention; each gives a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from attentest.errors import expect_type, unknown_name
from attentest.training.run import Run
from attentest.trials.base import Trial
from attentest.trials.finding import Finding
from attentest.trials.hold import hold
from attentest.trials.subject import Subject, subject_of

__all__ = ["TRIALS", "Finding", "Subject", "hold", "make_trial", "subject_of", "trial", "trial_class"]

TRIALS = {
    "uniform": "attentest.trials.uniform:Uniform",
    "permutation": "attentest.trials.permutation:Permutation",
    "adversary": "attentest.trials.adversary:InstanceAdversary",
    "correlation": "attentest.trials.correlation:Correlation",
    "removal": "attentest.trials.removal:Removal",
    "flips": "attentest.trials.removal:Flips",
    "importance-sets": "attentest.trials.importance_sets:ImportanceSets",
    "dispersion": "attentest.trials.dispersion:Dispersion",
    "information": "attentest.trials.information:Information",
    "rationale": "attentest.trials.rationale:Rationale",
}


def trial_class(name: str) -> type[Trial]:
    if name not in TRIALS:
        raise unknown_name("trial", name, TRIALS)
    module, _, attribute = TRIALS[name].partition(":")
    found: type[Trial] = getattr(import_module(module), attribute)
    return found


def make_trial(name: str, **settings: Any) -> Trial:
    kind = trial_class(name)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for setting, value in settings.items():
        if setting not in known:
            raise unknown_name(f"setting of the trial {name}", setting, known)
        if isinstance(getattr(kind, setting), tuple):
            settings[setting] = value = _names(value)
        expect_type(f"The setting {setting} of the trial {name}", value, type(getattr(kind, setting)))
    return kind(**settings)


def _names(given: Any) -> Any:
    """Several names, as a list or with commas between them."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    return tuple(given) if isinstance(given, list) and all(isinstance(part, str) for part in given) else given


def trial(
    name: str,
    subject: Run | Subject,
    *,
    texts: int | None = None,
    site: str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
    **settings: Any,
) -> Finding:
    """Put a run's (or a subject's) attention on one trial; a run keeps the finding in its folder.

    A hierarchical model is examined at the site of its sentences, or of its words with site="word".
    """
    if isinstance(subject, Run):
        accused = subject_of(subject, texts=texts, site=site)
    else:
        accused = subject if site is None else replace(subject, site=site)
    (finding,) = hold([make_trial(name, **settings)], accused, watch)
    return finding
