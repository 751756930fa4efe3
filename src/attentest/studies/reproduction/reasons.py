"""Reasons that people write down: why there is no figure of ours, why it may not be compared, why it differs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from attentest.errors import InputError, unknown_name
from attentest.studies.published import NOT_COMPARABLE, NOT_RUN, OUTSIDE, Published
from attentest.studies.reproduction.by_hand import read_list

FILE = "reasons.yaml"
NO_DATA = "no data"
KINDS = (NO_DATA, NOT_RUN, NOT_COMPARABLE, OUTSIDE)


@dataclass(frozen=True)
class Reason:
    """`why` for all published cells that the patterns name; `*` stands for any text."""

    why: str
    experiment: str = ""  # what shows it, of figures outside their tolerance …
    variation: str = ""  # … or the name of the variation whose figures do
    paper: str = "*"
    table: str = "*"
    corpus: str = "*"
    model: str = "*"
    variant: str = "*"
    measure: str = "*"

    def is_about(self, cell: Published) -> bool:
        return all(_matches(getattr(self, name), getattr(cell, name)) for name in _PATTERNS)

    @property
    def pattern(self) -> str:
        given = ((name, getattr(self, name)) for name in _PATTERNS)
        return ", ".join(f"{name} {value}" for name, value in given if value != "*")


_PATTERNS = ("paper", "table", "corpus", "model", "variant", "measure")


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None


@dataclass(frozen=True)
class Reasons:
    by_kind: dict[str, tuple[Reason, ...]] = field(default_factory=dict)

    def of(self, kind: str, cell: Published) -> Reason | None:
        """The first that is about a cell."""
        return next((reason for reason in self.by_kind.get(kind, ()) if reason.is_about(cell)), None)


def read_reasons(folder: Path, cells: Iterable[Published]) -> Reasons:
    """Refused where a reason is about no published cell: it has a wrong name, or the cell has gone."""
    path, known = folder / FILE, list(cells)
    found = Reasons(_read(path) if path.exists() else {})
    for kind, reasons in found.by_kind.items():
        for reason in reasons:
            if not any(reason.is_about(cell) for cell in known):
                raise InputError(f"{path}: the reason under '{kind}' for {reason.pattern} is about no published cell.")
    return found


def _read(path: Path) -> dict[str, tuple[Reason, ...]]:
    content = read_list(path, "reasons")
    if not isinstance(content, dict):
        raise InputError(f"{path} must have lists of reasons under {', '.join(KINDS)}.")
    for kind, listed in content.items():
        if kind not in KINDS:
            raise unknown_name(f"kind of reason in {path.name}", str(kind), KINDS)
        if not isinstance(listed, list):
            raise InputError(f"{path}: '{kind}' must be a list of reasons.")
    return {kind: tuple(_reason(path, kind, entry) for entry in listed) for kind, listed in content.items()}


def _reason(path: Path, kind: str, entry: Any) -> Reason:
    names = [one.name for one in fields(Reason)]
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise InputError(f"{path}: a reason under '{kind}' must have names with texts, such as corpus and why.")
    for name in entry:
        if name not in names:
            raise unknown_name(f"part of a reason in {path.name}", str(name), names)
    if not entry.get("why"):
        raise InputError(f"{path}: a reason under '{kind}' lacks `why`.")
    if kind == OUTSIDE and not (entry.get("experiment") or entry.get("variation")):
        raise InputError(f"{path}: a reason under '{kind}' lacks `experiment`, or `variation`.")
    found = Reason(**entry)
    if not found.pattern:
        raise InputError(f"{path}: a reason under '{kind}' must name at least one of {', '.join(_PATTERNS)}.")
    return found
