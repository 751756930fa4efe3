"""Names of model parts, with a parameter where they take one: `sparsegen:0.5`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attentest.errors import InputError, brief, unknown_name


@dataclass(frozen=True)
class Part:
    """One choice in a registry: what it is, how to make it, and the parameter it takes, if any."""

    summary: str
    make: Callable[..., Any]
    parameter: float | None = None  # the default; None: it takes none
    allowed: Callable[[float], bool] = lambda value: True
    allowed_text: str = ""


def choose(kind: str, spec: str, registry: Mapping[str, Part]) -> tuple[Part, float | None]:
    """The part a spec names and its parameter: `entmax` or `entmax:1.3`."""
    name, colon, given = spec.partition(":")
    if name not in registry:
        raise unknown_name(kind, name, registry)
    part = registry[name]
    if not colon:
        return part, part.parameter
    if part.parameter is None:
        raise InputError(f"The {kind} '{name}' takes no parameter, so '{spec}' cannot be used.")
    try:
        value = float(given)
    except ValueError as error:
        raise InputError(f"The parameter of the {kind} {brief(spec)} is not a number.") from error
    if not (math.isfinite(value) and part.allowed(value)):
        raise InputError(f"The parameter of the {kind} '{name}' is {given}; it must be {part.allowed_text}.")
    return part, value
