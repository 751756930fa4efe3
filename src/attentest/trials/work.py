"""What trials run, as each of them states it: runs of the network on a text, and what is in memory meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from attentest.models.protocol import Costs, SizedModel, provides
from attentest.text.batches import TOKENS_AT_ONCE
from attentest.trials.subject import Subject

Held = Literal["token", "graph", "layered"]


@dataclass(frozen=True)
class Work:
    """Runs of the whole network on a text, in all: one that stops halfway is half of one."""

    forward: float = 0.0
    backward: float = 0.0
    seconds: float = 0.0  # of other work, on one core
    held: Held = "token"  # which of the model's costs each position of the texts has meanwhile
    searched: int = 0  # variants of a text's weights that gradients are taken by at a time


Works = dict[str, Work]  # what several trials share has one name, and is done once


@dataclass(frozen=True)
class Load:
    """The texts on trial, and what the model takes for each of them."""

    subject: Subject

    @property
    def texts(self) -> int:
        return len(self.subject.rows)

    @cached_property
    def lengths(self) -> Int[np.ndarray, "texts"]:
        return self.subject.lengths

    @cached_property
    def read(self) -> Int[np.ndarray, "texts"]:
        """Tokens that are read of each text: its own, and those set aside."""
        return self.subject.read_lengths

    @cached_property
    def _costs(self) -> tuple[list[Costs], Int[np.ndarray, "texts"]]:
        """Of each length, and which of them each text has."""
        kinds, kind = np.unique(self.read, return_inverse=True)
        return [costs_of(self.subject, int(length)) for length in kinds], kind

    @property
    def longest(self) -> Costs:
        return self._costs[0][-1]

    @property
    def reading(self) -> float:
        return self.texts * self.longest.reading

    @property
    def above(self) -> float:
        """Runs from the site on."""
        return self.texts * self.longest.above

    def decoded(self, variants: float | Int[np.ndarray, "texts"]) -> float:
        """So many variants of each text's weights."""
        costs, kind = self._costs
        each: np.ndarray = np.array([one.decoding for one in costs])[kind]
        return float((each * variants).sum())

    def copies(
        self, copies: float | Int[np.ndarray, "texts"], tokens: Float[np.ndarray, "texts"] | Int[np.ndarray, "texts"]
    ) -> float:
        """Runs on copies of each text that have so many of its tokens; what is set aside or added is in every copy."""
        around = self.read - self.lengths + self.longest.added
        return self.longest.whole * float((copies * (tokens + around) / (self.lengths + around)).sum())


def costs_of(subject: Subject, length: int) -> Costs:
    if not provides(subject.model, SizedModel):
        return Costs(token=0, graph=0, layered=0, variant=0, searched=0)
    return subject.model.costs(length, subject.chosen_site)


def bytes_of_a_position(works: Works, costs: Costs, length: int) -> int:
    """The most that each position of the texts that are read at a time takes."""
    found = [costs.token]
    for work in works.values():
        found.append(costs.graph if work.held == "graph" else costs.token)
        found.append(costs.token + work.searched * costs.searched // (length + costs.added))
    # the states of all layers stay with the model while other trials ask about the next texts
    layered = any(work.held == "layered" for work in works.values())
    return max(found) + (costs.layered if layered else 0)


def tokens_at_once(subject: Subject, works: Works) -> int:
    """How many tokens may be read at a time, with padding and what the model adds: at least the longest text."""
    if subject.memory is None or not provides(subject.model, SizedModel):
        return TOKENS_AT_ONCE
    longest = int(subject.read_lengths.max(initial=1))
    costs = costs_of(subject, longest)
    fitting = subject.memory // bytes_of_a_position(works, costs, longest)
    return max(longest + costs.added, min(TOKENS_AT_ONCE, fitting))
