"""Bring a finished run of the user's into the store."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import hash_of, make_folder
from attentest.progress import Listener


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    for name, written in settings["files"].items():
        source = Path(settings["path"]) / name
        if hash_of(source) != written:
            raise InputError(f"{source} has changed since the audit was planned; run the audit again.")
        make_folder((out / name).parent)
        shutil.copy2(source, out / name)
