"""A trial asked of a translation run by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.errors import InputError, unknown_name
from attentest.translation.folder import is_translation_run
from attentest.translation.run import TranslationRun
from attentest.trials import TRIALS, chosen_trial, make_trial
from attentest.trials.base import Trial
from attentest.trials.finding import Finding
from attentest.trials.of_translation import OF_TRANSLATION, PREFIX
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.hold import hold_on_translation
from attentest.trials.of_translation.subject import translation_subject

_ITS_TRIALS = f"its trials are: {', '.join(OF_TRANSLATION)}."


def asked_of_translation(subject: Any) -> bool:
    return isinstance(subject, TranslationRun) or (
        isinstance(subject, str | Path) and is_translation_run(Path(subject))
    )


def ask(
    name: Any,
    run: TranslationRun | str | Path,
    *,
    texts: int | None = None,
    device: str = "auto",
    watch: Watch = lambda done, total: None,
    refused: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Finding:
    """`refused` are options that translation runs do not have."""
    refuse_options(refused)
    opened = run if isinstance(run, TranslationRun) else TranslationRun(run)
    if not isinstance(name, str | Trial | type):
        raise InputError(f"A trial is a name or a Trial, not {type(name).__name__}; {_ITS_TRIALS}")
    chosen = chosen_trial(trial_of_translation(name) if isinstance(name, str) else name, dict(settings))
    if not isinstance(chosen, TranslationTrial):
        raise InputError(f"{opened.path} is a translation run; {_ITS_TRIALS}")
    (finding,) = hold_on_translation([chosen], translation_subject(opened, texts, device), watch)
    return finding


def ask_all(run: Path, *, texts: int | None, device: str, watch: Watch, refused: Mapping[str, Any]) -> list[Finding]:
    """Every trial that applies to the run."""
    refuse_options(refused)
    subject = translation_subject(TranslationRun(run), texts, device)
    made = [make_trial(name) for name in OF_TRANSLATION]
    chosen = [trial for trial in made if isinstance(trial, TranslationTrial) and trial.applies_to(subject)]
    return hold_on_translation(chosen, subject, watch)


def refuse_options(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(f"`{name}` is for models of texts with labels; leave it out for a translation run.")


def trial_of_translation(name: str) -> str:
    """The trial that is meant: `layers` is `translation-layers` here."""
    for own in (name, f"{PREFIX}{name}"):
        if own in OF_TRANSLATION:
            return own
    if name not in TRIALS:
        raise unknown_name("trial of a translation run", name, OF_TRANSLATION)
    raise InputError(f"The trial {name} does not apply to a translation run; these do: {', '.join(OF_TRANSLATION)}.")
