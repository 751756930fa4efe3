"""Which output of a classification head speaks for which class of a corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attentest.errors import InputError, brief, unknown_name

_NUMBERED = re.compile(r"label_(\d+)")  # what heads are called that nobody named
NO_OUTPUT = -1  # of a class whose logit is 0


def outputs_of(
    names: Sequence[str], classes: Sequence[str], labels: Mapping[str, str] | None
) -> tuple[tuple[int, ...], list[str]]:
    """The place of each class among the head's outputs, whose names are `names`, and notes on what was assumed.

    `labels` gives names of the head the names of classes. A head with one output gives the logit of one of two
    classes; the other one has none (-1), which stands for a logit of 0.
    """
    called = _renamed(names, classes, labels or {})
    found = [_place(called, name) for name in classes]
    if len(names) == 1 and len(classes) == 2:
        if found == [NO_OUTPUT, NO_OUTPUT]:
            found = [NO_OUTPUT, 0]
            return tuple(found), [f"The head has one output; it is taken for the logit of '{classes[1]}'."]
        return tuple(found), []
    missing = [name for name, place in zip(classes, found, strict=True) if place == NO_OUTPUT]
    over = [name for place, name in enumerate(names) if place not in found]
    if missing or over:
        raise InputError(_mismatch(names, classes, missing))
    return tuple(found), []


def _renamed(names: Sequence[str], classes: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    """The head's names as classes are called, in lower case."""
    lowered = {name.lower(): place for place, name in enumerate(names)}
    called = [match[1] if (match := _NUMBERED.fullmatch(name.lower())) else name.lower() for name in names]
    for name, given in labels.items():
        if str(name).lower() not in lowered:
            raise unknown_name("label of the model in `labels`", str(name), names)
        if str(given) not in classes:
            raise unknown_name("class of the corpus in `labels`", str(given), classes)
        called[lowered[str(name).lower()]] = str(given).lower()
    twice = sorted(name for name in set(called) if called.count(name) > 1)
    if twice:
        raise InputError(f"`labels` gives two labels of the model the class {brief(twice[0])}; each needs its own.")
    return called


def _place(called: Sequence[str], name: str) -> int:
    return called.index(name.lower()) if name.lower() in called else NO_OUTPUT


def _mismatch(names: Sequence[str], classes: Sequence[str], missing: Sequence[str]) -> str:
    what = f"The model's labels are {_listed(names)}, the classes of the corpus {_listed(classes)}"
    if len(names) != len(classes):
        return f"{what}: {len(names)} and {len(classes)}. Choose a model that was trained for these classes."
    return f"{what}; none of the labels is '{missing[0]}'. Say with `labels` which one it is, and so for each class."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
