"""What a verdict stands on, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attentest.studies.verdict.criterion import CALIBRATED, DEFINES, PEOPLE
from attentest.studies.verdict.deciding import by_controls

if TYPE_CHECKING:
    from attentest.studies.verdict.judge import Ruling

UNTESTED = "not tested"
NOT_FOUND = "other weights with the same predictions were not found"
AS_HIGH = "permuted weights get"
MOST_WRONG = 0.1  # of the answers that evidence may give to be told next to a verdict


def confidence(rulings: Sequence[Ruling], blind: Sequence[Ruling]) -> str:
    """The deciding figure against its threshold, how often that test is right, and what the other tests say; `blind`
    are those that would have decided if they had told the audit's controls apart."""
    deciding = next((ruling for ruling in rulings if ruling.decides), None)
    if deciding is None:
        return _undecided(rulings, blind)
    parts = [_figure(deciding), *_rates(deciding), *_others(rulings, deciding)]
    return " ".join(parts)


def _figure(ruling: Ruling) -> str:
    words = {"yes": "meets", "no": "fails", "unclear": "includes"}
    asked = f"({ruling.criterion.side} {ruling.threshold:g})"
    if ruling.why.startswith(NOT_FOUND):
        return f"{ruling.criterion.short} {ruling.figure} meets the threshold {asked}, but {ruling.why}."
    if ruling.why.startswith(AS_HIGH):
        return f"{ruling.criterion.short} {ruling.figure} {asked}, but {ruling.why}."
    line = f"{ruling.criterion.short} {ruling.figure} {words[ruling.answer]} the threshold {asked}"
    if ruling.to_decide is None:
        return f"{line}."
    return f"{line}; {ruling.to_decide.says if ruling.smallest else ruling.why}."


def _rates(ruling: Ruling) -> list[str]:
    if ruling.criterion.role == DEFINES:
        return []
    if ruling.rates is None:
        return ["Its error rate is not known."]
    return [f"On models of known truth with {ruling.rates.texts:,} texts: {ruling.rates.right}."]


def _others(rulings: Sequence[Ruling], deciding: Ruling) -> list[str]:
    """Which of the other tests say the contrary, of those that are seldom wrong when they say so."""
    contrary = {"yes": "no", "no": "yes"}.get(deciding.answer)
    shorts = [
        ruling.criterion.short
        for ruling in rulings
        if ruling.answer == contrary and ruling is not deciding and not _often_wrong(ruling)
    ]
    return [f"Evidence to the contrary: {', '.join(shorts)}."] if shorts else []


def _often_wrong(ruling: Ruling) -> bool:
    """Whether models of known truth often get this answer although it is wrong."""
    if ruling.rates is None:
        return ruling.criterion.role == CALIBRATED
    return (ruling.rates.miss if ruling.answer == "no" else ruling.rates.false_alarm) > MOST_WRONG


def _undecided(rulings: Sequence[Ruling], blind: Sequence[Ruling]) -> str:
    run = [ruling for ruling in rulings if ruling.answer != UNTESTED]
    if not run:  # that nobody was asked is no news
        return f"Not tested: {'; '.join(dict.fromkeys(r.why for r in rulings if r.criterion.kind != PEOPLE))}."
    shorts = ", ".join(ruling.criterion.short for ruling in blind or run)
    if blind:
        return f"Inconclusive: no test tells this audit's own controls apart ({shorts}); {by_controls(blind).says}."
    return f"Not tested: only evidence that does not decide ({shorts})."
