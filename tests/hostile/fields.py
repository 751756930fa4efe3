"""Every field of what is read as JSON, found from its types, and every way in which it can be wrong."""

from __future__ import annotations

import copy
import dataclasses
import json
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Place = tuple[str | None, ...]  # names of fields; None stands for the entries of a list or of a dict
_MARK = "a field to be replaced"
_DEEP = 3000

# each as it stands in a file
WRONG: dict[str, str] = {
    "null": "null",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "beyond all numbers": "1e999",
    "true": "true",
    "half": "17.5",
    "below 0": "-1",
    "10^400": "1" + "0" * 400,
    "5000 digits": "9" * 5000,
    "a word": '"word"',
    "no word": '""',
    "a long word": '"' + "long " * 50_000 + '"',
    "half a character": '"\\ud800"',
    "a zero character": '"a\\u0000b"',
    "a terminal's command": '"\\u001b[2J\\n"',
    "a path": '"../../../etc/passwd"',
    "a list": "[]",
    "a list of lists": "[[]]",
    "a list of null": "[null]",
    "an object": "{}",
    "an object of null": '{"word": null}',
    "one name twice": '{"word": 1, "word": 2}',
    "deep lists": "[" * _DEEP + "]" * _DEEP,
    "deep objects": '{"a":' * _DEEP + "1" + "}" * _DEEP,
}
WHOLE: dict[str, bytes] = {
    **{f"the whole is {name}": text.encode() for name, text in WRONG.items()},
    "empty": b"",
    "zeros": bytes(64),
    "not closed": b'{"a": [1, 2',
    "very deep": b"[" * 100_000,
    "no UTF-8": b'{"a": "\xff\xfe\xfa"}',
    "two objects": b"{}{}",
}


def places(kind: Any) -> list[Place]:
    """The fields of a type, to any depth."""
    return list(_places(kind, ()))


def _places(kind: Any, path: Place) -> Iterator[Place]:
    if path:
        yield path
    origin, inside = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            yield from _places(hints[field.name], (*path, field.name))
    elif origin in (Union, types.UnionType):
        for one in inside:
            if get_origin(one) or dataclasses.is_dataclass(one):
                yield from list(_places(one, path))[1:]
    elif origin in (list, tuple):
        yield from _places(inside[0], (*path, None))
    elif origin is dict:
        yield from _places(inside[1], (*path, None))


def filled(content: Any, kind: Any) -> Any:
    """The same with an entry in every list and dict that has none, so that every place is there."""
    origin, inside = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        given = content if isinstance(content, dict) else {}
        usual = {
            one.name: one.default for one in dataclasses.fields(kind) if isinstance(one.default, int | float | str)
        }
        return given | {
            field.name: filled((usual | given).get(field.name), hints[field.name]) for field in dataclasses.fields(kind)
        }
    if origin in (Union, types.UnionType):
        known = [one for one in inside if one is not type(None)]
        return filled(content, known[0])
    if origin in (list, tuple):
        return [filled(one, inside[0]) for one in content or [None]]
    if origin is dict:
        return {name: filled(one, inside[1]) for name, one in (content or {"word": None}).items()}
    if content is not None:
        return content
    if origin is Literal:
        return inside[0]
    return {str: "word", int: 1, float: 0.5, bool: True}.get(kind)


def _holder(content: Any, place: Place) -> tuple[Any, str | int]:
    """Where a place is: what holds it, and under which name."""
    for step in place[:-1]:
        content = content[_name(content, step)]
    return content, _name(content, place[-1])


def _name(holder: Any, step: str | None) -> str | int:
    if step is not None:
        return step
    return 0 if isinstance(holder, list) else next(iter(holder))


def without(content: Any, place: Place) -> str:
    changed = copy.deepcopy(content)
    holder, name = _holder(changed, place)
    del holder[name]
    return json.dumps(changed)


def put(content: Any, place: Place, text: str) -> str:
    """The file with this text in the place of a field."""
    changed = copy.deepcopy(content)
    holder, name = _holder(changed, place)
    holder[name] = _MARK
    return json.dumps(changed).replace(f'"{_MARK}"', text)


def twice(content: Any, place: Place) -> str:
    """The file with a field that stands there twice, the second time as null."""
    changed = copy.deepcopy(content)
    holder, name = _holder(changed, place)
    if not isinstance(holder, dict):
        return put(content, place, "null")
    was = json.dumps(holder[name])
    holder[name] = _MARK
    return json.dumps(changed).replace(f'"{_MARK}"', f"{was}, {json.dumps(name)}: null")
