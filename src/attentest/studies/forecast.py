"""What the trials of a plan take of a pretrained encoder: runs of the network, time and memory, before any is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from attentest.engine.plan import Step
from attentest.models.protocol import WholeModel, provides
from attentest.studies.expand import STEPS, StudyPlan
from attentest.text.batches import make_batch
from attentest.trials import make_trial
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import Trial, works_of
from attentest.trials.subject import Subject, some_of
from attentest.trials.work import Load, Works, bytes_of_a_position, tokens_at_once

TIMED = 8  # texts, of all lengths
BACK = 2  # a run back takes about as long as two forward


@dataclass(frozen=True)
class Forecast:
    forward: float  # runs of the network on a text
    backward: float
    seconds: float  # on one core
    memory: int  # bytes at the peak of a process, next to the model
    model: int  # bytes


def forecast(planned: StudyPlan, done: Callable[[str], bool] = lambda key: False) -> Forecast | None:
    """Of the trials that are not done yet; None where no pretrained encoder is there to be asked."""
    works: list[Works] = []
    seconds, memory, model = 0.0, 0, 0
    for key, examined in planned.examined.items():
        for special in (False, True):
            groups = _groups([step for step in planned.plan if not done(step.key)], key, special)
            if not groups:
                continue
            subject = replace(examined(special), memory=planned.memory)
            parameters: Any = subject.model
            model = max(model, sum(one.numel() * one.element_size() for one in parameters.parameters()))
            of_run = seconds_of_a_run(subject)
            for texts, trials in groups:
                some = replace(subject, rows=some_of(subject.rows, texts))
                asked = works_of([trial for trial in trials if trial.fits(some)], some)
                works.append(asked)
                memory = max(memory, _peak(some, asked))
                seconds += sum(of_run * (work.forward + BACK * work.backward) + work.seconds for work in asked.values())
    if not works:
        return None
    every = [work for asked in works for work in asked.values()]
    return Forecast(sum(w.forward for w in every), sum(w.backward for w in every), seconds, memory, model)


def seconds_of_a_run(subject: Subject) -> float:
    """Of a text on one core, from a few of them."""
    by_length = subject.rows[np.argsort(subject.data.sequences.lengths[subject.rows], kind="stable")]
    batch = make_batch(subject.data, by_length[np.unique(np.linspace(0, len(by_length) - 1, TIMED).astype(int))])
    model, threads = subject.model, torch.get_num_threads()
    assert provides(model, WholeModel)
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            model.whole(batch)
            start = time.perf_counter()
            model.whole(batch)
            taken = (time.perf_counter() - start) / len(batch)
            return taken / Load(subject).longest.whole
    finally:
        torch.set_num_threads(threads)


def _groups(steps: list[Step], run: str, special: bool) -> list[tuple[int | None, list[Trial]]]:
    """Trials of a run that share one reading of so many texts, and its heat maps."""
    found: dict[str, tuple[int | None, list[Trial]]] = {}
    for step in steps:
        told: Mapping[str, Any] = step.settings
        if step.inputs.get("run") != run or bool(told.get("special")) != special:
            continue
        if step.work == f"{STEPS}.trial:run":
            trial = make_trial(told["trial"], **told["settings"])
            found.setdefault(step.together, (told["texts"], []))[1].append(trial)
        elif step.work == f"{STEPS}.instances:run":
            found[step.key] = (told["texts"], [InstanceAdversary()])
    return list(found.values())


def _peak(subject: Subject, works: Works) -> int:
    load = Load(subject)
    costs, length = load.longest, int(load.read.max())
    positions = int((load.read + costs.added).sum())
    return min(positions, tokens_at_once(subject, works)) * bytes_of_a_position(works, costs, length)
