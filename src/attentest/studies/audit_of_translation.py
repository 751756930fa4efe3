"""The audit of a translation run: the trials that apply to it; nothing is trained beside it."""

from __future__ import annotations

from attentest.errors import InputError, unknown_name
from attentest.studies.audit import BUDGETS
from attentest.studies.expand import StudyPlan
from attentest.studies.expand_translation import add_translation_run
from attentest.studies.schema import Study
from attentest.translation.run import TranslationRun
from attentest.trials.of_translation import OF_TRANSLATION, PREFIX

ALONE = (
    "The source is a run alone, so no model was trained with uniform weights to compare it with, and the verdict "
    "needed is not tested. The study vashishth2019 trains such models."
)


def plan_translation_audit(run: TranslationRun, budget: str, texts: int | None, device: str) -> StudyPlan:
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    if not run.finished:
        raise InputError(f"{run.path} is not finished; finish its training first.")
    if texts is not None and texts < 1:
        raise InputError(f"texts is {texts}; it must be at least 1.")
    corpus = run.record.corpus.name
    study = Study(
        name=f"audit of {run.path.name}",
        title=f"Audit of {run.path.name}, trained on {corpus}",
        corpora=(corpus,),
        texts=BUDGETS[budget].texts if texts is None else texts,
        trials={name: {} for name in OF_TRANSLATION if name.startswith(PREFIX)},  # alignment needs links
    )
    found = StudyPlan(study, budget, "audit", [ALONE], device=device)
    add_translation_run(found, run)
    return found
