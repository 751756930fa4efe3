"""What would decide an answer that is unclear: so many texts, so many trainings, or nothing of the kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attentest.measures.intervals import Estimate, texts_to_decide, texts_to_separate
from attentest.studies.experiments.controls import POSITIVE
from attentest.studies.verdict.criterion import AT_MOST

if TYPE_CHECKING:
    from attentest.studies.verdict.judge import Ruling

MOST_TRAININGS = 200  # that are worth advising
NO_NUMBER = "no number of texts would decide"
AT_THRESHOLD = f"{NO_NUMBER}: the figure is at the threshold"


@dataclass(frozen=True)
class ToDecide:
    """About how many texts, and on how many trainings if the interval is over both; None where no number would do."""

    says: str
    texts: int | None = None
    trainings: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"texts": self.texts, "trainings": self.trainings, "says": self.says}


def by_more_texts(figure: Estimate, threshold: float) -> ToDecide:
    """For an interval over texts that includes the threshold."""
    needed = texts_to_decide(figure, threshold)
    if needed is not None:
        return ToDecide(f"about {needed:,} texts would decide", needed)
    if figure.value == threshold:
        return ToDecide(AT_THRESHOLD)
    return ToDecide("more than a million texts would be needed to decide: the figure is nearly at the threshold")


def by_more_trainings(figure: Estimate, threshold: float, trainings: int) -> ToDecide:
    """For an interval over trainings and texts. Squares of half-widths add up, one over trainings and one over texts;
    with k times as many of both, both squares are k times smaller."""
    texts = texts_to_decide(figure, threshold)
    models = texts_to_decide(replace(figure, n=trainings), threshold)
    if models is None:
        return ToDecide(AT_THRESHOLD)
    tested = "more than a million texts" if texts is None else f"about {texts:,} texts"
    needed = f"about {models:,} trainings, each tested on {tested}"
    if texts is None or models > MOST_TRAININGS:
        return ToDecide(f"no practical number would decide: so near the threshold it would take {needed}")
    return ToDecide(f"{needed}, would decide", texts, models)


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
