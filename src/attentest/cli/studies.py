"""attentest study, status and store."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from attentest.cli import engines
from attentest.cli.app import app, command, store_app, store_command
from attentest.cli.corpus_options import corpus_options
from attentest.cli.engines import Overwrite, StorePlace, budget_option, engine_arguments, engine_options, watched
from attentest.cli.options import AsJson, counted, offering, with_options
from attentest.cli.streams import say, say_json
from attentest.errors import InputError, last_line

app.add_typer(store_app, name="store")

LONGEST = 1e9  # seconds that are told as left: a folder may be anybody's


def _papers() -> Iterable[str]:
    from attentest.studies import PAPERS

    return PAPERS


def _corpora() -> Iterable[str]:
    from attentest.corpora import corpus_names

    return corpus_names()


@command()
@with_options(*corpus_options("data_dir"), last=engine_options())
def study(
    name: Annotated[
        str,
        Argument(
            help="Name of a paper (jain2019, wiegreffe2019, …), or your own YAML file.",
            autocompletion=offering(_papers),
        ),
    ],
    more: Annotated[list[str] | None, Argument(hidden=True)] = None,
    out: Annotated[Path | None, Option(help="Folder of the study [studies/NAME].")] = None,
    overwrite: Overwrite = False,
    corpus: Annotated[
        list[str] | None,
        Option(
            "--corpus",
            help="Corpora to use instead of the study's own, e.g. --corpus sst imdb.",
            metavar="NAME...",
            autocompletion=offering(_corpora),
        ),
    ] = None,
    budget: Annotated[
        str, budget_option("Budget of the study: how many epochs, seeds, λ values, rows and texts.")
    ] = "paper",
    rows: Annotated[
        int | None,
        Option(help="Maximum number of rows of each corpus, drawn evenly from splits and classes [set by the budget]."),
    ] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Run the study of a paper, or your own: train the models, run the trials, compare with the published figures."""
    from attentest.engine.choose import open_store
    from attentest.studies import find_study, run_study

    chosen = find_study(name)
    if more and not corpus:
        raise InputError(f"'{more[0]}' was not expected; give corpora after --corpus.")
    corpora = [*(corpus or []), *(more or [])]
    data_dir = given["data_dir"]
    if given["dry_run"]:
        planned = run_study.plan_study(chosen, budget, corpora, data_dir, rows)
        engines.print_plan(planned, open_store(given["store"]), as_json)
        return
    with watched(as_json) as watcher:
        found = run_study.study(
            chosen,
            out,
            corpus=corpora,
            budget=budget,
            rows=rows,
            data_dir=data_dir,
            device=given["device"],
            memory=given["memory"],
            overwrite=overwrite,
            watchers=[watcher],
            **engine_arguments(given),
        )

    def tell() -> None:
        say(*found.summary.splitlines())
        say(f"{found.folder}  (its page: attentest report {shlex.quote(str(found.folder))})")

    engines.finish(found.outcome, found.as_dict, as_json, tell)


@command()
def status(
    folder: Annotated[Path, Argument(help="Folder of a study or an audit.")],
    as_json: AsJson = False,
) -> None:
    """Show the progress of a study or an audit: done, running, failed, time left."""
    from attentest.files import is_folder
    from attentest.studies.folder import status as status_of

    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder.")
    found = status_of(folder)
    if as_json:
        say_json(asdict(found))
        return
    budget = f", budget {found.budget}" if found.budget else ""
    say(f"{found.study}{budget}: {found.done} of {counted(found.steps, 'step')} done")
    for now in found.running.values():
        say(f"  running  {now.name}: {now.stage} {100 * min(max(0.0, now.share), 1.0):.0f} %")
    for name, error in found.failed.items():
        say(f"  failed   {name}: {last_line(error)}")
    if found.missing:
        left = f"about {counted(round(min(max(60, found.seconds_left), LONGEST) / 60), 'minute')} left"
        say(left if found.alive else f"not running; {left}: run the same command again to resume")


@store_command("gc")
def collect(
    store: StorePlace = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what would be removed; remove nothing.")] = False,
) -> None:
    """Remove what no study or audit folder needs any more."""
    from attentest.engine.choose import open_store

    opened = open_store(store, make=not dry_run)
    count, freed = opened.collect(dry_run=dry_run)
    say(*opened.told())
    say(f"{counted(count, 'entry', 'entries')}, {freed / 1e6:.1f} MB {'would be removed' if dry_run else 'removed'}")
