"""attentest audit, report and compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from attentest.cli.app import app
from attentest.cli.engines import (
    Address,
    DryRun,
    Engine,
    Overwrite,
    StorePlace,
    Workers,
    print_outcome,
    print_plan,
    watched,
)
from attentest.cli.options import (
    AsJson,
    CorpusOptions,
    DataDir,
    Encoding,
    Format,
    IdColumn,
    LabelColumn,
    Positive,
    RationaleColumn,
    SecondColumn,
    SplitColumn,
    TextColumn,
    corpus_options,
    named_values,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attentest.studies.verdict import Verdict

Thresholds = Annotated[
    list[str] | None,
    Option("--threshold", help="NAME=VALUE in place of a usual threshold, e.g. faithful.gradient=0.4; repeatable."),
]
FailOn = Annotated[
    list[str] | None,
    Option(
        "--fail-on",
        help="Exit with 1 on this verdict, e.g. not-faithful, unclear-stable or untested-plausible; repeatable.",
    ),
]


@app.command()
def audit(
    source: Annotated[
        str, Argument(help="A corpus's name, a file or folder of texts, hf:NAME, or the folder of a finished run.")
    ],
    out: Annotated[Path, Option(help="The audit's folder.")] = Path("audit"),
    overwrite: Overwrite = False,
    budget: Annotated[
        str, Option(help="quick (minutes), standard (tens of minutes) or paper (hours): how much is trained and read.")
    ] = "quick",
    model: Annotated[
        Path | None, Option(help="A finished run that was trained on the source: audit it instead of training one.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        Option("-s", "--set", help="NAME=VALUE as for train, e.g. encoder=cnn or epochs=8; repeatable."),
    ] = None,
    rows: Annotated[
        int | None, Option(help="Rows that are used, at most; evenly from splits and classes [the budget's].")
    ] = None,
    texts: Annotated[int | None, Option(help="Test texts that the trials examine, at most [the budget's].")] = None,
    threshold: Thresholds = None,
    fail_on: FailOn = None,
    text: TextColumn = None,
    second: SecondColumn = None,
    label: LabelColumn = None,
    split: SplitColumn = None,
    id: IdColumn = None,
    rationale: RationaleColumn = None,
    positive: Positive = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    data_dir: DataDir = None,
    option: CorpusOptions = None,
    dry_run: DryRun = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    store: StorePlace = None,
    as_json: AsJson = False,
) -> None:
    """Can this attention be trusted, and in which sense? Train (or take) a model, hold the trials, write a page."""
    from attentest import audits
    from attentest.engine.store import Store
    from attentest.files import without_nan
    from attentest.studies.verdict import check_failures, check_thresholds, failed

    thresholds = named_values(threshold or [])
    check_thresholds(thresholds)
    on = check_failures(fail_on or [])
    named: dict[str, Any] = {
        "text": text, "second": second, "label": label, "split": split, "id": id, "rationale": rationale,
        "positive": positive, "format": format, "encoding": None if encoding == "utf-8" else encoding,
        "data_dir": data_dir,
    }  # fmt: skip
    given: dict[str, Any] = {
        "budget": budget, "model": model, "rows": rows, "texts": texts, **named,
        "options": corpus_options(option or [], named), **named_values(setting or []),
    }  # fmt: skip
    if dry_run:
        print_plan(audits.plan(source, **given), Store(store), as_json)
        return
    with watched(as_json, "audit") as watcher:
        found = audits.audit(
            source,
            out,
            thresholds=thresholds,
            overwrite=overwrite,
            engine=engine,
            workers=workers,
            address=address,
            store=store,
            watchers=[watcher],
            **given,
        )
    outcome = found.outcome
    if as_json:
        print(json.dumps(without_nan(found.as_dict()), ensure_ascii=False))
    else:
        print_outcome(outcome)
        _print_verdicts(found.verdicts)
        print(f"{found.report.lead}\n{found.page}")
    true = failed(found.verdicts, on)
    if true and not as_json:
        print(f"failed on: {', '.join(true)}")
    if true or outcome.failed:
        raise typer.Exit(1)


@app.command()
def report(
    folder: Annotated[Path, Argument(help="The folder of an audit, a comparison, a study, a run or a trial.")],
    out: Annotated[Path | None, Option(help="Write the page here [FOLDER/report.html].")] = None,
    threshold: Thresholds = None,
    fail_on: FailOn = None,
    as_json: AsJson = False,
) -> None:
    """Write the page of what is finished, with verdicts, figures, tables and heat maps; nothing is run again."""
    from attentest.files import without_nan
    from attentest.reports.result import report as write
    from attentest.studies.verdict import check_failures, failed, judge

    on = check_failures(fail_on or [])
    page = write(folder, out, thresholds=named_values(threshold) if threshold else None)
    found = page.report
    if as_json:
        print(json.dumps(without_nan(page.as_dict()), ensure_ascii=False))
    else:
        for block in found.blocks:
            if block.verdicts:
                print(block.name)
                _print_verdicts(block.verdicts)
        print(page.page)
    judged = [block.verdicts for block in found.blocks if block.verdicts] or [judge({})]
    true = dict.fromkeys(name for verdicts in judged for name in failed(verdicts, on))
    if true and not as_json:
        print(f"failed on: {', '.join(true)}")
    if true:
        raise typer.Exit(1)


@app.command()
def compare(
    a: Annotated[Path, Argument(help="The folder of a finished run.")],
    b: Annotated[Path, Argument(help="The folder of another.")],
    out: Annotated[Path, Option(help="The comparison's folder.")] = Path("compare"),
    overwrite: Overwrite = False,
    budget: Annotated[
        str, Option(help="quick, standard or paper: how many texts are examined, and how closely.")
    ] = "quick",
    texts: Annotated[int | None, Option(help="Test texts that the trials examine, at most [the budget's].")] = None,
    threshold: Thresholds = None,
    workers: Workers = None,
    store: StorePlace = None,
    as_json: AsJson = False,
) -> None:
    """Two models side by side: the same trials on each, how far they are apart, heat maps of both; one page."""
    from attentest import comparisons
    from attentest.files import without_nan

    with watched(as_json, "comparison") as watcher:
        found = comparisons.compare(
            a,
            b,
            out,
            budget=budget,
            texts=texts,
            thresholds=named_values(threshold or []),
            overwrite=overwrite,
            workers=workers,
            store=store,
            watchers=[watcher],
        )
    if as_json:
        print(json.dumps(without_nan(found.as_dict()), ensure_ascii=False))
    else:
        print_outcome(found.outcome)
        for block in found.report.blocks:
            if block.verdicts:
                print(f"\n{block.name}")
                _print_verdicts(block.verdicts)
            elif block.sections:
                print(block.sections[0].answer)
        print(found.page)
    if found.outcome.failed:
        raise typer.Exit(1)


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("attention is …", "answer", "how sure", box=None, pad_edge=False)
    styles = {"yes": "green", "no": "red", "unclear": "yellow"}
    for verdict in verdicts:
        answer = f"[{style}]{verdict.answer}" if (style := styles.get(verdict.answer)) else verdict.answer
        table.add_row(verdict.definition.name, answer, verdict.confidence)
    Console().print(table)
