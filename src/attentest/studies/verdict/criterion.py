"""What a definition of explanation and a test of it consist of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attentest.measures.intervals import Estimate
from attentest.studies.experiments.base import Experiment
from attentest.trials.base import Trial

PEOPLE = "people"
Figures = Callable[[str, str, str], Estimate | None]  # kind, name and entry of a summary -> the estimate, if any
Figure = Callable[[Figures], Estimate | None]
AT_LEAST, MORE_THAN, AT_MOST = "at least", "more than", "at most"
TOKENS, STATES, MODELS = "tokens", "states", "models"  # what a test changes: the text, the weights over states, a model
DEFINES, CALIBRATED, EVIDENCE = "defines", "calibrated", "evidence"  # how a test may decide


class People:
    """T17: a study with people, whose answers come from `attentest annotate`."""

    kind = PEOPLE
    name = "people"
    number = "T17"
    keys: Mapping[str, str] = {
        "relevant": "texts called relevant",
        "permuted": "texts called relevant, permuted weights",
        "difference": "difference to permuted weights",
    }
    source = "Vashishth et al. 2019 §4.4, Fig. 5"
    how_to_read = (
        "People saw texts with the three heaviest words marked, and the prediction, not knowing whether the weights "
        "were the model's own or permuted. A high share for the model's own weights and a low one for permuted weights "
        "mean that people can follow what the attention points at, not that the model decides by it."
    )

    @staticmethod
    def charts(table: Any, summary: Mapping[str, Estimate]) -> Mapping[str, Any]:
        """None: its tables are in the report of the study."""
        return {}


Asked = type[Trial] | type[Experiment] | type[People]


@dataclass(frozen=True)
class Criterion:
    """A figure that must meet a threshold; `name` is what the threshold is set by.

    `role` says how it may decide: because the definition is this figure (`DEFINES`), because it was right on models of
    known truth (`CALIBRATED`: if the calibration says so), or never (`EVIDENCE`).
    """

    name: str
    asks: Asked
    says: str  # what is measured
    figure: Figure
    side: str
    threshold: float  # where the calibration has none
    source: str  # where that threshold comes from
    level: str = STATES
    role: str = EVIDENCE
    null: Figure | None = None  # what attention that tells nothing would get, from the same run
    ceiling: Figure | None = None  # what other measures reach among themselves
    absent: str = ""  # why a trial that was run may not have the figure
    always: Figure | None = None  # what that trial has also then; without it an earlier version made the finding
    against: Asked | None = None  # another one that the figure is set against
    trained: Figure | None = None  # how many trainings its interval is over, if it is
    searched: Callable[[Figures], str] | None = None  # how, where a yes only means that a search found nothing
    above_null: Figure | None = None  # figure − null, where a yes also needs that to be more than 0

    @property
    def number(self) -> str:
        """Of the trial, as in docs/trials."""
        return self.asks.number

    @property
    def kind(self) -> str:
        return self.asks.kind

    @property
    def trial(self) -> str:
        return self.asks.name

    @property
    def short(self) -> str:
        """Its name within the definition."""
        return self.name.partition(".")[2]


@dataclass(frozen=True)
class Definition:
    name: str
    means: str
    criteria: tuple[Criterion, ...]
    caveat: str
    paper: str  # that the caveat is from
    truth: str  # how its truth was constructed to test the verdict, or why it cannot be
