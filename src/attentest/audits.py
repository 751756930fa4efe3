"""An audit from a source to its page: plan, run, judge, write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from attentest.corpora import load
from attentest.corpora.corpus import Corpus
from attentest.engine.choose import open_store, runner_for
from attentest.engine.scheduler import Outcome, Runner, Watcher
from attentest.engine.store import Store
from attentest.errors import InputError, last_line, unknown_name
from attentest.files import is_folder, make_folder, write_table
from attentest.memory import most_bytes
from attentest.models.pretrained.precision import AUTO
from attentest.models.protocol import AttentionModel
from attentest.publish import alone_in, link_or_copy, replacing
from attentest.reports.result import Page
from attentest.reports.write import add_page
from attentest.studies.audit import BUDGETS, plan_audit
from attentest.studies.audit_of_translation import plan_translation_audit
from attentest.studies.examined import Finished
from attentest.studies.expand import StudyPlan
from attentest.studies.folder import PAGE, RESULTS, check_free
from attentest.studies.results import RUN, SUMMARY, TRIAL, FindingRef, ModelResult, Summary, read_summary
from attentest.studies.run_study import publishing
from attentest.studies.steps.corpus import keep
from attentest.studies.verdict import DEFINITIONS, LABELS, TRANSLATIONS, check_apply, check_thresholds
from attentest.studies.verdict.judge import UNTESTED
from attentest.training.encoder import is_pretrained
from attentest.training.folder import AUDITED, FILES
from attentest.training.keywords import SettingsGiven, takes
from attentest.training.record import RUN as RUN_FILE
from attentest.training.run import Run, choose_device, run_folder
from attentest.training.settings import plain
from attentest.translation.folder import FILES as TRANSLATION_FILES
from attentest.translation.run import TranslationRun
from attentest.trials import TRIALS, hold, make_trial
from attentest.trials.finding import Finding
from attentest.trials.instances import HEAT_MAPS, instances
from attentest.trials.of_translation.asked import asked_of_translation
from attentest.trials.scores import usable
from attentest.trials.subject import SUBJECT, Subject


@dataclass(frozen=True, repr=False)
class Audit(Page):
    """The verdicts on a model, where its folder and page are, and which steps failed."""

    outcome: Outcome = field(default_factory=Outcome)

    @property
    def failed(self) -> Mapping[str, str]:
        """Steps that failed, with their errors."""
        return self.outcome.failed

    def answer(self, definition: str) -> str:
        """yes, no, unclear or not tested."""
        if definition not in DEFINITIONS:
            raise unknown_name("definition", definition, DEFINITIONS)
        answers = {verdict.definition.name: verdict.answer for verdict in self.verdicts}
        return answers.get(definition, UNTESTED)

    def as_dict(self) -> dict[str, Any]:
        answers = {verdict.definition.name: verdict.answer for verdict in self.verdicts}
        return {"folder": str(self.folder), **super().as_dict(), "answers": answers, "failed": dict(self.failed)}


class CorpusGiven(TypedDict, total=False):
    """What `load` is told about a file or frame."""

    text: str | None
    second: str | None
    label: str | None
    split: str | None
    id: str | None
    rationale: str | None
    positive: str | None
    name: str | None
    format: str | None
    encoding: str | None
    separator: str | None
    data_dir: str | Path | None
    plant: float | None


class AuditGiven(CorpusGiven, SettingsGiven, total=False):
    """Everything that decides what an audit does; None is the same as not given."""

    budget: str
    model: Run | str | Path | None
    labels: Mapping[str, str] | None
    rows: int | None
    texts: int | None
    device: str
    dtype: str
    memory: int | str | None
    controls: bool
    options: Mapping[str, Any] | None


# the rest is None: as the budget, the corpus or `train` has it
USUAL = {"budget": "quick", "device": "auto", "dtype": AUTO, "controls": True}
Source = Any  # a path, a corpus's name, a Corpus, whatever `load` takes, a Run, a TranslationRun or a Subject


@takes(AuditGiven, USUAL)
def audit(
    source: Source,
    /,
    out: str | Path = "audit",
    *,
    thresholds: Mapping[str, float] | None = None,
    people: Finding | None = None,
    overwrite: bool = False,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    store: Store | str | Path | None = None,
    watchers: Sequence[Watcher] = (),
    **given: Unpack[AuditGiven],
) -> Audit:
    """Put a model's attention on all trials that the budget allows, and write a page about it.

    `source` is a corpus (loaded, or anything that `load` takes, with `text`, `label` … as for `load` and other
    `options` of the corpus), a finished run or its folder, or a `Subject` with a model of your own. `model` is a
    finished run on that corpus to audit instead of training one, or the folder or hub name of a Hugging Face classifier
    (`labels={"LABEL_0": "negative", …}` says which class each of its labels is, where names differ); `rows` and `texts`
    are at most so many instead of the budget's. `controls=False` leaves out the models of known truth that the tests
    are checked with. `dtype="bfloat16"` puts a pretrained encoder into that number type; `memory` bounds what a trial
    has in memory at a time, in bytes or written as "2GB". `people` is the finding of a study with people on this model
    (`attentest.people.report.report_of(study).finding`). All other keywords are settings as for `train`.
    """
    check_thresholds(thresholds or {})
    check_apply({family_of(source)}, thresholds or ())
    make_runner = runner_for(engine, workers, address)
    folder = Path(out)
    if isinstance(source, Subject):
        others = [name for name, value in given.items() if name != "budget" and value is not None]
        if others:
            raise InputError(f"With a Subject, set texts and device on the Subject; audit() takes no `{others[0]}`.")
        if engine != "local" or workers is not None or address is not None or store is not None:
            raise InputError(
                "A Subject is audited in this process: `engine`, `workers`, `address` and `store` are for corpora "
                "and runs."
            )
        if people is not None:
            raise InputError("A study with people is made from a run, so it says nothing about a Subject.")
        return audit_subject(source, folder, given.get("budget", "quick"), thresholds, overwrite)
    if engine == "local":
        choose_device(given.get("device") or "auto")  # a message now rather than failed steps later
    planned, corpus = _planned(source, given)
    kept = open_store(store)
    if corpus is not None:
        keep(planned.plan, corpus, kept)
    return run_audit(planned, folder, make_runner, kept, watchers, overwrite, thresholds, people)


def family_of(source: Source) -> str:
    return TRANSLATIONS if asked_of_translation(source) else LABELS


def run_audit(
    planned: StudyPlan,
    folder: Path,
    make_runner: Callable[[Store], Runner],
    store: Store,
    watchers: Sequence[Watcher] = (),
    overwrite: bool = False,
    thresholds: Mapping[str, float] | None = None,
    people: Finding | None = None,
) -> Audit:
    """Do what is missing of an audit; its findings, model and page are published as one."""
    with publishing(planned, folder, make_runner, store, watchers, overwrite) as (results, outcome):
        _bring_model(planned, store, results)
        if outcome.failed and not read_summary(results).blocks:
            reasons = dict.fromkeys(last_line(error) for error in outcome.failed.values())
            raise InputError(f"There is no model to audit: {' '.join(reasons)}")
        if people is not None:
            add_people(results, people)
        report = add_page(results, thresholds or {})
    return Audit(folder, folder / PAGE, report, outcome)


def add_people(results: Path, finding: Finding) -> None:
    """Put what people said about the audited model among its findings."""
    summary = read_summary(results)
    folder = results / AUDITED
    made = Run(folder).settings if (folder / RUN_FILE).is_file() else {}
    said = finding.signature
    if (
        not made
        or said.get("corpus_hash") != made["corpus"]["fingerprint"]
        or any(said.get(part) != made[part] for part in ("model", "training", "text"))
    ):
        raise InputError(
            "The study with people was made from another model than the audited one: audit the run that it was made "
            "from, or make a study from this audit with attentest annotate create."
        )
    name = next(iter(summary.blocks))  # as its tokens are usually counted
    place = f"findings/{finding.trial}"
    finding.save(results / place)
    ref = FindingRef(
        summary.blocks[name].corpus, name, finding.kind, finding.trial, place, finding.question, finding.answer
    )
    replace(summary, findings=[*summary.findings, ref]).write(results)


@takes(AuditGiven, USUAL)
def plan(source: Source, /, **given: Unpack[AuditGiven]) -> StudyPlan:
    """The steps that `audit` would run, with an estimate of their time."""
    return _planned(source, given)[0]


def _planned(source: Source, given: AuditGiven) -> tuple[StudyPlan, Corpus | None]:
    """The plan; and the corpus if workers could not load it themselves."""
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in AuditGiven.__annotations__:
            raise unknown_name("option of an audit", name, AuditGiven.__annotations__)
    columns = {name: chosen[name] for name in CorpusGiven.__annotations__ if name in chosen}
    if "data_dir" in columns:
        columns["data_dir"] = str(columns["data_dir"])
    for name, value in chosen.get("options", {}).items():
        if name in CorpusGiven.__annotations__:
            raise InputError(f"'{name}' is a parameter, not an option of the corpus; use `{name}={value!r}`.")
        columns[name] = value
    settings = {name: chosen[name] for name in SettingsGiven.__annotations__ if name in chosen}
    if asked_of_translation(source):
        return _planned_of_translation(source, chosen), None
    model = chosen.get("model")
    labels, dtype = chosen.get("labels"), chosen.get("dtype", AUTO)
    if isinstance(model, str | Path):
        model = _model(model, labels or {}, dtype)
    if labels and not isinstance(model, Finished):
        raise InputError("`labels` says which class each label of a Hugging Face classifier is; give that as `model`.")
    source, corpus, columns = _source(source, columns)
    budget = chosen.get("budget", "quick")
    planned = plan_audit(
        source,
        budget,
        columns=columns,
        model=model,
        rows=chosen.get("rows"),
        texts=chosen.get("texts"),
        training=settings,
        device=chosen.get("device", "auto"),
        dtype=dtype,
        memory=most_bytes(chosen.get("memory")),
        controls=chosen.get("controls", True),
    )
    planned.settings = plain(
        {"budget": budget, "model": None if model is None else model.source, "controls": chosen.get("controls", True)}
        | ({"labels": labels} if labels else {})
        | ({} if dtype == AUTO else {"dtype": dtype})
        | {name: chosen.get(name) for name in ("rows", "texts")}
        | {name: value for name, value in columns.items() if name != "data_dir"}
        | settings
    )
    return planned, corpus


def _planned_of_translation(source: TranslationRun | str | Path, chosen: Mapping[str, Any]) -> StudyPlan:
    run = source if isinstance(source, TranslationRun) else TranslationRun(source)
    for name, value in chosen.items():
        if name not in ("budget", "texts", "device") and value not in ({}, USUAL.get(name)):
            raise InputError(
                f"`{name}` is for models of texts with labels; leave it out for the translation run {run.path}."
            )
    planned = plan_translation_audit(
        run, chosen.get("budget", "quick"), chosen.get("texts"), chosen.get("device", "auto")
    )
    planned.settings = plain({name: chosen.get(name) for name in ("budget", "texts")})
    return planned


def _model(given: str | Path, labels: Mapping[str, str], dtype: str) -> Run | Finished:
    """A finished run, or a model that was trained elsewhere."""
    if is_pretrained(given):
        return Finished(source=str(given), labels=labels, dtype=dtype)
    folder = Path(given)
    if is_folder(folder) and run_folder(folder) is None and not (folder / SUMMARY).is_file():
        raise InputError(
            f"{given} is neither the folder of a run (it has no run.json) nor that of a Hugging Face model (it has no "
            "config.json)."
        )
    return Run(given)


def _source(source: Source, columns: dict[str, Any]) -> tuple[str | Run | Corpus, Corpus | None, dict[str, Any]]:
    """What is audited, the corpus if it is in memory alone, and what is still to be told to `load`."""
    if isinstance(source, AttentionModel) or hasattr(source, "state_dict"):
        raise InputError(f"audit() got a model, {type(source).__name__}, without texts. {SUBJECT}")
    if isinstance(source, str | Path):
        folder = run_folder(Path(source))
        return (str(source) if folder is None else Run(folder)), None, columns
    if isinstance(source, Run):
        return source, None, columns
    if isinstance(source, Corpus):
        for name in columns:
            if name != "plant":
                raise InputError(f"The corpus is already loaded; `{name}` only applies to files and frames.")
    corpus = load(source, **columns)
    return corpus, corpus, {}


def _bring_model(planned: StudyPlan, store: Store, results: Path) -> None:
    """Put the audited model's run beside its findings: `open_run` takes an audit's folder, wherever that is moved."""
    key = next(step.key for ref, step in planned.results.items() if ref.kind == RUN)
    if store.has(key):  # its training may have failed
        source = store.fetch(key)
        for name in sorted({*FILES, *TRANSLATION_FILES}):
            if (source / name).is_file():
                make_folder((results / AUDITED / name).parent)
                link_or_copy(source / name, results / AUDITED / name)


def audit_subject(
    subject: Subject,
    folder: Path,
    budget: str = "quick",
    thresholds: Mapping[str, float] | None = None,
    overwrite: bool = False,
) -> Audit:
    """A model of your own: the trials that fit it; nothing is trained beside it."""
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    trials = [make_trial(name, **_fitted(BUDGETS[budget].trials.get(name, {}), subject)) for name in TRIALS]
    fitting = [trial for trial in trials if trial.fits(subject)]
    study = f"audit of a model on {subject.data.corpus.name}"
    _check_free(folder, study, budget, overwrite)
    make_folder(folder)
    with alone_in(folder), replacing(folder, RESULTS) as results:
        findings = hold(fitting, replace(subject, folder=results / "findings"))
        table = results / HEAT_MAPS / "instances.parquet"
        make_folder(table.parent)
        write_table(table, instances(subject))
        accuracy = next(f.summary["accuracy"].value for f in findings if f.trial == "uniform")
        _summary(study, budget, subject, findings, accuracy).write(results)
        report = add_page(results, thresholds or {})
    return Audit(folder, folder / PAGE, report, Outcome())


def _summary(study: str, budget: str, subject: Subject, findings: Sequence[Finding], accuracy: float) -> Summary:
    """As the step `summarise` leaves it for a model that was trained here."""
    name = subject.data.corpus.name
    about = ModelResult(
        corpus=name,
        classes=list(subject.classes),
        texts=len(subject.rows),
        notes=[],
        metrics={"accuracy": accuracy},
        test_rows=dict(Counter(subject.labels(subject.rows).tolist())),
        settings=None,
        instances=f"{HEAT_MAPS}/instances.parquet",
    )
    return Summary(
        study=study,
        title=study[0].upper() + study[1:],
        kind="audit",
        budget=budget,
        rows=None,
        notes=["The source is a model alone, so no comparison models were trained."],
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
    )


def _check_free(folder: Path, study: str, budget: str, overwrite: bool) -> None:
    """Only what this writes may be written over."""
    check_free(folder, SUMMARY, "an audit")
    if overwrite or not (folder / SUMMARY).is_file():
        return
    held = read_summary(folder)
    if (held.study, held.budget) != (study, budget):
        raise InputError(
            f"{folder} holds the {held.study} with the budget {held.budget}; choose another folder with `out`, or "
            "replace it with `overwrite=True`."
        )


def _fitted(settings: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """A trial's settings with those of its measures alone that this model can give."""
    if "measures" not in settings:
        return dict(settings)
    return {**settings, "measures": usable(subject.model, tuple(settings["measures"]))}
