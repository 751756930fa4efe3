"""Look for the sinks of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attentest.files import read_as, write_json
from attentest.models.pretrained.sinks import Sinks
from attentest.progress import Listener
from attentest.training.run import Run, choose_device
from attentest.trials.sinks import SinkSearch, look_for_sinks

FILE = "sinks.json"


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    found = look_for_sinks(Run(inputs["run"]), str(choose_device(settings["device"])))
    write_json(out / FILE, asdict(found))


def read_search(folder: Path) -> SinkSearch:
    return read_as(folder / FILE, SinkSearch)


def sinks_in(folder: Path) -> Sinks | None:
    """None if there are none."""
    found = read_search(folder).found
    return Sinks.of(found) if found else None
