"""Conclude an experiment from the translation runs that were made for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.progress import Listener
from attentest.studies.steps.experiment import conclude
from attentest.translation.run import TranslationRun


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    conclude(settings, inputs, out, TranslationRun)
