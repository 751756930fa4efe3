"""attentest annotate create, report, export and import."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from attentest.cli.app import annotate_app, annotate_command, app
from attentest.cli.options import AsJson, Device, counted
from attentest.cli.streams import say, say_json

if TYPE_CHECKING:
    from attentest.people.report import PeopleReport

app.add_typer(annotate_app, name="annotate")

Study = Annotated[Path, Argument(help="Folder of a study with people.", metavar="FOLDER")]
Database = Annotated[
    str | None,
    Option(help="Database of the answers: sqlite:///FILE or postgresql://… [answers.sqlite in FOLDER].", metavar="URL"),
]


@annotate_command()
def create(
    run: Annotated[Path, Argument(help="Folder of a finished run or of an audit; nothing is written to it.")],
    out: Annotated[Path, Option(help="Folder of the study; it must not exist.")] = Path("people"),
    n: Annotated[int | None, Option("--n", help="Texts in each of the two conditions [100].")] = None,
    detect: Annotated[
        float | None,
        Option(
            help="Difference of shares to find, e.g. 0.1, instead of --n: as many texts as a two-sided test at .05 "
            "needs for a power of .8.",
            metavar="DIFFERENCE",
        ),
    ] = None,
    seed: Annotated[int, Option(help="Random seed for texts, permutations and orders.")] = 0,
    known: Annotated[
        int | None, Option(help="Items whose answer is known [10, or as many as the texts allow].")
    ] = None,
    highlight: Annotated[bool, Option("--highlight", help="Also ask to mark the words that matter.")] = False,
    confidence: Annotated[bool, Option("--confidence", help="Also ask for confidence, from 1 to 5.")] = False,
    comment: Annotated[bool, Option("--comment", help="Also offer a field for a comment.")] = False,
    least_known: Annotated[
        float, Option(help="Share of known answers an annotator must get right to count.", metavar="SHARE")
    ] = 0.75,
    least_time: Annotated[
        int, Option(help="Median time on an item, in milliseconds, that an annotator must reach to count.")
    ] = 500,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Make a study with people from a run: are the three heaviest words relevant to the prediction?"""
    import attentest
    from attentest.errors import InputError
    from attentest.people.design import create_study
    from attentest.people.study import Asked, Exclusion
    from attentest.training.run import choose_device

    if not 0 <= least_known <= 1:
        raise InputError(f"`least_known` is {least_known}; expected a share from 0 to 1.")
    if least_time < 0:
        raise InputError(f"`least_time` is {least_time}; it must be at least 0.")
    opened = attentest.open_run(run)
    study = create_study(
        opened,
        out,
        n=n,
        detect=detect,
        seed=seed,
        known=known,
        asked=Asked(highlight, confidence, comment),
        exclusion=Exclusion(least_known, least_time),
        device=str(choose_device(device)),
    )
    record = study.record
    if as_json:
        told = {"samples": record.samples, "known": record.known, "items": len(study.items)}
        say_json({"folder": str(study.folder), **told, "detect": record.detect})
        return
    if detect is not None:
        say(f"A difference of {detect:g} takes {record.samples:,} texts in each condition (level .05, power .8).")
    say(
        f"{counted(len(study.items), 'item')}: {record.samples:,} texts with original and {record.samples:,} with "
        f"permuted weights, {counted(record.known, 'known answer')}."
    )
    if record.known == 0 and known is None:
        say("No text can have a known answer, so annotators are excluded by their times alone.")
    say(f"{study.folder}  (ask people: attentest annotate serve {shlex.quote(str(study.folder))} --annotators ann,bo)")


@annotate_command("report")
def report_people(
    folder: Study,
    database: Database = None,
    html: Annotated[Path | None, Option(help="File to write the report to as a page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Report what people answered: tables, intervals, tests, agreement, with and without exclusions."""
    from attentest.files import check_target, write_bytes
    from attentest.people.report import report_of
    from attentest.people.study import open_study

    if html is not None:
        check_target(html)
    report = report_of(open_study(folder), database)
    if html is not None:
        from attentest.people.page import page_of

        write_bytes(html, page_of(report).encode())
    if as_json:
        say_json(report.as_dict())
        return
    _print_report(report)
    if html is not None:
        say(html)


def _print_report(report: PeopleReport) -> None:
    from rich.console import Console

    from attentest.display.tables import text_table
    from attentest.people.report_tables import tables_of

    say(report.answer)
    console = Console()
    for table in tables_of(report):
        say("", table.title)
        console.print(text_table(table.header, table.rows, table.caption))


@annotate_command("export")
def export_people(
    folder: Study,
    out: Annotated[Path, Option(help="File to write: .csv, .jsonl or .parquet. It tells the conditions.")],
    database: Database = None,
) -> None:
    """Export the answers with the condition, prediction and label of each item."""
    from attentest.people.exchange import export_answers
    from attentest.people.study import open_study

    count = export_answers(open_study(folder), out, database)
    say(f"{counted(count, 'answer')} in {out}")


@annotate_command("import")
def import_people(
    folder: Study,
    file: Annotated[Path, Argument(help="File with answers: .csv, .jsonl or .parquet, as export writes it.")],
    database: Database = None,
) -> None:
    """Add answers from a file to a study; an answer that is already there is not added again."""
    from attentest.people.exchange import import_answers
    from attentest.people.study import open_study

    count = import_answers(open_study(folder), file, database)
    say(f"{counted(count, 'new answer')} from {file}")
