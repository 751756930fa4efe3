"""Measure the error rates of tests and verdicts on models of known truth, from the plan to the page."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from attentest.engine.scheduler import Outcome
from attentest.files import is_file, make_folder, read_as, write_bytes, write_json
from attentest.studies.calibration.models import KnownModel, read_models
from attentest.studies.calibration.page import counted, left_out, markdown, roc_charts, table_of_models
from attentest.studies.calibration.plan import BUDGETS, REAL, TRAINING, plan_zoo, set_on
from attentest.studies.calibration.rates import calibrate as rates_of
from attentest.studies.experiments.controls import TRIALS
from attentest.studies.folder import PLAN, PlanRecord, check_free
from attentest.studies.run_study import USUAL, RunningGiven, run_planned, running
from attentest.studies.verdict.calibration import FILE, Calibration
from attentest.training.keywords import takes
from attentest.trials.charts.files import slug, svg_of
from attentest.version import __version__

RESULTS, MODELS, PAGE = "results", "models.csv", "README.md"


@dataclass(frozen=True)
class CalibrationResult:
    """The folder of a calibration, what it found, and how its steps went."""

    folder: Path
    rates: Calibration
    outcome: Outcome

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"folder": str(self.folder), "calibration": asdict(self.rates), "failed": dict(self.outcome.failed)}


@takes(RunningGiven, USUAL)
def calibrate(
    out: str | Path = "calibration",
    *,
    budget: str = "standard",
    corpus: str = REAL,
    options: Mapping[str, Any] | None = None,
    device: str = "auto",
    **given: Unpack[RunningGiven],
) -> CalibrationResult:
    """Train models whose truth is known, run the tests on them, and count how often each is right.

    `corpus` is text by people, into which words that decide are planted; `options` are what `load` is told about it.
    """
    how = running(given)
    folder = Path(out)
    if not is_file(folder / FILE):  # a finished one may have come without its results
        check_free(folder, RESULTS, "a calibration")
    planned = plan_zoo(budget, corpus, options, device)
    outcome = run_planned(planned, folder / RESULTS, **how)
    return CalibrationResult(folder, summarise(folder, budget), outcome)


def summarise(folder: Path, budget: str) -> Calibration:
    """Error rates from the results in a calibration's folder, with their page and pictures."""
    models = read_models(folder / RESULTS)
    first = set_on(budget)
    plan = read_as(folder / RESULTS / PLAN, PlanRecord)
    found = rates_of(models, first, _signature(models, first, budget) | _made_by(plan, budget))
    make_folder(folder)
    write_json(folder / FILE, asdict(found))
    write_bytes(folder / MODELS, table_of_models(models).encode())
    pictures = {}
    for title, chart in roc_charts(models, first).items():
        pictures[title] = f"{slug(title)}.svg"
        write_bytes(folder / pictures[title], svg_of(chart).encode())
    write_bytes(folder / PAGE, markdown(found, pictures).encode())
    return found


def _made_by(plan: PlanRecord, budget: str) -> dict[str, Any]:
    """The settings, and one hash of all steps: the key of a step is that of its code, its settings and its inputs."""
    chosen = BUDGETS[budget]
    keys = "".join(sorted(step.key for step in plan.steps))
    return {
        "steps": hashlib.sha256(keys.encode()).hexdigest()[:16],
        "corpus_hashes": dict(plan.corpora),
        "rows": chosen.rows,
        "texts": chosen.texts,
        "training": dict(TRAINING),
        "trials": {name: dict(settings) for name, settings in TRIALS.items()},
    }


def _signature(models: list[KnownModel], first: list[str], budget: str) -> dict[str, Any]:
    architectures = list(dict.fromkeys(model.architecture for model in models))
    return {
        "attentest": __version__,
        "budget": budget,
        "corpora": list(dict.fromkeys(model.corpus for model in models)),
        "architectures": architectures,
        "set_on": first,
        "held_out": [name for name in architectures if name not in first],
        "models": sum(model.seed is not None for model in models),
        "proven": counted(models),
        "left_out": left_out(models),
    }
