"""The settings of a run, in the groups they belong to."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, NamedTuple

from attentest.corpora.corpus import Corpus
from attentest.errors import expect_type, unknown_name
from attentest.models.settings import ModelSettings
from attentest.text.settings import TextSettings
from attentest.training.fit import TrainingSettings

GROUPS = {"text": TextSettings, "model": ModelSettings, "training": TrainingSettings}


class Settings(NamedTuple):
    text: TextSettings
    model: ModelSettings
    training: TrainingSettings


def sort_settings(corpus: Corpus, given: dict[str, Any]) -> Settings:
    """Each setting to the group that has it; the corpus's recipe stands where nothing was given."""
    chosen: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    chosen["text"].update({name: value for name, value in corpus.recipe.items() if name != "answers"})
    for name, value in given.items():
        group, checked = check_setting(name, value)
        chosen[group][name] = checked
    return Settings(*(kind(**chosen[group]) for group, kind in GROUPS.items()))


def check_setting(name: str, value: Any) -> tuple[str, Any]:
    """The group that a setting belongs to, and its value if it is of the right type."""
    homes = {field.name: (group, field.default) for group, kind in GROUPS.items() for field in fields(kind)}
    if name not in homes:
        raise unknown_name("setting", name, homes)
    group, default = homes[name]
    if isinstance(default, tuple) and isinstance(value, list):
        value = tuple(value)
    if value is not None or default is not None:
        expect_type(f"The setting {name}", value, OPTIONAL.get(name, type(default)))
    return group, value


OPTIONAL = {"attention_lr": float, "patience": int}  # what these are when they are not None


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives them back."""
    found: dict[str, Any] = json.loads(json.dumps(settings))
    return found
