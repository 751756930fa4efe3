"""The library names parameters (`out`, `overwrite=True`); the command line has flags for them (--out, --overwrite)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_PARAMETER = re.compile(r"`(?P<name>[a-z_]+)(?:=(?P<value>[^`]*))?`")


def with_flags(message: str, command: Any) -> str:
    """The message with the command's flags for the parameters that it has; others stay as they are."""
    flags = {option.name: option for option in command.params if option.param_type_name == "option"}

    def flag(found: re.Match[str]) -> str:
        option = flags.get(found["name"])
        if option is None:
            return found[0]
        name = next(flag for flag in option.opts if flag.startswith("--"))
        value = found["value"]
        return name if value is None or option.is_flag else f"{name} {_bare(value)}"

    return _PARAMETER.sub(flag, message)


def _bare(value: str) -> str:
    """A Python string without its quotes."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def command_of(program: Any, arguments: Sequence[str]) -> Any:
    """The command that these arguments name."""
    for argument in arguments:
        inner = getattr(program, "commands", {})
        if argument in inner:
            program = inner[argument]
    return program
