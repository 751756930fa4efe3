"""Models that are trained several times, and figures over all trainings.

The first training has the base's seed, the others have the following ones: those of two kinds of models are pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from attentest.measures.divergences import LARGEST_JSD
from attentest.measures.f1 import F1Parts, as_f1, mean_part
from attentest.measures.intervals import Estimate, mean, over_trainings, two_level
from attentest.studies.cells import GAIN, hits, parts_of_f1
from attentest.studies.experiments.base import BASE, Difference, Training
from attentest.training.run import Run
from attentest.trials.cells import Cell, cell

FEWEST = 3  # trainings for an interval that covers them
REPEATS = "Trainings of each model, each with another seed; from 3 on, intervals cover how trainings differ."


def labels_of(label: str, times: int) -> list[str]:
    """Of the trainings of a model; other seeds of the base are the same trainings in every experiment."""
    others = [f"seed {seed}" if label == BASE else f"{label}, seed {seed}" for seed in range(1, times)]
    return [label, *others]


def other_seeds(times: int) -> list[Training]:
    """The base's further trainings."""
    return [Training(label, {"seed": seed}) for seed, label in enumerate(labels_of(BASE, times)) if seed]


def repeated(training: Training, times: int) -> list[Training]:
    """A training and its repetitions, which stand on the same others."""
    labels = enumerate(labels_of(training.label, times))
    return [training] + [
        replace(training, label=label, settings={**training.settings, "seed": seed}) for seed, label in labels if seed
    ]


def runs_of(runs: Mapping[str, Run], label: str, times: int) -> list[Run]:
    return [runs[one] for one in labels_of(label, times)]


def exactly(number: int) -> Estimate:
    """A number of trainings, among the figures of a summary."""
    return Estimate(number, number, number, number)


def notes_on(times: int) -> list[str]:
    """What intervals do not cover."""
    if times >= FEWEST:
        return []
    trained = "once" if times == 1 else f"{times} times"
    return [
        f"Each model was trained {trained}: intervals are over texts and do not cover how trainings differ "
        f"(set `repeats` to {FEWEST} or more)."
    ]


def mean_over(values: Float[np.ndarray, "trainings texts"], bounds: tuple[float, float]) -> Estimate:
    """The mean, with an interval over trainings and texts, or over texts alone where trainings are too few; `bounds`
    are those of a text's mean."""
    return two_level(values, bounds) if len(values) >= FEWEST else mean(values.mean(0), bounds)


def distance_over(found: Sequence[Difference]) -> dict[str, Estimate]:
    """The mean JSD of weights and the mean TVD of predictions."""
    return {
        "JSD": mean_over(np.stack([one.jsd for one in found]), (0, LARGEST_JSD)),
        "TVD": mean_over(np.stack([one.tvd for one in found]), (0, 1)),
    }


def f1_over(parts: Sequence[F1Parts], bounds: tuple[float, float]) -> Estimate:
    """The same of F1, or of a difference of F1, from what each text adds to it in each training."""
    together = mean_part(parts)
    return as_f1(mean_over(np.stack([one.values for one in parts]), together.bounds), together, bounds)


def scores_over(runs: Sequence[Run]) -> dict[str, Estimate]:
    """Accuracy and F1, their means over trainings."""
    return {
        "accuracy": mean_over(np.stack([hits(run) for run in runs]), (0, 1)),
        "f1": f1_over([parts_of_f1(run) for run in runs], (0, 1)),
    }


def accuracy_change(runs: Sequence[Run], others: Sequence[Run]) -> Estimate:
    """The accuracy of runs less that of the others, training by training and text by text."""
    return mean_over(np.stack([hits(run) - hits(other) for run, other in zip(runs, others, strict=True)]), (-1, 1))


def f1_change(runs: Sequence[Run], others: Sequence[Run]) -> Estimate:
    """The F1 of runs less that of the others, training by training."""
    pairs = zip(runs, others, strict=True)
    return f1_over([parts_of_f1(run) - parts_of_f1(other) for run, other in pairs], (-1, 1))


def f1_change_cell(runs: Sequence[Run], others: Sequence[Run], variant: str, other: str) -> Cell:
    return cell(variant, f"f1{GAIN}{other}", f1_change(runs, others), model=runs[0].record.model.name)


def estimate_over(found: Sequence[Estimate]) -> Estimate:
    """The mean of one estimate a training; their errors over texts may be the same ones, and are not averaged out."""
    values = np.array([one.value for one in found])
    below, above = (np.mean([one.value - one.low for one in found]), np.mean([one.high - one.value for one in found]))
    value = float(values.mean())
    over_texts = Estimate(value, value - float(below), value + float(above), min(one.n for one in found))
    if len(found) < FEWEST:
        return over_texts
    wide = over_trainings(over_texts, values)
    # what stays within 0 and 1 in every training is a share, or close to one
    shares = all(one.low >= 0 and one.high <= 1 for one in found)
    return Estimate(wide.value, max(wide.low, 0.0), min(wide.high, 1.0), wide.n) if shares else wide
