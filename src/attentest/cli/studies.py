"""attentest study, status and store."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from attentest.cli.app import app
from attentest.cli.options import AsJson
from attentest.errors import InputError


@app.command()
def study(
    name: Annotated[str, Argument(help="A paper (jain2019, wiegreffe2019, …) or a YAML file of your own.")],
    more: Annotated[list[str] | None, Argument(hidden=True)] = None,
    out: Annotated[Path | None, Option(help="The study's folder [studies/NAME].")] = None,
    corpus: Annotated[
        list[str] | None, Option("--corpus", help="Corpora instead of the study's own: --corpus sst imdb.")
    ] = None,
    budget: Annotated[str, Option(help="small or paper: epochs, seeds, λ values, rows and texts.")] = "paper",
    rows: Annotated[
        int | None, Option(help="Rows of each corpus at most, evenly from splits and classes [the budget's].")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the steps and an estimate of their time.")] = False,
    engine: Annotated[str, Option(help="local or ray.")] = "local",
    workers: Annotated[int | None, Option(help="Processes of the local engine [all cores].")] = None,
    address: Annotated[str | None, Option(help="Of a Ray cluster, e.g. auto [a Ray of its own].")] = None,
    store: Annotated[
        str | None, Option(help="Folder or URL where results are kept [ATTENTEST_STORE or a cache].")
    ] = None,
    data_dir: Annotated[Path | None, Option(help="Folder of the benchmarks [ATTENTEST_DATA].")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a paper's study or your own: plan, train, hold the trials, set ours beside the published figures."""
    from attentest.engine.store import Store
    from attentest.studies import find_study
    from attentest.studies.run import plan_study, run_study

    chosen = find_study(name)
    if more and not corpus:
        raise InputError(f"'{more[0]}' was not expected; name corpora after --corpus.")
    corpora = [*(corpus or []), *(more or [])]
    if engine not in ("local", "ray"):
        raise InputError(f"The engine '{engine}' is not known; choose local or ray.")
    if dry_run:
        expanded = plan_study(chosen, budget, corpora, data_dir, rows)
        expanded.summarise()
        _print_plan(expanded.plan, Store(store), as_json)
        return
    from attentest.engine.local import LocalPool
    from attentest.engine.on_ray import RayPool
    from attentest.progress import TerminalWatcher

    folder = out or Path("studies") / chosen.name
    with TerminalWatcher(quiet=as_json) as watcher:
        try:
            outcome = run_study(
                chosen,
                folder,
                lambda s: LocalPool(s, workers) if engine == "local" else RayPool(s, address),
                budget=budget,
                corpora=corpora,
                data_dir=data_dir,
                rows=rows,
                store=Store(store),
                watchers=[watcher],
            )
        except KeyboardInterrupt:
            print("attentest: stopped. Started again, the study goes on from what is finished.", file=sys.stderr)
            raise typer.Exit(130) from None
    if as_json:
        print(json.dumps({"folder": str(folder), **vars(outcome)}, ensure_ascii=False))
    else:
        print(f"{outcome.done} steps run, {outcome.reused} from the store")
        for step, error in outcome.failed.items():
            print(f"failed: {step}\n  {error}")
        if outcome.skipped:
            print(f"not run, as they stand on failed steps: {', '.join(outcome.skipped)}")
        if (folder / "summary.md").exists():
            print((folder / "summary.md").read_text(encoding="utf-8"))
        print(folder)
    if outcome.failed:
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
        print(json.dumps(found, ensure_ascii=False))
        return
    print(f"{found['study']}, budget {found['budget']}: {found['done']} of {found['steps']} steps done")
    for now in found["running"].values():
        print(f"  running  {now['name']}: {now['stage']} {100 * now['share']:.0f} %")
    for name, error in found["failed"].items():
        print(f"  failed   {name}: {error.splitlines()[-1]}")
    if found["missing"]:
        left = f"about {found['seconds_left'] / 60:.0f} minutes left"
        print(left if found["alive"] else f"not running; {left} when started again")


store_app = typer.Typer(no_args_is_help=True, help="The store of finished steps.")
app.add_typer(store_app, name="store")


@store_app.command("gc")
def collect(
    store: Annotated[str | None, Option(help="Folder or URL of the store [ATTENTEST_STORE or a cache].")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove what no study's folder needs any more."""
    from attentest.engine.store import Store

    count, freed = Store(store).collect(dry_run=dry_run)
    print(f"{count} entries, {freed / 1e6:.1f} MB {'would go' if dry_run else 'removed'}")


def _print_plan(plan: Any, store: Any, as_json: bool) -> None:
    rows = [{"name": s.name, "seconds": round(s.seconds, 1), "done": store.has(s.key)} for s in plan]
    left = sum(row["seconds"] for row in rows if not row["done"])
    if as_json:
        print(json.dumps({"steps": rows, "seconds": round(left, 1)}, ensure_ascii=False))
        return
    for row in rows:
        print(f"{'done' if row['done'] else '{:.0f} s'.format(row['seconds']):>8}  {row['name']}")
    print(f"{len(rows)} steps, about {left / 60:.0f} minutes on one core")
