"""Lists that people write by hand next to the tables, as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from attentest.errors import InputError

LARGEST = 1_000_000  # bytes


def read_list(path: Path, of: str) -> Any:
    """What is in the file; `of` says what it lists."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is too long for a list of {of}.")
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
