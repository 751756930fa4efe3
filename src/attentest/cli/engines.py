"""What study and audit share: the engine's options, running a plan with a progress bar, printing one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

if TYPE_CHECKING:
    from attentest.engine.scheduler import Outcome, Watcher
    from attentest.engine.store import Store
    from attentest.studies.expand import StudyPlan

Overwrite = Annotated[bool, Option("--overwrite", help="Replace what the folder holds from other settings.")]
DryRun = Annotated[bool, Option("--dry-run", help="Print the steps and an estimate of their time.")]
Engine = Annotated[str, Option(help="local or ray.")]
Workers = Annotated[int | None, Option(help="Processes of the local engine [all cores].")]
Address = Annotated[str | None, Option(help="Of a Ray cluster, e.g. auto [a Ray of its own].")]
StorePlace = Annotated[str | None, Option(help="Folder or URL where results are kept [ATTENTEST_STORE or a cache].")]


@contextmanager
def watched(quiet: bool, kind: str) -> Iterator[Watcher]:
    """A progress bar for the steps of a study, an audit or a comparison; stopped by hand, a sentence about resuming."""
    from attentest.cli.terminal import TerminalWatcher

    with TerminalWatcher(quiet=quiet) as watcher:
        try:
            yield watcher
        except KeyboardInterrupt:
            print(f"attentest: stopped. Started again, the {kind} goes on from what is finished.", file=sys.stderr)
            raise typer.Exit(130) from None


def print_outcome(outcome: Outcome) -> None:
    print(f"{outcome.done} steps run, {outcome.reused} from the store")
    for step, error in outcome.failed.items():
        print(f"failed: {step}\n  {error}")
    if outcome.skipped:
        print(f"not run, as they stand on failed steps: {', '.join(outcome.skipped)}")


def print_plan(expanded: StudyPlan, store: Store, as_json: bool) -> None:
    expanded.summarise()
    rows: list[dict[str, Any]] = [
        {"name": s.name, "seconds": round(s.seconds, 1), "done": store.has(s.key)} for s in expanded.plan
    ]
    left = sum(row["seconds"] for row in rows if not row["done"])
    if as_json:
        print(json.dumps({"steps": rows, "seconds": round(left, 1)}, ensure_ascii=False))
        return
    for row in rows:
        print(f"{'done' if row['done'] else '{:.0f} s'.format(row['seconds']):>8}  {row['name']}")
    print(f"{len(rows)} steps, about {max(1, round(left / 60))} min on one core")
