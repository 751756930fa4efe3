"""Put one run on one trial, or on several at once: then its texts are read and encoded once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.engine.task import Task
from attentest.files import write_json
from attentest.models.pretrained.precision import AUTO
from attentest.models.pretrained.view import View
from attentest.progress import Listener
from attentest.studies.steps.sinks import sinks_in
from attentest.training.run import Run, choose_device
from attentest.trials import make_trial
from attentest.trials.hold import hold
from attentest.trials.sinks import judged_without_sinks
from attentest.trials.subject import subject_of

NOTHING = "no-sinks.json"  # stands for a finding without sinks where there are none


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    run_together([Task(settings, inputs, out)], listener)


def run_together(tasks: Sequence[Task], listener: Listener) -> None:
    """The same run, texts, site and device for all, and the same answer to whether only marked texts count."""
    settings = tasks[0].settings
    run = Run(tasks[0].inputs["run"]).computed_in(settings.get("dtype", AUTO))
    run = run.seen(View(special=True)) if settings.get("special") else run
    apart = "sinks" in tasks[0].inputs
    sinks = sinks_in(tasks[0].inputs["sinks"]) if apart else None
    if apart and sinks is None:  # then this would be the usual finding again
        for task in tasks:
            write_json(task.out / NOTHING, {})
        return
    run = run if sinks is None else run.seen(View(sinks=sinks))
    device = str(choose_device(settings["device"]))
    subject = subject_of(
        run,
        texts=settings["texts"],
        device=device,
        site=settings.get("site"),
        only_marked=settings.get("only_marked", False),
        memory=settings.get("memory"),
    )
    subject = subject if sinks is None else judged_without_sinks(subject)
    trials = [make_trial(task.settings["trial"], **task.settings["settings"]) for task in tasks]
    findings = hold(trials, replace(subject, folder=None), lambda done, total: listener.progress("read", done, total))
    for task, finding in zip(tasks, findings, strict=True):
        if not task.settings.get("pictures", True):  # drawing takes longer than most trials
            finding = replace(finding, charts={})
        finding.save(task.out / subject.place_of(finding.trial))
