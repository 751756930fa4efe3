"""A setting is stated once: what its field says is what is checked, and every one has its help."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from attentest.errors import InputError
from attentest.settings import Setting, check_values, setting, settings_of
from attentest.training.settings import GROUPS, check_setting, known_settings


@dataclass(frozen=True)
class Example:
    size: int = setting(3, "Size.", least=2)
    rate: float | None = setting(None, "Rate.", otherwise="same as size")
    way: Literal["up", "down"] = setting("up", "Way.")
    tool: str = setting("saw", "Tool.", choices={"saw": 1, "axe": 2})
    far: str = setting("moon", "Far.", choices=lambda: ["moon", "mars"])
    wet: bool = setting(False, "Wet.", flags=("wet", "dry"))
    parts: tuple[str, ...] = setting(("a",), "Parts.")

    def __post_init__(self) -> None:
        check_values(self)


EXAMPLE: dict[str, Setting] = {one.name: one for one in settings_of(Example)}


def test_a_field_says_what_its_setting_is() -> None:
    assert [one.help for one in EXAMPLE.values()] == ["Size.", "Rate.", "Way.", "Tool.", "Far.", "Wet.", "Parts."]
    assert [one.kind for one in EXAMPLE.values()] == [int, float, str, str, str, bool, str]
    assert [name for name, one in EXAMPLE.items() if one.optional] == ["rate"]
    assert [name for name, one in EXAMPLE.items() if one.several] == ["parts"]
    assert {name: one.without for name, one in EXAMPLE.items()} == {
        "size": "3", "rate": "same as size", "way": "up", "tool": "saw", "far": "moon", "wet": "dry", "parts": "a",
    }  # fmt: skip
    assert {name: tuple(one.choices) for name, one in EXAMPLE.items() if one.choices} == {
        "way": ("up", "down"), "tool": ("saw", "axe"), "far": ("moon", "mars"),
    }  # fmt: skip
    assert EXAMPLE["far"].few_choices == ()  # finding them may be slow


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": 1}, "size is 1; it must be at least 2."),
        ({"size": float("nan")}, "size is nan; it must be a finite number."),
        ({"way": "dwn"}, "Unknown way 'dwn'; did you mean 'down'?"),
        ({"tool": "sew"}, "Unknown tool 'sew'; did you mean 'saw'?"),
    ],
)
def test_values_that_cannot_be_are_told(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        Example(**given)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("name", "value", "checked"),
    [
        ("size", 4, 4),
        ("rate", None, None),
        ("rate", 1, 1),
        ("wet", True, True),
        ("parts", ["a", "b"], ("a", "b")),
        ("parts", "a, b", ("a", "b")),
        ("parts", (), ()),
    ],
)
def test_a_value_of_the_right_type_is_taken(name: str, value: Any, checked: Any) -> None:
    assert EXAMPLE[name].checked(value) == checked


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("size", None, "The setting size is None; expected int."),
        ("size", 2.5, "The setting size is 2.5; expected int."),
        ("size", True, "The setting size is True; expected int."),
        ("rate", "fast", "The setting rate is 'fast'; expected float."),
        ("wet", 1, "The setting wet is 1; expected bool."),
        ("parts", 5, "The setting parts is 5; expected tuple."),
        ("parts", ["a", 1], "An entry of the setting parts is 1; expected str."),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        EXAMPLE[name].checked(value)
    assert str(refused.value) == said


def test_names_of_settings_are_unique_over_all_groups() -> None:
    assert len(known_settings()) == sum(len(settings_of(kind)) for kind in GROUPS.values())


@pytest.mark.parametrize("name", known_settings())
def test_every_setting_of_a_run_has_its_help_and_takes_its_default(name: str) -> None:
    group, one = known_settings()[name]
    assert one.help[:1].isupper(), f"{name} of {GROUPS[group].__name__} has no help"
    assert one.help.endswith(".")
    assert one.default not in (None, ()) or one.about.otherwise is not None, f"{name}: say what happens otherwise"
    assert check_setting(name, one.default) == (group, one.default)
    assert not one.choices or one.several or one.default in one.choices


def test_settings_are_known_without_torch() -> None:
    code = "import sys; from attentest.training.settings import GROUPS; print({'torch', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
