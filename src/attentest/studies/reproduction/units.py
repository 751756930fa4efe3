"""Units of work: one paper's model on one corpus with one seed, small enough that an hour leaves finished figures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from attentest.corpora import load
from attentest.corpora.corpus import Corpus
from attentest.engine.plan import Plan, Step
from attentest.studies.expand import StudyPlan, add_corpus, models_of_kind
from attentest.studies.expand_translation import add_translations
from attentest.studies.experiments import experiment_class
from attentest.studies.published import published, same_corpus
from attentest.studies.reproduction.plan import BUDGET, settings_of, study_of
from attentest.studies.reproduction.wanted import wanted_places
from attentest.studies.results import EXPERIMENT, RUN, TRIAL, ResultRef
from attentest.studies.schema import Study

KEPT = (RUN, TRIAL, EXPERIMENT)  # results that have figures


@dataclass(frozen=True)
class Unit:
    paper: str
    corpus: str
    name: str  # of the model, as its study calls it
    seed: int
    corpus_hash: str
    settings: str
    results: Mapping[ResultRef, Step]

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.paper, self.corpus, self.name, self.seed

    @property
    def key(self) -> str:
        """Of all its steps, and so of their settings, inputs and code."""
        keys = sorted(step.key for step in self.results.values())
        return hashlib.sha256(" ".join(keys).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Group:
    """A paper's units on one corpus, and the plan that has all their steps."""

    paper: str
    corpus: str
    units: tuple[Unit, ...]
    plan: Plan

    @property
    def settings(self) -> dict[str, str]:
        """Of each unit, by its key."""
        return {unit.key: unit.settings for unit in self.units}


def plan_group(
    paper: str, corpus: str, data_dir: Path | None = None, seeds: int | None = None, varied: Study | None = None
) -> Group:
    """Of the paper's study, or of one in which something is other."""
    study = varied or study_of(paper, corpus, seeds)
    options: dict[str, Any] = {**study.columns, **({"data_dir": str(data_dir)} if data_dir else {})}
    given = tuple(sorted(options.items()))
    loaded, mark, plan = _loaded(corpus, given), _fingerprint(corpus, given), Plan()
    add = add_translations if loaded.kind == "generation" else add_corpus
    units: list[Unit] = []
    asked = {model for model, _, _ in wanted_places(paper, corpus)}
    for model in models_of_kind(study, loaded.kind):
        found = StudyPlan(replace(study, models=(model,)), BUDGET, plan=plan, fingerprints={corpus: mark})
        add(found, corpus, options, loaded)
        if any(ref.model in asked for ref in found.results):  # of others no figure is published
            units += _units(paper, corpus, found, settings_of(study, model))
    return Group(paper, corpus, tuple(units), plan)


@cache
def _loaded(corpus: str, options: tuple[tuple[str, Any], ...]) -> Corpus:
    """Read once, however many papers and variations there are."""
    return load(corpus, **dict(options))


@cache
def _fingerprint(corpus: str, options: tuple[tuple[str, Any], ...]) -> str:
    """All texts are read for it."""
    return _loaded(corpus, options).fingerprint()


def _units(paper: str, corpus: str, found: StudyPlan, settings: str) -> Iterator[Unit]:
    by_seed: dict[int, dict[ResultRef, Step]] = {}
    for ref, step in found.results.items():
        if ref.kind in KEPT and ref.compared and _has_figures(paper, corpus, ref):
            by_seed.setdefault(ref.seed, {})[ref] = step
    for seed, results in by_seed.items():
        block = next(iter(results)).block
        name = block.removesuffix(f" seed {seed}").partition(" ")[2]
        yield Unit(paper, corpus, name, seed, found.fingerprints[corpus], settings, results)


def _has_figures(paper: str, corpus: str, ref: ResultRef) -> bool:
    """Whether a result may have a published figure next to it: of experiments those that the paper prints figures of,
    for this corpus and with softmax."""
    if ref.kind != EXPERIMENT:
        return True
    printed = {cell.trial for cell in published(paper) if same_corpus(cell.corpus, corpus)}
    return ref.projection == "softmax" and experiment_class(ref.name).number in printed
