"""What would decide an answer that is unclear: so many texts, so many trainings, or nothing of the kind."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attentest.measures.estimate import MOST_TEXTS, TAIL
from attentest.measures.intervals import Estimate, texts_to_decide, texts_to_separate
from attentest.measures.quantiles import student_quantile
from attentest.studies.experiments.controls import POSITIVE
from attentest.studies.verdict.criterion import AT_MOST

if TYPE_CHECKING:
    from attentest.studies.verdict.judge import Ruling

MOST_TRAININGS = 200  # that are worth advising
TEXTS = "texts"
NO_NUMBER = f"no number of {TEXTS} would decide"


@dataclass(frozen=True)
class ToDecide:
    """About how many texts (or what else the figure is an average over), and on how many trainings if the interval is
    over both; None where no number would do."""

    says: str
    texts: int | None = None
    trainings: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"texts": self.texts, "trainings": self.trainings, "says": self.says}


def by_more_texts(figure: Estimate, threshold: float, of: str = TEXTS) -> ToDecide:
    """For an interval over texts, or over what `of` names, that includes the threshold."""
    needed = texts_to_decide(figure, threshold)
    if needed is not None:
        return ToDecide(f"about {needed:,} {of} would decide", needed)
    if figure.value == threshold:
        return _at_threshold(of)
    return ToDecide(f"more than a million {of} would be needed to decide: the figure is nearly at the threshold")


def by_more_trainings(figure: Estimate, threshold: float, trainings: int, of: str = TEXTS) -> ToDecide:
    """For an interval over trainings and texts. Squares of half-widths add up, one over trainings and one over texts:
    where each part alone is narrower by the same factor, so is the whole, however much either adds to it."""
    if trainings < 2:
        return by_more_texts(figure, threshold, of)
    models = _trainings_to_decide(figure, threshold, trainings)
    if models is None:
        return _at_threshold(of)
    texts = texts_to_decide(figure, threshold)
    many = f"more than a million {of}" if texts is None else f"about {texts:,} {of}"
    needed = f"about {models:,} trainings, each {'tested on' if of.startswith(TEXTS) else 'with'} {many}"
    if texts is None or models > MOST_TRAININGS:
        return ToDecide(f"no practical number would decide: so near the threshold it would take {needed}")
    return ToDecide(f"{needed}, would decide", texts, models)


def _at_threshold(of: str) -> ToDecide:
    return ToDecide(f"no number of {of} would decide: the figure is at the threshold")


def _trainings_to_decide(figure: Estimate, threshold: float, trainings: int) -> int | None:
    """The fewest whose interval would not include the threshold, if value and spread stayed as they are; from a hundred
    on rounded up to two digits. None where even a million would not do."""
    distance = abs(figure.value - threshold)
    facing = figure.high - figure.value if figure.value < threshold else figure.value - figure.low
    if not distance > 0 or math.isnan(facing):
        return None
    widest = _width(trainings) * min(1.0, distance / facing if facing else 1.0) * (1 + 1e-9)
    numbers = range(trainings, MOST_TEXTS + 1)
    place = bisect_left(numbers, -widest, key=lambda count: -_width(count))
    if place == len(numbers):
        return None
    unit = int(10 ** max(0, len(str(numbers[place])) - 2))
    return math.ceil(numbers[place] / unit) * unit


def _width(trainings: int) -> float:
    """Of Student's interval for a mean over so many trainings, in standard deviations: its quantile shrinks, too."""
    return student_quantile(1 - TAIL, trainings - 1) / math.sqrt(trainings)


def by_enough_texts(figure: Estimate, threshold: float, fewest: int) -> ToDecide:
    """For a figure that stands on too few."""
    needed = max(fewest, texts_to_decide(figure, threshold) or fewest)
    return ToDecide(f"at least {needed:,} texts are needed", needed)


def without_interval(figure: Estimate, fewest: int) -> ToDecide:
    """`fewest` texts give such a figure an interval."""
    if figure.n < fewest:
        return ToDecide(f"at least {fewest} texts are needed", fewest)
    return ToDecide(f"{NO_NUMBER}, as there is no interval to narrow")


NOT_BY_SEARCH = ToDecide(f"{NO_NUMBER}, only a search that finds such weights")


def by_controls(blind: Sequence[Ruling]) -> ToDecide:
    """For tests that do not tell the controls of their audit apart: the one that needs the fewest texts counts."""
    needed = {ruling.criterion.short: count for ruling in blind if (count := _to_see(ruling)) is not None}
    if not needed:
        return ToDecide(f"{NO_NUMBER}: by none of these tests is the positive control better than all others")
    best = min(needed, key=lambda name: needed[name])
    return ToDecide(f"about {needed[best]:,} texts would tell them apart by {best}", needed[best])


def _to_see(ruling: Ruling) -> int | None:
    """Texts that would part the positive control from all others."""
    positive = ruling.controls[POSITIVE]
    others = [figure for name, figure in ruling.controls.items() if name != POSITIVE]
    lower = ruling.criterion.side == AT_MOST
    counts = [texts_to_separate(*((one, positive) if lower else (positive, one))) for one in others]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) else None
