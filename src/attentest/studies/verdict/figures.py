"""Where a test finds its figure among the summaries of trials and experiments."""

from __future__ import annotations

from attentest.measures.intervals import Estimate, independent_difference
from attentest.studies.experiments.adversary import FAR, TrainedAdversary
from attentest.studies.experiments.seeds import Seeds, over_trainings
from attentest.studies.verdict.criterion import Asked, Figure, Figures
from attentest.trials.rationale import Rationale

IMITATES = 0.1  # mean TVD to the base, above which an adversary makes other predictions
NEAR = 0.1  # JSD of adversaries that cannot move: seeds are not set against these


def entry_of(asked: Asked, key: str, sign: int = 1) -> Figure:
    """A figure that a trial or experiment has under that key."""

    def figure(figures: Figures) -> Estimate | None:
        found = figures(asked.kind, asked.name, asked.keys[key])
        if found is None or sign == 1:
            return found
        return Estimate(-found.value, -found.high, -found.low, found.n)

    return figure


def fixed(value: float) -> Figure:
    """A reference that is a number by construction."""
    return lambda figures: Estimate(value, value, value, 0)


def figure_over_trainings(asked: Asked, key: str) -> Figure:
    """The figure over all trainings that were examined, also where one of them leaves it undefined; else that of the
    one."""
    alone = entry_of(asked, key)

    def figure(figures: Figures) -> Estimate | None:
        found = figures(Seeds.kind, Seeds.name, over_trainings(asked.keys[key]))
        return alone(figures) if found is None else found

    return figure


def moves_more_than_seeds(figures: Figures) -> Estimate | None:
    """How much more the predictions of a far adversary differ from this model's than those of other seeds do."""
    seeds, other = entry_of(Seeds, "moved")(figures), entry_of(TrainedAdversary, "far moved")(figures)
    return None if seeds is None or other is None else independent_difference(other, seeds)


def above_chance(figures: Figures) -> Estimate | None:
    """The AUPRC of the weights between that of a random order, which is known exactly, and 1."""
    found, chance = (figure_over_trainings(Rationale, key)(figures) for key in ("auprc", "auprc null"))
    if found is None or chance is None or not chance.value < 1:
        return None
    value, low, high = ((x - chance.value) / (1 - chance.value) for x in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.n)


def trainings_of(asked: Asked, key: str) -> Figure:
    """How many trainings a figure over all of them stands on, where it is one."""

    def figure(figures: Figures) -> Estimate | None:
        over = figures(Seeds.kind, Seeds.name, over_trainings(asked.keys[key]))
        return None if over is None else entry_of(Seeds, "trainings")(figures)

    return figure


def further_than_seeds(asked: Asked, key: str) -> Figure:
    """How much larger the figure is than the distance of seeds."""
    seeds, other = entry_of(Seeds, "apart"), entry_of(asked, key)

    def figure(figures: Figures) -> Estimate | None:
        less, more = seeds(figures), other(figures)
        if less is None or more is None or more.value < NEAR:
            return None
        return independent_difference(more, less)

    return figure


def if_far(asked: Asked, key: str) -> Figure:
    """A figure of an adversary that is far enough away to be one (Wiegreffe & Pinter 2019, Table 4)."""
    distance, wanted = entry_of(asked, "apart"), entry_of(asked, key)

    def figure(figures: Figures) -> Estimate | None:
        apart = distance(figures)
        return wanted(figures) if apart is not None and apart.value > FAR else None

    return figure


def if_none_far(figures: Figures) -> Estimate | None:
    """How far an adversary got that makes the same predictions, where none is far."""
    far, reached, moved = (entry_of(TrainedAdversary, key)(figures) for key in ("far", "reached", "moved"))
    return reached if far is None and moved is not None and moved.value <= IMITATES else None


def up_to_lambda(figures: Figures) -> str:
    strongest = entry_of(TrainedAdversary, "strongest")(figures)
    return "" if strongest is None else f" with λ up to {strongest.value:g}"
