"""Put one run on one trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.progress import Listener
from attentest.training.run import Run, choose_device
from attentest.trials import make_trial
from attentest.trials.hold import hold
from attentest.trials.subject import subject_of


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    device = str(choose_device(settings["device"]))
    subject = subject_of(Run(inputs["run"]), texts=settings["texts"], device=device, site=settings.get("site"))
    subject = replace(subject, folder=out)
    trial = make_trial(settings["trial"], **settings["settings"])
    hold([trial], subject, lambda done, total: listener.progress("read", done, total))
