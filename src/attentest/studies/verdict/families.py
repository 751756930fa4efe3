"""Which tests and verdicts are of models of texts with labels, and which of translation models."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attentest.errors import InputError
from attentest.studies.verdict.definitions import CRITERIA
from attentest.studies.verdict.judge import FAILURES
from attentest.studies.verdict.of_translation import (
    CRITERIA_OF_TRANSLATION,
    DEFINITIONS_OF_TRANSLATION,
    NOT_APPLICABLE,
)

LABELS, TRANSLATIONS = "models of texts with labels", "translation models"
_TESTS = {LABELS: CRITERIA, TRANSLATIONS: CRITERIA_OF_TRANSLATION}


def check_apply(families: Collection[str], thresholds: Iterable[str] = (), failures: Iterable[str] = ()) -> None:
    """Refuse thresholds and verdicts to fail on that these families of models lack: they would change nothing."""
    if not families:
        return
    judged = " and ".join(sorted(families))
    for name in thresholds:
        if not any(name in _TESTS[family] for family in families):
            known = [test for family in sorted(families) for test in _TESTS[family]]
            raise InputError(f"{judged.capitalize()} have no test {name}; their tests are: {', '.join(known)}.")
    for name in failures:
        definition = FAILURES[name][0]
        if set(families) == {TRANSLATIONS} and definition in NOT_APPLICABLE:
            known = list(DEFINITIONS_OF_TRANSLATION)
            raise InputError(f"{name} never comes true: {judged} are judged as {' and '.join(known)} alone.")
