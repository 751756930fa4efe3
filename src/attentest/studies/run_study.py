"""Run a study: plan it, do what is missing, and put its tables and figures into its folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from attentest.engine.perform import perform
from attentest.engine.scheduler import Outcome, Runner, Watcher, run_plan
from attentest.engine.store import Store
from attentest.studies.expand import StudyPlan, budget_name, expand, with_budget
from attentest.studies.folder import StatusFile, export, write_plan
from attentest.studies.schema import Study


def plan_study(
    study: Study,
    budget: str,
    corpora: Sequence[str] = (),
    data_dir: Path | None = None,
    rows: int | None = None,
) -> StudyPlan:
    """The plan, for these corpora and with so many rows instead of the study's own if any are given.

    A corpus that the study has as a paper prepared it may be named without that: imdb for imdb_jw.
    """
    chosen = with_budget(study, budget)
    if corpora:
        own = {name.removesuffix("_jw"): name for name in study.corpora}
        chosen = replace(chosen, corpora=tuple(own.get(name, name) for name in corpora))
    if rows is not None:
        chosen = replace(chosen, rows=rows)
    return expand(chosen, budget_name(study, budget), data_dir)


def run_study(
    study: Study,
    out: Path,
    make_runner: Callable[[Store], Runner],
    *,
    budget: str = "paper",
    corpora: Sequence[str] = (),
    data_dir: Path | None = None,
    rows: int | None = None,
    store: Store | None = None,
    watchers: Sequence[Watcher] = (),
) -> Outcome:
    return run_planned(plan_study(study, budget, corpora, data_dir, rows), out, make_runner, store, watchers)


def run_planned(
    expanded: StudyPlan,
    out: Path,
    make_runner: Callable[[Store], Runner],
    store: Store | None = None,
    watchers: Sequence[Watcher] = (),
) -> Outcome:
    store = store or Store()
    summary = expanded.summarise()
    for note in write_plan(out, expanded, store):
        for watcher in watchers:
            watcher.note(note)
    targets = [summary] if store.has(summary.key) else list(expanded.plan)
    outcome = run_plan(expanded.plan, store, make_runner(store), [*watchers, StatusFile(out)], targets)
    if not store.has(summary.key):  # what there is, and what is missing
        summary = expanded.summarise(store.has)
        perform(summary, store)
    export(store, summary, out)
    return outcome
