"""Errors that are the user's to mend: each is one sentence, and the CLI turns it into exit code 2."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 80  # characters of what was given that a message repeats


class InputError(ValueError):
    """What was given cannot be used; the message says what was expected and what to do."""


def expect_type(what: str, value: object, kind: type) -> None:
    """Refuse a value of another type; a whole number may stand for a float, a truth value for nothing else."""
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{what} is {brief(value)}; expected {kind.__name__}.")


def brief(value: object) -> str:
    """What was given as a message repeats it: whole, unless it is very long."""
    try:
        written = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists within lists
        return f"a very long {type(value).__name__}"
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}…"


def last_line(error: str) -> str:
    """What a trace ends with, which says what went wrong; nothing of an error that says nothing."""
    return next(reversed(error.splitlines()), "")


def unknown_name(kind: str, given: str, known: Iterable[str]) -> InputError:
    """An error for a name that is in no registry, with the nearest one that is."""
    names = sorted(known)
    nearest = nearest_name(given, names)
    hint = f"did you mean '{nearest}'?" if nearest else f"choose from: {', '.join(names)}."
    return InputError(f"Unknown {kind} '{_cut(given)}'; {hint}")


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


def nearest_name(given: str, known: Iterable[str]) -> str | None:
    """The one of the known names that `given` may be a slip of, whatever their case."""
    lowered = {name.lower(): name for name in known}
    if len(given) > LONGEST:  # no slip of any name
        return None
    return next((lowered[name] for name in get_close_matches(given.lower(), lowered, n=1, cutoff=0.5)), None)
