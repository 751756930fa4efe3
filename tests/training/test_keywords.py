"""Settings as keyword arguments: what type checkers and notebooks complete is what the dataclasses have."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import TYPE_CHECKING, assert_type, get_type_hints

import pytest

import attentest
from attentest.audits import AuditGiven, plan
from attentest.estimator import AttentionClassifier
from attentest.training.keywords import SettingsGiven
from attentest.training.settings import GROUPS

HINTS = {name: hint for kind in GROUPS.values() for name, hint in get_type_hints(kind).items()}
DEFAULTS = {field.name: field.default for kind in GROUPS.values() for field in fields(kind)}


def test_the_typed_keywords_are_the_settings_by_name_and_type() -> None:
    assert get_type_hints(SettingsGiven) == HINTS
    assert list(get_type_hints(SettingsGiven)) == list(DEFAULTS)


@pytest.mark.parametrize("function", [attentest.train, AttentionClassifier.__init__])
def test_notebooks_complete_every_setting_with_its_default(function: object) -> None:
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values())


@pytest.mark.parametrize("function", [attentest.audit, plan])
def test_audits_complete_settings_and_columns(function: object) -> None:
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    assert set(get_type_hints(AuditGiven)) <= set(parameters)
    assert set(DEFAULTS) | {"text", "label", "split", "data_dir", "budget", "device"} <= set(parameters)
    assert (parameters["budget"].default, parameters["encoder"].default) == ("quick", None)


def test_columns_of_audits_are_those_of_load() -> None:
    asked = {"text", "second", "label", "split", "id", "rationale", "positive", "format", "encoding", "data_dir"}
    assert asked <= set(inspect.signature(attentest.load).parameters)
    assert asked <= set(get_type_hints(AuditGiven))


if TYPE_CHECKING:  # for mypy, which also complains about an ignore that is not needed

    def known_to_type_checkers(corpus: attentest.Corpus) -> None:
        run = attentest.train(corpus, encoder="cnn", seed=1)
        assert_type(run, attentest.Run)
        assert_type(run.trial("permutation"), attentest.Finding)
        assert_type(attentest.audit(corpus, text="body", encoder="cnn", budget="quick"), attentest.Audit)
        attentest.train(corpus, encodr="cnn")  # type: ignore[call-arg]
        attentest.train(corpus, hidden="4")  # type: ignore[arg-type]
        attentest.audit(corpus, budgt="quick")  # type: ignore[call-arg]
