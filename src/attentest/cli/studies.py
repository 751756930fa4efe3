"""attentest study, status and store."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

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
from attentest.cli.options import AsJson
from attentest.errors import InputError


@app.command()
def study(
    name: Annotated[str, Argument(help="A paper (jain2019, wiegreffe2019, …) or a YAML file of your own.")],
    more: Annotated[list[str] | None, Argument(hidden=True)] = None,
    out: Annotated[Path | None, Option(help="The study's folder [studies/NAME].")] = None,
    overwrite: Overwrite = False,
    corpus: Annotated[
        list[str] | None, Option("--corpus", help="Corpora instead of the study's own: --corpus sst imdb.")
    ] = None,
    budget: Annotated[str, Option(help="small or paper: epochs, seeds, λ values, rows and texts.")] = "paper",
    rows: Annotated[
        int | None, Option(help="Rows of each corpus at most, evenly from splits and classes [the budget's].")
    ] = None,
    dry_run: DryRun = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    store: StorePlace = None,
    data_dir: Annotated[Path | None, Option(help="Folder of the benchmarks [ATTENTEST_DATA].")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a paper's study or your own: plan, train, hold the trials, set ours beside the published figures."""
    from attentest.engine.store import Store
    from attentest.studies import find_study, run_study

    chosen = find_study(name)
    if more and not corpus:
        raise InputError(f"'{more[0]}' was not expected; name corpora after --corpus.")
    corpora = [*(corpus or []), *(more or [])]
    if dry_run:
        print_plan(run_study.plan_study(chosen, budget, corpora, data_dir, rows), Store(store), as_json)
        return
    with watched(as_json, "study") as watcher:
        found = run_study.study(
            chosen,
            out,
            corpus=corpora,
            budget=budget,
            rows=rows,
            data_dir=data_dir,
            overwrite=overwrite,
            engine=engine,
            workers=workers,
            address=address,
            store=store,
            watchers=[watcher],
        )
    if as_json:
        print(json.dumps(found.as_dict(), ensure_ascii=False))
    else:
        print_outcome(found.outcome)
        print(found.summary)
        print(f"{found.folder}  (its page: attentest report {shlex.quote(str(found.folder))})")
    if found.outcome.failed:
        raise typer.Exit(1)


@app.command()
def status(
    folder: Annotated[Path, Argument(help="A study's folder.")],
    as_json: AsJson = False,
) -> None:
    """What of a study is done, running and failed, and how long is left."""
    from attentest.studies.folder import status as status_of

    found = status_of(folder)
    if as_json:
        print(json.dumps(asdict(found), ensure_ascii=False))
        return
    print(f"{found.study}, budget {found.budget}: {found.done} of {found.steps} steps done")
    for now in found.running.values():
        print(f"  running  {now.name}: {now.stage} {100 * now.share:.0f} %")
    for name, error in found.failed.items():
        print(f"  failed   {name}: {error.splitlines()[-1]}")
    if found.missing:
        left = f"about {found.seconds_left / 60:.0f} minutes left"
        print(left if found.alive else f"not running; {left} when started again")


store_app = typer.Typer(no_args_is_help=True, help="The store of finished steps.")
app.add_typer(store_app, name="store")


@store_app.command("gc")
def collect(
    store: StorePlace = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove what no study's folder needs any more."""
    from attentest.engine.store import Store

    count, freed = Store(store).collect(dry_run=dry_run)
    print(f"{count} entries, {freed / 1e6:.1f} MB {'would go' if dry_run else 'removed'}")
