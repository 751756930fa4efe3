"""Lists that people write by hand next to the tables, as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from attentest.errors import InputError

LARGEST = 1_000_000  # bytes


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Refuses a name that stands twice, of which YAML would drop the first."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for name in (name.value for name, _ in node.value if isinstance(name, yaml.ScalarNode)):
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"'{name}' stands in it twice", node.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_list(path: Path, of: str) -> Any:
    """What is in the file; `of` says what it lists."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is too long for a list of {of}.")
        text = path.read_text(encoding="utf-8")
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
