"""Experiments: trials that train further models; one file each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from attentest.errors import expect_type, unknown_name
from attentest.studies.experiments.base import Experiment

EXPERIMENTS = {
    "uniform": "attentest.studies.experiments.untrained:Untrained",
    "seeds": "attentest.studies.experiments.seeds:Seeds",
    "guides": "attentest.studies.experiments.guides:Guides",
    "adversary": "attentest.studies.experiments.adversary:TrainedAdversary",
    "frozen": "attentest.studies.experiments.frozen:Frozen",
    "sparsity": "attentest.studies.experiments.sparsity:Sparsity",
    "fix": "attentest.studies.experiments.fix:Fix",
    "informed-adversary": "attentest.studies.experiments.informed:InformedAdversary",
    "controls": "attentest.studies.experiments.controls:Controls",
    "zoo": "attentest.studies.experiments.zoo:Zoo",
    "gumbel": "attentest.studies.experiments.informed:Gumbel",
    "translation-fixed": "attentest.studies.experiments.translation_fixed:TranslationFixed",
}


def experiment_class(name: str) -> type[Experiment]:
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    module, _, attribute = EXPERIMENTS[name].partition(":")
    found: type[Experiment] = getattr(import_module(module), attribute)
    return found


def make_experiment(name: str, settings: Mapping[str, Any]) -> Experiment:
    kind = experiment_class(name)
    known: dict[str, Any] = {f.name: f.default for f in fields(kind)}  # type: ignore[arg-type]
    given = {}
    for setting, value in settings.items():
        if setting not in known:
            raise unknown_name(f"setting of the experiment {name}", setting, known)
        if isinstance(known[setting], tuple) and isinstance(value, list):
            value = tuple(value)
        expect_type(f"The setting {setting} of the experiment {name}", value, type(known[setting]))
        for part in value if isinstance(value, tuple) else ():
            kind_of_part = type(known[setting][0]) if known[setting] else str
            expect_type(f"An entry of {setting} of the experiment {name}", part, kind_of_part)
        given[setting] = value
    return kind(**given)
