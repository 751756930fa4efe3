"""attentest audit, report and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from attentest.cli import engines
from attentest.cli.app import command
from attentest.cli.corpus_options import NAMES, corpus_arguments, corpus_options
from attentest.cli.engines import ENGINE, Overwrite, budget_option, engine_arguments, engine_options, watched
from attentest.cli.options import (
    PAIR,
    AsJson,
    chosen,
    flag_of,
    named_values,
    offering,
    option_of,
    with_options,
    written_pairs,
)
from attentest.cli.streams import say, say_json
from attentest.errors import InputError
from attentest.training.settings import check_setting, known_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attentest.studies.verdict import Verdict
    from attentest.trials.finding import Finding

SETTINGS = "Model and training (all others with -s)"
COMMON = {  # settings that an audit has as options, and what holds without them where it is not their default
    "vectors": None,
    "max_tokens": None,
    "long": None,
    "stride": None,
    "encoder": None,
    "alignment": None,
    "projection": None,
    "epochs": "set by the budget",
    "seed": None,
}


def _criteria() -> Iterable[str]:
    from attentest.studies.verdict import EVERY_CRITERION

    return (f"{name}=" for name in EVERY_CRITERION)


def _failures() -> Iterable[str]:
    from attentest.studies.verdict.judge import FAILURES

    return FAILURES


def _settings() -> Iterable[str]:
    return (f"{name}=" for name in known_settings())


Texts = Annotated[int | None, Option(help="Maximum number of test texts to examine [set by the budget].")]
Thresholds = Annotated[
    list[str] | None,
    Option(
        "--threshold",
        help="Threshold of a test instead of the default, e.g. faithful.gradient=0.4; repeatable.",
        metavar=PAIR,
        autocompletion=offering(_criteria),
    ),
]
FailOn = Annotated[
    list[str] | None,
    Option(
        "--fail-on",
        help="Verdict to exit with code 1 on, e.g. not-faithful, unclear-stable or untested-plausible; repeatable.",
        metavar="VERDICT",
        autocompletion=offering(_failures),
    ),
]


@command()
@with_options(
    *corpus_options(*(name for name in NAMES if name != "rows")),
    *(option_of(known_settings()[name][1], SETTINGS, without) for name, without in COMMON.items()),
    last=engine_options(*ENGINE, "dtype"),
)
def audit(
    source: Annotated[
        str,
        Argument(help="Name of a corpus, a file or folder of texts, hf:NAME, or the folder of a finished run."),
    ],
    out: Annotated[Path, Option(help="Folder of the audit.")] = Path("audit"),
    overwrite: Overwrite = False,
    budget: Annotated[
        str,
        budget_option("Budget: quick takes minutes, standard tens of minutes, paper hours to days."),
    ] = "quick",
    model: Annotated[
        str | None,
        Option(
            help="Finished run on the same corpus, or a Hugging Face classifier (folder or hub name), to audit instead "
            "of training a model.",
            metavar="FOLDER",
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        Option(
            help="Class that a label of that classifier is, e.g. LABEL_0=negative; repeatable.", metavar="LABEL=CLASS"
        ),
    ] = None,
    rows: Annotated[
        int | None, Option(help="Maximum number of rows, drawn evenly from splits and classes [set by the budget].")
    ] = None,
    texts: Texts = None,
    controls: Annotated[
        bool, Option("--controls/--no-controls", help="Train models of known truth to check the tests with.")
    ] = True,
    people: Annotated[
        Path | None,
        Option(help="Folder of a study with people on this model, for the verdict plausible.", metavar="FOLDER"),
    ] = None,
    people_database: Annotated[
        str | None,
        Option(
            help="Database of the answers to the study: sqlite:///FILE or postgresql://… [answers.sqlite in FOLDER].",
            metavar="URL",
        ),
    ] = None,
    threshold: Thresholds = None,
    fail_on: FailOn = None,
    as_json: AsJson = False,
    *,
    setting: Annotated[
        list[str] | None,
        Option(
            "-s",
            "--set",
            help="Any setting of train, e.g. hidden=64 or batch_size=64; repeatable.",
            metavar=PAIR,
            autocompletion=offering(_settings),
            rich_help_panel=SETTINGS,
        ),
    ] = None,
    **given: Any,
) -> None:
    """Audit a model's attention: train a model (or use yours) and comparison models, run the trials, write a page."""
    from attentest import audits
    from attentest.engine.choose import open_store
    from attentest.studies.verdict import check_apply, check_failures, check_thresholds, failed

    thresholds = named_values(threshold or [])
    check_thresholds(thresholds)
    on = check_failures(fail_on or [])
    check_apply({audits.family_of(source)}, thresholds, on)
    columns, options = corpus_arguments(given)
    asked: dict[str, Any] = {
        "budget": budget,
        "model": model,
        "labels": written_pairs(labels or []) or None,
        "rows": rows,
        "texts": texts,
        "device": given["device"],
        "dtype": given["dtype"],
        "memory": given["memory"],
        "controls": controls,
        **columns,
        "options": options,
        **_given_settings(given, setting or []),
    }
    asked_people = _finding_of_people(people, people_database)
    if given["dry_run"]:
        engines.print_plan(audits.plan(source, **asked), open_store(given["store"]), as_json)
        return
    with watched(as_json) as watcher:
        found = audits.audit(
            source,
            out,
            thresholds=thresholds,
            people=asked_people,
            overwrite=overwrite,
            watchers=[watcher],
            **engine_arguments(given),
            **asked,
        )
    outcome = found.outcome
    if as_json:
        say_json(found.as_dict())
    else:
        engines.print_outcome(outcome)
        _print_verdicts(found.verdicts)
        say(found.report.lead, found.page)
    true = failed(found.verdicts, on)
    if true and not as_json:
        say(f"failed on: {', '.join(true)}")
    if true or outcome.failed:
        raise typer.Exit(1)


def _finding_of_people(folder: Path | None, database: str | None) -> Finding | None:
    if folder is None:
        if database is not None:
            raise InputError("`people_database` is where answers to a study are; also give its folder with `people`.")
        return None
    from attentest.people.report import report_of
    from attentest.people.study import open_study

    return report_of(open_study(folder), database).finding


def _given_settings(given: Mapping[str, Any], pairs: Iterable[str]) -> dict[str, Any]:
    """Settings of the options and of -s."""
    options, others = chosen(given, COMMON), named_values(pairs)
    for name, value in others.items():
        check_setting(name, value)
        if name in options:
            raise InputError(f"'{name}' was given twice, as {flag_of(name)} and with -s; give one.")
    return options | others


@command()
def report(
    folder: Annotated[Path, Argument(help="Folder of an audit, comparison, study, run, trial or reproduction.")],
    out: Annotated[Path | None, Option(help="File to write the page to [FOLDER/report.html].")] = None,
    threshold: Thresholds = None,
    fail_on: FailOn = None,
    as_json: AsJson = False,
) -> None:
    """Write the page of finished work again: verdicts, figures, tables and heat maps; nothing is run."""
    from attentest.files import check_target
    from attentest.reports.gather import families_in
    from attentest.reports.result import report as write
    from attentest.studies.verdict import check_apply, check_failures, check_thresholds, failed, judge

    thresholds = named_values(threshold or [])
    check_thresholds(thresholds)
    on = check_failures(fail_on or [])
    check_apply(families_in(folder), failures=on)
    if out is not None:
        check_target(out)
    page = write(folder, out, thresholds=thresholds or None)
    found = page.report
    if as_json:
        say_json(page.as_dict())
    else:
        for block in found.blocks:
            if block.verdicts:
                say(block.name)
                _print_verdicts(block.verdicts)
        say(page.page)
    judged = [block.verdicts for block in found.blocks if block.verdicts] or [judge({})]
    true = dict.fromkeys(name for verdicts in judged for name in failed(verdicts, on))
    if true and not as_json:
        say(f"failed on: {', '.join(true)}")
    if true:
        raise typer.Exit(1)


@command()
@with_options(last=engine_options("workers", "device", "memory", "dtype", "store"))
def compare(
    a: Annotated[Path, Argument(help="Folder of a finished run.")],
    b: Annotated[Path, Argument(help="Folder of another finished run.")],
    out: Annotated[Path, Option(help="Folder of the comparison.")] = Path("compare"),
    overwrite: Overwrite = False,
    budget: Annotated[str, budget_option("Budget: how many texts are examined, and how closely.")] = "quick",
    texts: Texts = None,
    threshold: Thresholds = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Compare two models: the same trials on each, their differences, and heat maps of both on one page."""
    from attentest import comparisons

    with watched(as_json) as watcher:
        found = comparisons.compare(
            a,
            b,
            out,
            budget=budget,
            texts=texts,
            thresholds=named_values(threshold or []),
            device=given["device"],
            dtype=given["dtype"],
            memory=given["memory"],
            overwrite=overwrite,
            watchers=[watcher],
            **engine_arguments(given),
        )

    def tell() -> None:
        for block in found.report.blocks:
            if block.verdicts:
                say("", block.name)
                _print_verdicts(block.verdicts)
            elif block.sections:
                say(block.sections[0].answer)
        say(found.page)

    engines.finish(found.outcome, found.as_dict, as_json, tell)


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    from rich.console import Console

    from attentest.reports.verdict_table import VerdictTable

    Console().print(VerdictTable(verdicts))
