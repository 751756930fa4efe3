"""Modules of JavaScript as one script: a page that is a single file has nowhere to import from."""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import [^;]*? from "\./([\w.-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |class |function )", re.MULTILINE)


def joined(*sources: str) -> str:
    """One after the other, each after those it imports from; their names must differ."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)


def in_order(first: str, modules: Mapping[str, str]) -> list[str]:
    """Names of `first` and of all that it imports, directly or not, each after those that it imports itself."""
    found: list[str] = []

    def visit(name: str) -> None:
        for imported in _IMPORT.findall(modules[name]):
            if imported not in found:
                visit(imported)
        if name not in found:
            found.append(name)

    visit(first)
    return found
