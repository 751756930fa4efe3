"""Set two runs against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.files import write_table
from attentest.progress import Listener
from attentest.studies.comparison import NAME, finding, instances_of_both
from attentest.studies.steps.instances import FILE
from attentest.training.run import Run


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    runs = Run(inputs["a"]), Run(inputs["b"])
    finding(settings["names"], *runs).save(out / NAME)
    write_table(out / FILE, instances_of_both(settings["names"], *runs))
