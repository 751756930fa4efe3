"""A setting is stated once, as a dataclass field that says what it does; options, checks and docs follow from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from attentest.errors import InputError, brief, expect_type, unknown_name

ABOUT = "attentest"  # the key in a field's metadata
LARGEST_SEED = 2**32 - 1  # what every generator of random numbers takes
LARGEST = 2**63 - 1  # of whole numbers: arrays and files hold none above it


@dataclass(frozen=True)
class _About:
    help: str
    choices: Callable[[], Iterable[str]] | Iterable[str] = ()
    least: float | None = None
    above: float | None = None
    most: float | None = None
    flags: Sequence[str] = ()
    otherwise: str | None = None
    metavar: str | None = None


def setting(
    default: Any,
    help: str,
    /,
    *,
    choices: Callable[[], Iterable[str]] | Iterable[str] = (),
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    flags: Sequence[str] = (),
    otherwise: str | None = None,
    metavar: str | None = None,
) -> Any:
    """A field of a dataclass of settings; its type hint says what values it takes.

    `choices` are the names it takes where the hint is no Literal; a function, where finding them is slow, offers names
    and checks none. `least` is the smallest number and `most` the largest, `above` one that it must exceed; numbers are
    finite in any case. `flags` are what the command line has for it where its own name will not do: for a bool one to
    switch it on and one to switch it off. `otherwise` says what happens without it where the default does not,
    `metavar` what a value looks like.
    """
    about = _About(help, choices, least, above, most, flags, otherwise, metavar)
    return field(default=default, metadata={ABOUT: about})


@dataclass(frozen=True)
class Setting:
    """What is known about one field."""

    name: str
    kind: type  # of a value, or of each where there are several
    default: Any
    optional: bool  # None is a value
    several: bool  # a tuple of values
    literals: Sequence[str]
    about: _About

    @property
    def help(self) -> str:
        return self.about.help

    @property
    def choices(self) -> Sequence[str]:
        """The names that can be chosen; may import what has them."""
        names = self.about.choices() if callable(self.about.choices) else self.about.choices
        return self.literals or tuple(names)

    @property
    def few_choices(self) -> Sequence[str]:
        """The names that can be chosen, where they are known without importing anything."""
        return () if callable(self.about.choices) else self.choices

    @property
    def without(self) -> str:
        """What holds when it is not set, for people."""
        if self.about.otherwise is not None:
            return self.about.otherwise
        if isinstance(self.default, bool):
            on, off = self.about.flags or ("yes", "no")
            return on if self.default else off
        return ", ".join(map(str, self.default)) if self.several else str(self.default)

    def checked(self, value: Any, what: str | None = None) -> Any:
        """The value if it is of the right type: a list stands for a tuple, and so do names with commas between them."""
        if value is None and self.optional:
            return None
        if self.several and isinstance(value, str) and self.kind is str:
            value = tuple(part.strip() for part in value.split(",") if part.strip())
        if self.several and isinstance(value, list):
            value = tuple(value)
        what = what or f"The setting {self.name}"
        expect_type(what, value, tuple if self.several else self.kind)
        for part in value if self.several else ():
            expect_type(f"An entry of {what[0].lower()}{what[1:]}", part, self.kind)
        for part in value if self.several else (value,):
            self.check_bounds(part)
        return value

    def check_bounds(self, value: Any) -> None:
        """Refuse a number that is not finite, too small or too large."""
        if value is None or isinstance(value, bool) or not isinstance(value, int | float):
            return
        about = self.about
        most = LARGEST if about.most is None and isinstance(value, int) else about.most
        if isinstance(value, float) and not math.isfinite(value):
            expected = "a finite number"
        elif about.least is not None and value < about.least:
            expected = f"at least {about.least:,g}"
        elif about.above is not None and value <= about.above:
            expected = f"above {about.above:g}"
        elif most is not None and value > most:
            expected = f"at most {most:,}"
        elif isinstance(value, int) and value < -LARGEST:
            expected = f"at least {-LARGEST:,}"
        else:
            return
        raise InputError(f"{self.name} is {brief(value)}; it must be {expected}.")


def settings_of(kind: type) -> tuple[Setting, ...]:
    """The settings that a dataclass has, in its order."""
    hints = get_type_hints(kind)
    return tuple(
        Setting(
            f.name,
            *_read(hints[f.name], None if f.default is MISSING else f.default),
            about=f.metadata.get(ABOUT, _About("")),
        )
        for f in fields(kind)
    )


def _read(hint: Any, default: Any) -> tuple[type, Any, bool, bool, Sequence[str]]:
    """What a type hint says: kind, default, optional, several, literals."""
    optional = several = False
    literals: Sequence[str] = ()
    if get_origin(hint) in (UnionType, Union):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
        optional = True
    if get_origin(hint) is tuple:
        hint, several = get_args(hint)[0], True
    if get_origin(hint) is Literal:
        literals = get_args(hint)
        hint = type(literals[0])
    return hint, default, optional, several, literals


def check_types(settings: Any) -> None:
    """Refuse values of another type, and numbers that are not finite, too small or too large."""
    for one in settings_of(type(settings)):
        one.checked(getattr(settings, one.name))


def check_values(settings: Any) -> None:
    """Refuse names that are no choice, and numbers that are not finite, too small or too large."""
    for one in settings_of(type(settings)):
        given = getattr(settings, one.name)
        for value in given if one.several else (given,):
            if one.few_choices and value not in one.few_choices:
                raise unknown_name(one.name, str(value), one.few_choices)
            one.check_bounds(value)
