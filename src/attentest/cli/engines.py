"""What study and audit share: the engine's options, running a plan with a progress bar, printing one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from attentest.cli.options import BUDGETS, ENGINES, RUNNING, Device, Memory, counted, offering
from attentest.cli.signals import advise
from attentest.cli.streams import say, say_json
from attentest.cli.views import Dtype
from attentest.memory import written_size
from attentest.models.pretrained.precision import AUTO

if TYPE_CHECKING:
    from attentest.engine.scheduler import Outcome, Watcher
    from attentest.engine.store import Store
    from attentest.studies.expand import StudyPlan


def budget_option(help: str) -> Any:
    return Option(help=help, metavar="|".join(BUDGETS), autocompletion=offering(BUDGETS))


Overwrite = Annotated[
    bool, Option("--overwrite", help="Replace the contents of that folder, if it was made with other settings.")
]
DryRun = Annotated[
    bool,
    Option(
        "--dry-run",
        help="Print the steps and an estimate of their time (of a pretrained encoder also of memory); run none.",
        rich_help_panel=RUNNING,
    ),
]
Engine = Annotated[
    str,
    Option(
        help="Engine: local processes, or a Ray cluster.",
        metavar="|".join(ENGINES),
        autocompletion=offering(ENGINES),
        rich_help_panel=RUNNING,
    ),
]
Workers = Annotated[
    int | None, Option(help="Number of processes of the local engine [all cores].", rich_help_panel=RUNNING)
]
Address = Annotated[
    str | None, Option(help="Ray cluster address, e.g. auto [starts a local one].", rich_help_panel=RUNNING)
]
StorePlace = Annotated[
    str | None,
    Option(
        help="Folder or URL of the store of finished steps [the variable ATTENTEST_STORE, or a cache].",
        metavar="PLACE",
        rich_help_panel=RUNNING,
    ),
]


_RUNNING: dict[str, tuple[Any, Any]] = {
    "dry_run": (DryRun, False),
    "engine": (Engine, "local"),
    "workers": (Workers, None),
    "address": (Address, None),
    "device": (Device, "auto"),
    "memory": (Memory, None),
    "dtype": (Dtype, AUTO),
    "store": (StorePlace, None),
}


ENGINE = ("dry_run", "engine", "workers", "address", "device", "memory", "store")


def engine_options(*names: str) -> list[inspect.Parameter]:
    """Options about how steps run: the usual ones, or those with these names."""
    chosen = {name: _RUNNING[name] for name in names or ENGINE}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in chosen.items()
    ]


def engine_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """What `study`, `audit` and `compare` are told about how to run; a wrong device is told before steps fail."""
    if given.get("engine", "local") == "local":
        from attentest.training.run import choose_device

        choose_device(given["device"])
    return {name: given[name] for name in ("engine", "workers", "address", "store") if name in given}


@contextmanager
def watched(quiet: bool) -> Iterator[Watcher]:
    """A progress bar for the steps of a study, an audit or a comparison."""
    advise("Run the same command again to resume; finished steps are kept.")
    from attentest.cli.terminal import TerminalWatcher

    with TerminalWatcher(quiet=quiet) as watcher:
        yield watcher


def print_outcome(outcome: Outcome) -> None:
    say(f"{counted(outcome.done, 'step')} run, {outcome.reused} from the store")
    for step, error in outcome.failed.items():
        say(f"failed: {step}", *(f"  {line}" for line in error.splitlines()))
    if outcome.skipped:
        say(f"not run, because they depend on failed steps: {', '.join(outcome.skipped)}")


def finish(outcome: Outcome, as_dict: Callable[[], Any], as_json: bool, tell: Callable[[], None]) -> None:
    """Print what a command did, as JSON or for people (`tell`); the exit code is 1 if a step failed."""
    if as_json:
        say_json(as_dict())
    else:
        print_outcome(outcome)
        tell()
    if outcome.failed:
        raise typer.Exit(1)


def print_plan(expanded: StudyPlan, store: Store, as_json: bool) -> None:
    """The steps and their time; of a pretrained encoder also what its trials run, and in how much memory."""
    from attentest.studies.forecast import forecast

    expanded.summarise()
    found = forecast(expanded, store.has)
    timed = {} if found is None else found.steps
    rows: list[dict[str, Any]] = [
        {"name": s.name, "seconds": round(timed.get(s.key, s.seconds), 1), "done": store.has(s.key)}
        for s in expanded.plan
    ]
    left = sum(row["seconds"] for row in rows if not row["done"])
    if as_json:
        say_json({"steps": rows, "seconds": round(left, 1)} | ({} if found is None else {"encoder": found.as_dict()}))
        return
    for row in rows:
        say(f"{'done' if row['done'] else '{:.0f} s'.format(row['seconds']):>8}  {row['name']}")
    by = "" if found is None else ", by a run of the encoder timed here"
    say(f"{counted(len(rows), 'step')}, about {max(1, round(left / 60)):,} min on one core{by}")
    if found is not None:
        say(
            f"trials of the encoder: about {found.forward:,.0f} runs of it on a text and {found.backward:,.0f} back; "
            f"peak memory about {written_size(found.memory)} next to {written_size(found.model)} of the model, in each "
            "process"
        )
