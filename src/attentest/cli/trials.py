"""attentest trial and trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import attentest
from attentest.cli.app import app
from attentest.cli.options import AsJson, Device, Threads, named_values, set_threads
from attentest.errors import InputError


@app.command()
def trial(
    name: Annotated[str, Argument(help="A trial's name (see 'attentest trials'), or all.")],
    run: Annotated[Path, Argument(help="The run's folder; findings are written into its trials folder.")],
    texts: Annotated[int | None, Option(help="Examine a random sample of this many test texts.")] = None,
    site: Annotated[
        str | None, Option(help="Whose weights are examined: token; word or sentence of a hierarchical model.")
    ] = None,
    option: Annotated[
        list[str] | None, Option("-o", "--option", help="NAME=VALUE for the trial, e.g. epsilon=0.05.")
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Put a run's attention on trial: print the finding, write its table, figure and settings."""
    from attentest.cli.terminal import TerminalListener
    from attentest.files import without_nan
    from attentest.training.run import choose_device
    from attentest.trials import TRIALS, hold, make_trial, subject_of

    if threads is not None:
        set_threads(threads)
    if name == "all" and option:
        raise InputError("Options belong to one trial; name it instead of all.")
    chosen = [make_trial(one, **named_values(option or [])) for one in (TRIALS if name == "all" else [name])]
    subject = subject_of(attentest.open_run(run), texts=texts, device=str(choose_device(device)), site=site)
    if name == "all":
        chosen = [one for one in chosen if one.fits(subject)]
    with TerminalListener(quiet=as_json) as listener:
        findings = hold(chosen, subject, lambda done, total: listener.progress("read", done, total))
    if as_json:
        found = [without_nan(finding.as_dict()) for finding in findings]
        print(json.dumps(found if name == "all" else found[0], ensure_ascii=False))
        return
    for finding in findings:
        print(f"\n{finding.trial}: {finding.question}\n{finding.answer}")
        for note in finding.notes:
            print(f"  {note}")
        width = max((len(label) for label in finding.summary), default=0)
        for label, estimate in finding.summary.items():
            print(f"  {label:<{width}}  {estimate}")
        print(f"  {finding.files['finding']}")


@app.command()
def trials(as_json: AsJson = False) -> None:
    """List the trials: the question, the paper and section, what it needs, its settings."""
    from dataclasses import fields

    from attentest.studies.experiments import EXPERIMENTS, experiment_class
    from attentest.trials import TRIALS, trial_class

    kinds = {name: trial_class(name) for name in TRIALS}
    if as_json:
        print(
            json.dumps(
                {
                    name: {
                        "question": kind.question,
                        "source": kind.source,
                        "needs": kind.needs,
                        "settings": {f.name: f.default for f in fields(kind)},  # type: ignore[arg-type]
                    }
                    for name, kind in kinds.items()
                },
                ensure_ascii=False,
            )
        )
        return
    for name, kind in kinds.items():
        settings = ", ".join(f"{f.name}={f.default}" for f in fields(kind))  # type: ignore[arg-type]
        print(f"{name}\n  {kind.question}\n  {kind.source}\n  needs {kind.needs}; settings: {settings}")
    print("\nexperiments, for which 'attentest study' trains further models:")
    for name in EXPERIMENTS:
        experiment = experiment_class(name)
        settings = ", ".join(f"{f.name}={f.default}" for f in fields(experiment))  # type: ignore[arg-type]
        print(f"{name}\n  {experiment.question}\n  {experiment.source}\n  settings: {settings or 'none'}")
