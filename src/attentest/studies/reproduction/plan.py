"""What a reproduction runs: every paper's study at one budget, with how many seeds on which corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from attentest.corpora.benchmarks import BENCHMARKS
from attentest.studies import find_study
from attentest.studies.expand import model_settings, models_of_kind, with_budget
from attentest.studies.expand_translation import NAMES
from attentest.studies.published import GENERATED
from attentest.studies.schema import Study

BUDGET = "standard"
SEEDS = 3  # trainings behind each figure …
FEWER_SEEDS = {"imdb_jw": 1, "snli": 1, "multi30k_en_de": 1}  # … but for corpora whose trainings take hours


@cache
def paper_study(paper: str) -> Study:
    """As its YAML is now, at the budget; read once."""
    return with_budget(find_study(paper), BUDGET)


def study_of(paper: str, corpus: str, seeds: int | None = None) -> Study:
    """A paper's study on one corpus; a study that names several seeds itself has those."""
    study = paper_study(paper)
    count = seeds or FEWER_SEEDS.get(corpus, SEEDS)
    own = study.seeds if len(study.seeds) > 1 and seeds is None else tuple(range(count))
    return replace(study, corpora=(corpus,), seeds=own)


def task_of(corpus: str) -> str:
    """What kind of corpus it is, without reading it; empty where that is not known."""
    known = BENCHMARKS.get(corpus) or BENCHMARKS.get(corpus.removesuffix(GENERATED))
    return "" if known is None else known.kind


def first_model(study: Study) -> str:
    """The name of the model that a direction is about unless it names another."""
    models = models_of_kind(study, task_of(study.corpora[0]))
    if not models:
        return ""
    return NAMES[models[0]["model"]] if "model" in models[0] else model_settings(models[0]).name


def settings_of(study: Study, model: Mapping[str, Any]) -> str:
    """A hash of what a study says about a unit: another one, and its figures are stale."""
    corpus = study.corpora[0]
    encoder = {} if "model" in model else study.training_of.get(model_settings(model).encoder, {})
    told = {
        "model": dict(model),
        "training": {**study.training, **study.training_on.get(corpus, {}), **encoder},
        "rows": study.rows_on.get(corpus, study.rows),
        "texts": study.texts_on.get(corpus, study.texts),
        "trials": study.trials,
        "experiments": study.experiments,
        "here": study.experiments_on.get(corpus, {}),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=list).encode()).hexdigest()[:12]


def current_settings(study: Study) -> set[str]:
    return {settings_of(study, model) for model in study.models}
