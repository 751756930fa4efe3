"""Put one translation run on one trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.progress import Listener
from attentest.translation.run import TranslationRun
from attentest.trials import make_trial
from attentest.trials.of_translation.base import TranslationTrial
from attentest.trials.of_translation.hold import hold_on_translation
from attentest.trials.of_translation.subject import translation_subject


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    trial = make_trial(settings["trial"], **settings["settings"])
    assert isinstance(trial, TranslationTrial)
    subject = translation_subject(TranslationRun(inputs["run"]), settings["texts"], settings["device"])
    hold_on_translation(
        [trial], replace(subject, folder=out), lambda done, total: listener.progress("translate", done, total)
    )
