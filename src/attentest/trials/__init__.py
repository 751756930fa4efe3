"""Trials: one question each, put to a model's attention; each gives a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from attentest.errors import InputError, expect_type, unknown_name
from attentest.memory import most_bytes
from attentest.models.pretrained.precision import AUTO
from attentest.training.run import Run, choose_device
from attentest.trials.base import Trial
from attentest.trials.finding import Finding
from attentest.trials.hold import hold
from attentest.trials.of_translation import OF_TRANSLATION
from attentest.trials.subject import SUBJECT, Subject, subject_of

__all__ = ["TRIALS", "Finding", "Subject", "hold", "make_trial", "subject_of", "trial", "trial_class"]

TRIALS = {
    "uniform": "attentest.trials.uniform:Uniform",
    "permutation": "attentest.trials.permutation:Permutation",
    "adversary": "attentest.trials.adversary:InstanceAdversary",
    "correlation": "attentest.trials.correlation:Correlation",
    "removal": "attentest.trials.removal:Removal",
    "flips": "attentest.trials.removal:Flips",
    "importance-sets": "attentest.trials.importance_sets:ImportanceSets",
    "overlap": "attentest.trials.overlap:Overlap",
    "conicity": "attentest.trials.conicity:Conicity",
    "erasure": "attentest.trials.erasure:Erasure",
    "exchange": "attentest.trials.exchange:Exchange",
    "dispersion": "attentest.trials.dispersion:Dispersion",
    "information": "attentest.trials.information:Information",
    "rationale": "attentest.trials.rationale:Rationale",
    "swaps": "attentest.trials.swaps:Swaps",
    "layers": "attentest.trials.layers:Layers",
    "unidentified": "attentest.trials.unidentified:Unidentified",
}


def trial_class(name: str) -> type[Trial]:
    """Of models of texts with labels, or of translation runs."""
    known = {**TRIALS, **OF_TRANSLATION}
    if name not in known:
        raise unknown_name("trial", name, known)
    module, _, attribute = known[name].partition(":")
    found: type[Trial] = getattr(import_module(module), attribute)
    return found


def make_trial(named: str | type[Trial], /, **settings: Any) -> Trial:
    kind = trial_class(named) if isinstance(named, str) else named
    name = kind.name
    known: dict[str, Any] = {f.name: f.default for f in fields(kind)}  # type: ignore[arg-type]
    for setting, value in settings.items():
        if setting not in known:
            raise unknown_name(f"setting of the trial {name}", setting, known)
        usual = known[setting]
        if isinstance(usual, tuple):
            settings[setting] = value = _several(value)
            for part in value if isinstance(value, tuple) else ():
                kind_of_part = type(usual[0]) if usual else str
                expect_type(f"An entry of the setting {setting} of the trial {name}", part, kind_of_part)
        if usual is not MISSING:
            expect_type(f"The setting {setting} of the trial {name}", value, type(usual))
    missing = [setting for setting, usual in known.items() if usual is MISSING and setting not in settings]
    if missing:
        raise InputError(f"The trial {name} needs the setting {', '.join(missing)}.")
    return kind(**settings)


def _several(given: Any) -> Any:
    """Several values as a list, names with commas between them, or a single number."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    if isinstance(given, int | float):
        return (given,)
    return tuple(given) if isinstance(given, list) else given


def trial(
    name: str | Trial | type[Trial] | Run | Subject | Path,
    subject: Run | Subject | str | Path | Trial | type[Trial],
    *,
    texts: int | None = None,
    site: str | None = None,
    device: str = "auto",
    dtype: str = AUTO,
    memory: int | str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
    **settings: Any,
) -> Finding:
    """Put a model's attention on one trial.

    `name` is a trial's name with its `settings`, or a `Trial` of your own; `subject` a run, the folder of a run or of
    an audit, or a `Subject`. The two may change places. A run keeps the finding in its folder. A hierarchical model is
    examined at the site of its sentences, or of its words with site="word". `dtype="bfloat16"` puts a pretrained
    encoder into that number type; `memory` bounds what is in memory at a time, the model aside, in bytes or written as
    "2GB".
    """
    if _is_trial(subject) and not _is_trial(name):
        name, subject = subject, name
    chosen = chosen_trial(name, settings)
    if isinstance(subject, str | Path):
        subject = Run(subject)
    if isinstance(subject, Run):
        where = str(choose_device(device))
        run = subject.computed_in(dtype)
        accused = subject_of(run, texts=texts, device=where, site=site, memory=most_bytes(memory))
    elif isinstance(subject, Subject):
        if texts is not None:
            raise InputError("`texts` only applies to runs; for a Subject, choose the texts with its rows.")
        if dtype != AUTO:
            raise InputError("`dtype` only applies to runs; a Subject has its model as you made it.")
        accused = subject if site is None else replace(subject, site=site)
        accused = accused if memory is None else replace(accused, memory=most_bytes(memory))
    else:
        raise InputError(f"A trial needs a run, its folder or a Subject, not {type(subject).__name__}. {SUBJECT}")
    (finding,) = hold([chosen], accused, watch)
    return finding


def _is_trial(given: Any) -> bool:
    if isinstance(given, str):
        return given in TRIALS or given in OF_TRANSLATION
    return isinstance(given, Trial) or (isinstance(given, type) and issubclass(given, Trial))


def chosen_trial(given: Any, settings: dict[str, Any]) -> Trial:
    """A trial by its name, by its class, or itself."""
    if isinstance(given, str):
        return make_trial(given, **settings)
    if isinstance(given, type) and issubclass(given, Trial):
        _check_trial(given)
        return make_trial(given, **settings)
    if not isinstance(given, Trial):
        raise InputError(f"A trial is a name or a Trial, not {type(given).__name__}; choose from: {', '.join(TRIALS)}.")
    _check_trial(type(given))
    if settings:
        raise InputError(f"{type(given).__name__}(…) already has its settings; {', '.join(settings)} cannot be added.")
    return given


def _check_trial(kind: type[Trial]) -> None:
    """A trial of one's own has what hold and pages ask of it."""
    missing = [name for name in ("name", "question") if not isinstance(getattr(kind, name, None), str)]
    if missing:
        raise InputError(f"The trial {kind.__name__} has no {' and no '.join(missing)}; set them as class variables.")
    if not is_dataclass(kind):
        raise InputError(f"The trial {kind.__name__} is not a dataclass; its fields are its settings: add @dataclass.")
