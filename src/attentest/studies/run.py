"""Run a study: plan it, do what is missing, and put its tables and figures into its folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from attentest.engine.perform import perform
from attentest.engine.run import Outcome, Runner, Watcher, run_plan
from attentest.engine.store import Store
from attentest.studies.expand import Expanded, expand
from attentest.studies.folder import StatusFile, export, write_plan
from attentest.studies.schema import Study


def plan_study(study: Study, budget: str, corpora: Sequence[str] = (), data_dir: Path | None = None) -> Expanded:
    """The plan, for these corpora instead of the study's own if any are given."""
    return expand(replace(study, corpora=tuple(corpora)) if corpora else study, budget, data_dir)


def run_study(
    study: Study,
    out: Path,
    make_runner: Callable[[Store], Runner],
    *,
    budget: str = "paper",
    corpora: Sequence[str] = (),
    data_dir: Path | None = None,
    store: Store | None = None,
    watchers: Sequence[Watcher] = (),
) -> Outcome:
    store = store or Store()
    expanded = plan_study(study, budget, corpora, data_dir)
    summary = expanded.summarise()
    for note in write_plan(out, study.name, budget, store, expanded.plan, expanded.fingerprints):
        for watcher in watchers:
            watcher.note(note)
    targets = [summary] if store.has(summary.key) else list(expanded.plan)
    outcome = run_plan(expanded.plan, store, make_runner(store), [*watchers, StatusFile(out)], targets)
    if not store.has(summary.key):  # what there is, and what is missing
        summary = expanded.summarise(store.has)
        perform(summary, store)
    export(store, summary, out)
    return outcome
