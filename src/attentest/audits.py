"""An audit from a source to its page: plan, run, judge, write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attentest.display.tables import html_table
from attentest.engine.local import LocalPool
from attentest.engine.scheduler import Outcome, Runner, Watcher
from attentest.engine.store import Store
from attentest.errors import InputError, unknown_name
from attentest.files import make_folder, write_table
from attentest.reports.contents import Report
from attentest.reports.write import verdicts_of, write_report
from attentest.studies.audit import BUDGETS, plan_audit
from attentest.studies.results import TRIAL, FindingRef, ModelResult, Summary, read_summary
from attentest.studies.run_study import run_planned
from attentest.studies.verdict import DEFINITIONS, Verdict, check_thresholds
from attentest.studies.verdict.judge import UNTESTED
from attentest.training.run import Run
from attentest.trials import TRIALS, hold, make_trial
from attentest.trials.instances import HEAT_MAPS, instances
from attentest.trials.scores import usable
from attentest.trials.subject import Subject


@dataclass(frozen=True)
class Audit:
    """What an audit found, where its folder and page are, and what of it failed."""

    folder: Path
    page: Path
    report: Report
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdicts(self) -> Sequence[Verdict]:
        return self.report.blocks[0].verdicts if self.report.blocks else []

    def answer(self, definition: str) -> str:
        """yes, no, unclear or not tested."""
        if definition not in DEFINITIONS:
            raise unknown_name("definition", definition, DEFINITIONS)
        answers = {verdict.definition.name: verdict.answer for verdict in self.verdicts}
        return answers.get(definition, UNTESTED)

    def as_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "page": str(self.page),
            "says": self.report.lead,
            "answers": {verdict.definition.name: verdict.answer for verdict in self.verdicts},
            "verdicts": verdicts_of(self.report),
            "failed": dict(self.failed),
        }

    def __repr__(self) -> str:
        return f"Audit({str(self.page)!r}: {self.report.lead})"

    def _repr_html_(self) -> str:
        rows = [(v.definition.name, v.answer, v.confidence) for v in self.verdicts]
        return html_table(["attention is …", "answer", "how sure"], rows, caption=self.report.lead)


def audit(
    source: str | Path | Run | Subject,
    out: str | Path = "audit",
    *,
    budget: str = "quick",
    model: Run | str | Path | None = None,
    columns: Mapping[str, Any] | None = None,
    rows: int | None = None,
    texts: int | None = None,
    thresholds: Mapping[str, float] | None = None,
    workers: int | None = None,
    store: Store | str | Path | None = None,
    watchers: Sequence[Watcher] = (),
    **training: Any,
) -> Audit:
    """Put a model's attention on all trials that the budget allows, and write a page about it.

    `source` is a corpus (as for `load`, with `columns`), the folder of a finished run, or a `Subject` with a model of
    one's own; `model` is a finished run of that corpus to take instead of training one; `training` are settings as for
    `train`.
    """
    check_thresholds(thresholds or {})
    folder = Path(out)
    if isinstance(source, Subject):
        if model is not None or columns or rows or texts or training:
            raise InputError("A subject is audited as it is: choose its texts in it; there is nothing else to set.")
        return audit_subject(source, folder, budget, thresholds)
    given = source.path if isinstance(source, Run) else source
    taken = Run(model) if isinstance(model, str | Path) else model
    expanded = plan_audit(str(given), budget, columns=columns, model=taken, rows=rows, texts=texts, training=training)
    kept = store if isinstance(store, Store) else Store(store)

    def make_runner(place: Store) -> Runner:
        return LocalPool(place, workers)

    outcome = run_planned(expanded, folder, make_runner, kept, watchers)
    return conclude(folder, outcome, thresholds)


def conclude(folder: Path, outcome: Outcome, thresholds: Mapping[str, float] | None = None) -> Audit:
    """The page of an audit whose steps are done."""
    if outcome.failed and not read_summary(folder).blocks:
        reasons = dict.fromkeys(error.splitlines()[-1] for error in outcome.failed.values())
        raise InputError(f"There is no model to put on trial: {' '.join(reasons)}")
    report, page = write_report(folder, thresholds=thresholds or {})
    return Audit(folder, page, report, outcome.failed)


def audit_subject(
    subject: Subject, folder: Path, budget: str = "quick", thresholds: Mapping[str, float] | None = None
) -> Audit:
    """A model of one's own: the trials that fit it; nothing is trained beside it."""
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    trials = [make_trial(name, **_fitted(BUDGETS[budget].trials.get(name, {}), subject)) for name in TRIALS]
    fitting = [trial for trial in trials if trial.fits(subject)]
    name = subject.data.corpus.name
    study = f"audit of a model on {name}"
    _check_free(folder, study)
    findings = hold(fitting, replace(subject, folder=folder / "findings"))
    table = folder / HEAT_MAPS / "instances.parquet"
    table.parent.mkdir(exist_ok=True)
    write_table(table, instances(subject))
    labels = subject.labels(subject.rows).tolist()
    accuracy = next(f.summary["accuracy"].value for f in findings if f.trial == "uniform")
    about = ModelResult(
        corpus=name,
        classes=list(subject.classes),
        texts=len(subject.rows),
        notes=[],
        metrics={"accuracy": accuracy},
        test_rows=dict(Counter(labels)),
        settings=None,
        instances=f"{HEAT_MAPS}/instances.parquet",
    )
    Summary(
        study=study,
        title=study[0].upper() + study[1:],
        kind="audit",
        budget=budget,
        rows=None,
        notes=["A model alone was given, so nothing was trained beside it."],
        blocks={name: about},
        findings=[
            FindingRef(name, name, TRIAL, f.trial, f"findings/{subject.place_of(f.trial)}", f.question, f.answer)
            for f in findings
        ],
        missing=[],
        failed=[],
        figures=[],
        directions=[],
        cells={},
        not_covered={},
    ).write(folder)
    return conclude(folder, Outcome(), thresholds)


def _check_free(folder: Path, study: str) -> None:
    """Only what this writes may be written over."""
    make_folder(folder)
    if (folder / "summary.json").is_file():
        held = read_summary(folder).study
        if held != study:
            raise InputError(f"{folder} holds the {held}; choose another folder with out.")
    elif any(folder.iterdir()):
        raise InputError(f"{folder} holds files that are not an audit; choose another folder with out.")


def _fitted(settings: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """A trial's settings with those of its measures alone that this model can give."""
    if "measures" not in settings:
        return dict(settings)
    return {**settings, "measures": usable(subject.model, tuple(settings["measures"]))}
