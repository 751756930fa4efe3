"""Single sentences under other weights, for heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.progress import Listener
from attentest.translation.run import TranslationRun
from attentest.trials.of_translation.sentences import FILE, sentences
from attentest.trials.of_translation.subject import translation_subject


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    sentences(translation_subject(TranslationRun(inputs["run"]), device=settings["device"])).write(out / FILE)
