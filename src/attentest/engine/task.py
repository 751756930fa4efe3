"""A step for work that does several together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Task:
    """What a step is given, and the folder to fill."""

    settings: Mapping[str, Any]
    inputs: Mapping[str, Path]
    out: Path
