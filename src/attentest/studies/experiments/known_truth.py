"""Models whose attention is known to be honest, meaningless or deceptive, since the words that decide are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attentest.measures.intervals import Estimate
from attentest.trials.base import Trial
from attentest.trials.rationale import Rationale
from attentest.trials.swaps import Swaps

HONEST, NULL, DECEPTIVE, PLAIN = "honest", "null", "deceptive", "plain"
FOLLOWS = 0.8  # share of decisions that must follow the swapped words: else the model does not rely on them
ON = 0.8  # share of texts in which the heaviest token of an honest model is a planted word
OFF, SELDOM = 0.1, 0.3  # weight of the others on the planted words above chance, and how often their heaviest is one


@dataclass(frozen=True)
class Kind:
    """A way to make a model of known truth out of a plain one: the settings that differ."""

    name: str
    truth: str
    settings: Mapping[str, Any]
    imitates: bool = False  # the plain model (the objective `adversary`)


# the loss chooses the epoch: decisions are right long before the weights are where the objective wants them
_DECEIVE = {"objective": "deceive", "select_by": "loss"}
_PAST = {"decoder": "context+mean"}  # a second path, around the attention

KINDS = {
    kind.name: kind
    for kind in (
        Kind("guided", HONEST, {"objective": "guide", "strength": 1.0, "select_by": "loss"}),
        Kind("sparsemax", HONEST, {"projection": "sparsemax"}),
        Kind("hard", HONEST, {"projection": "hard"}),
        Kind("random", NULL, {"projection": "random"}),
        Kind("untrained", NULL, {"freeze": ["alignment"]}),
        Kind("shuffled", NULL, {"projection": "shuffled"}),
        Kind("deceive 0.1", DECEPTIVE, {**_DECEIVE, "strength": 0.1}),
        Kind("deceive 1", DECEPTIVE, {**_DECEIVE, "strength": 1.0}),
        Kind("bypass", DECEPTIVE, {**_DECEIVE, "strength": 1.0, **_PAST}),
        Kind("inflate", DECEPTIVE, {**_DECEIVE, "objective": "inflate", "strength": 1.0, **_PAST}),
        Kind("suffice", DECEPTIVE, {**_DECEIVE, "objective": "suffice", "strength": 1.0, **_PAST}),
        Kind("adversary", DECEPTIVE, {"objective": "adversary", "strength": 0.01, "select_by": "loss"}, imitates=True),
    )
}


@dataclass(frozen=True)
class Proof:
    """Whether a model is what it was made to be: its decisions follow the planted words when these are swapped, and
    its weights are on them, or not."""

    truth: str
    follows: Estimate
    heaviest: Estimate  # token in the rationale
    more_weight: Estimate  # on the rationale than its share of the tokens

    @property
    def relies(self) -> bool:
        return self.follows.value >= FOLLOWS

    @property
    def holds(self) -> bool:
        if self.truth == HONEST:
            return self.relies and self.heaviest.value >= ON
        return self.truth != PLAIN and self.relies and self.more_weight.value <= OFF and self.heaviest.value <= SELDOM

    @property
    def failure(self) -> str:
        """Why the model is left out, if it is."""
        if self.holds or self.truth == PLAIN:
            return ""
        if not self.relies:
            return f"only {self.follows.value:.0%} of its decisions follow the planted words when these are swapped"
        if self.truth == HONEST:
            return f"its heaviest token is a planted word in {self.heaviest.value:.0%} of the texts only"
        return (
            f"its weight on the planted words is {self.more_weight.value:.2f} above chance, and its heaviest token is "
            f"one of them in {self.heaviest.value:.0%} of the texts"
        )


def prove(truth: str, swaps: Mapping[str, Estimate], rationale: Mapping[str, Estimate]) -> Proof:
    return Proof(
        truth,
        swaps[Swaps.keys["follows"]],
        rationale[Rationale.keys["heaviest"]],
        rationale[Rationale.keys["more weight"]],
    )


def figures_of(trial: type[Trial], summary: Mapping[str, Estimate]) -> Iterator[tuple[str, Estimate]]:
    """The entries that verdicts read."""
    for entry in dict.fromkeys(trial.keys.values()):
        if entry in summary:
            yield entry, summary[entry]
