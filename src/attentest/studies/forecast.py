"""What the steps of a plan take of a pretrained encoder: runs of the network, time and memory, before any is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import torch

from attentest.engine.plan import Step
from attentest.models.protocol import WholeModel, provides
from attentest.studies.examined import Examined
from attentest.studies.expand import ENCODER_COST, START, STEPS, TRAINING_COST, StudyPlan, mean_tokens
from attentest.text.batches import make_batch
from attentest.trials import make_trial
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import Trial, works_of
from attentest.trials.sinks import texts_for_sinks
from attentest.trials.subject import Subject, some_of
from attentest.trials.work import Load, Work, Works, bytes_of_a_position, tokens_at_once

TIMED = 8  # texts, of all lengths
BACK = 2  # a run back takes about as long as two forward


@dataclass
class Forecast:
    """Of the steps that are not done yet; runs and memory are of trials."""

    forward: float = 0.0  # runs of the network on a text
    backward: float = 0.0
    memory: int = 0  # bytes at the peak of a process, next to the model
    model: int = 0  # bytes
    steps: dict[str, float] = field(default_factory=dict)  # seconds on one core, by the key of a step

    @property
    def seconds(self) -> float:
        return sum(self.steps.values())

    def as_dict(self) -> dict[str, float]:
        names = ("forward", "backward", "seconds", "memory", "model")
        return {name: getattr(self, name) for name in names}


@dataclass
class _Group:
    """Steps that share one reading of so many texts, each with its trial; None only reads."""

    texts: int | None
    trials: list[tuple[Step, Trial | None]] = field(default_factory=list)


def forecast(planned: StudyPlan, done: Callable[[str], bool] = lambda key: False) -> Forecast | None:
    """None where no pretrained encoder can be asked, or where nothing is left to do with it."""
    found, left = Forecast(), [step for step in planned.plan if not done(step.key)]

    @cache
    def asked(examined: Examined, special: bool) -> tuple[Subject, float]:
        subject = replace(examined(special), memory=planned.memory)
        return subject, seconds_of_a_run(subject)

    for key, examined in planned.examined.items():
        for step in left:
            if step.key == key and step.work in _MAKING:
                found.steps[key] = START + _MAKING[step.work](step, *asked(examined, False))
        for special in (False, True):
            on_trial = [step for step in left if step.inputs.get("run") == key and _special(step) == special]
            if any(step.work in _ON_TRIAL for step in on_trial):
                subject, of_run = asked(examined, special)
                for group in _groups(on_trial, subject):
                    _add(found, group, subject, of_run)
    return found if found.steps else None


def seconds_of_a_run(subject: Subject) -> float:
    """Of processor time for a text, from a few of them: other work on the machine does not count."""
    by_length = subject.rows[np.argsort(subject.data.sequences.lengths[subject.rows], kind="stable")]
    batch = make_batch(subject.data, by_length[np.unique(np.linspace(0, len(by_length) - 1, TIMED).astype(int))])
    model, threads = subject.model, torch.get_num_threads()
    assert provides(model, WholeModel)
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            model.whole(batch)
            start = time.process_time()
            model.whole(batch)
            taken = (time.process_time() - start) / len(batch)
            return taken / Load(subject).longest.whole
    finally:
        torch.set_num_threads(threads)


def _trained(step: Step, subject: Subject, of_run: float) -> float:
    """The plan knows how many tokens are read in all epochs, and this how long a text takes."""
    texts: float = step.seconds / (TRAINING_COST * ENCODER_COST * mean_tokens(subject.data.corpus))
    layers, frozen = len(subject.model.sites), int(step.settings.get("freeze_layers", 0))
    return texts * (1 + BACK) * of_run * (layers - frozen) / layers


def _tested(step: Step, subject: Subject, of_run: float) -> float:
    return len(subject.data.rows) * of_run


_MAKING = {f"{STEPS}.training:run": _trained, f"{STEPS}.finished:run": _tested}
_TRIAL, _INSTANCES, _SINKS = _ON_TRIAL = tuple(f"{STEPS}.{name}:run" for name in ("trial", "instances", "sinks"))


def _special(step: Step) -> bool:
    return bool(step.settings.get("special"))


def _groups(steps: Sequence[Step], subject: Subject) -> list[_Group]:
    found: dict[str, _Group] = {}
    for step in steps:
        told: Mapping[str, Any] = step.settings
        if step.work == _TRIAL:
            trial = make_trial(told["trial"], **told["settings"])
            found.setdefault(step.together, _Group(told["texts"])).trials.append((step, trial))
        elif step.work == _INSTANCES:
            found[step.key] = _Group(told["texts"], [(step, InstanceAdversary())])
        elif step.work == _SINKS:
            found[step.key] = _Group(len(texts_for_sinks(subject.data)), [(step, None)])
    return list(found.values())


def _add(found: Forecast, group: _Group, subject: Subject, of_run: float) -> None:
    """What several trials share counts for the first of them."""
    some = replace(subject, rows=some_of(subject.rows, group.texts))
    every: Works = {}
    for step, trial in group.trials:
        fitting = [] if trial is None or not trial.fits(some) else [trial]
        new = {name: work for name, work in works_of(fitting, some).items() if name not in every}
        found.steps[step.key] = START + sum(_seconds(work, of_run) for work in new.values())
        every |= new
    found.forward += sum(work.forward for work in every.values())
    found.backward += sum(work.backward for work in every.values())
    found.memory = max(found.memory, _peak(some, every))
    parameters: Any = subject.model
    found.model = max(found.model, sum(one.numel() * one.element_size() for one in parameters.parameters()))


def _seconds(work: Work, of_run: float) -> float:
    return of_run * (work.forward + BACK * work.backward) + work.seconds


def _peak(subject: Subject, works: Works) -> int:
    load = Load(subject)
    costs, length = load.longest, int(load.read.max())
    positions = int((load.read + costs.added).sum())
    return min(positions, tokens_at_once(subject, works)) * bytes_of_a_position(works, costs, length)
