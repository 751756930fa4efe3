"""From findings to verdicts: yes, no, unclear or not tested, under each definition."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from attentest.errors import InputError, unknown_name
from attentest.measures.intervals import Estimate, smallest_visible
from attentest.measures.jackknife import FEWEST as FEWEST_FOR_INFORMATION
from attentest.measures.resampling import FEWEST as FEWEST_FOR_BLEU
from attentest.studies.experiments.controls import POSITIVE, Controls
from attentest.studies.experiments.seeds import Seeds
from attentest.studies.verdict.calibration import Calibration, Rates, calibration
from attentest.studies.verdict.criterion import (
    AT_LEAST,
    AT_MOST,
    CALIBRATED,
    DEFINES,
    MORE_THAN,
    PEOPLE,
    Criterion,
    Definition,
    Figures,
)
from attentest.studies.verdict.deciding import (
    NOT_BY_SEARCH,
    ToDecide,
    by_controls,
    by_enough_texts,
    by_more_texts,
    by_more_trainings,
    without_interval,
)
from attentest.studies.verdict.definitions import CRITERIA, DEFINITIONS
from attentest.studies.verdict.of_translation import (
    CRITERIA_OF_TRANSLATION,
    DEFINITIONS_OF_TRANSLATION,
    NOT_APPLICABLE,
)
from attentest.studies.verdict.wording import AS_HIGH, NOT_FOUND, confidence
from attentest.trials.information import Information
from attentest.trials.uniform import Uniform

YES, NO, UNCLEAR, UNTESTED = "yes", "no", "unclear", "not tested"
DOES_NOT_APPLY = "does not apply"
FEWEST = 20  # texts that a figure must stand on
NEAR_UNIFORM = 0.95  # normalised entropy; weights drawn at random have .94 to .96 for 20 to 200 tokens
OF_USE = ("used", "needed")  # where both are denied, the others are of little consequence
SEEDS = (Seeds.kind, Seeds.name)
INCLUDES = "the 95 % interval includes the threshold"
EARLIER = "made by an earlier version; run the audit again"
EVERY_CRITERION = {**CRITERIA, **CRITERIA_OF_TRANSLATION}
# texts that a figure of its own kind needs for an interval
_FEWEST = {c.name: FEWEST_FOR_INFORMATION for c in CRITERIA.values() if c.asks is Information}
_FEWEST |= dict.fromkeys(("used.bleu", "needed.fixed"), FEWEST_FOR_BLEU)
Broken = Collection[tuple[str, str]]  # trial or experiment, and its name
Impossible = Mapping[tuple[str, str], str]  # trial or experiment that cannot be run -> why
Found = TypeVar("Found")
Summaries = Mapping[tuple[str, str], Mapping[str, Estimate]]  # (trial or experiment, name) -> its summary


@dataclass(frozen=True)
class Ruling:
    """What one criterion says: its figure against the threshold, between its references and next to the controls."""

    criterion: Criterion
    threshold: float
    source: str
    figure: Estimate | None
    answer: str
    why: str
    decides: bool = False
    null: Estimate | None = None
    ceiling: Estimate | None = None
    controls: Mapping[str, Estimate] = field(default_factory=dict)
    alone: Estimate | None = None  # this model's figure, where `figure` is a mean over trainings
    rates: Rates | None = None  # on models of known truth
    to_decide: ToDecide | None = None  # where it is unclear
    blind: bool = False  # to the controls of this audit, where nothing else decides
    smallest: float | None = None  # effect that could have been seen

    @property
    def position(self) -> float | None:
        """Of the figure, from 0 (its null) to 1 (its ceiling)."""
        if self.figure is None or self.null is None or self.ceiling is None:
            return None
        found = (self.figure.value - self.null.value) / ((self.ceiling.value - self.null.value) or math.nan)
        return found if math.isfinite(found) else None

    def as_dict(self) -> dict[str, Any]:
        named = {
            name: getattr(self.criterion, name)
            for name in ("name", "number", "kind", "trial", "says", "level", "role", "side")
        }
        return named | {
            "threshold": self.threshold,
            "source": self.source,
            "figure": _plain(self.figure),
            "null": _plain(self.null),
            "ceiling": _plain(self.ceiling),
            "position": self.position,
            "controls": {name: _plain(figure) for name, figure in self.controls.items()},
            "answer": self.answer,
            "why": self.why,
            "decides": self.decides,
            "rates": None if self.rates is None else vars(self.rates),
            "texts_needed": None if self.to_decide is None else self.to_decide.texts,
            "trainings_needed": None if self.to_decide is None else self.to_decide.trainings,
            "smallest_visible": self.smallest,
        }


@dataclass(frozen=True)
class Verdict:
    definition: Definition
    answer: str
    rulings: Sequence[Ruling]
    confidence: str
    of_consequence: bool = True  # false where attention is neither used nor needed

    @property
    def deciding(self) -> Ruling | None:
        return next((ruling for ruling in self.rulings if ruling.decides), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            "definition": self.definition.name,
            "means": self.definition.means,
            "answer": self.answer,
            "confidence": self.confidence,
            "to_decide": None if self.to_decide is None else self.to_decide.as_dict(),
            "of_consequence": self.of_consequence,
            "caveat": self.definition.caveat,
            "paper": self.definition.paper,
            "rulings": [ruling.as_dict() for ruling in self.rulings],
        }

    @property
    def to_decide(self) -> ToDecide | None:
        """What would, where this is unclear."""
        if self.answer != UNCLEAR:
            return None
        blind = [ruling for ruling in self.rulings if ruling.blind]
        return by_controls(blind) if self.deciding is None else self.deciding.to_decide


def _plain(figure: Estimate | None) -> dict[str, Any] | None:
    return None if figure is None else figure.as_dict()


@dataclass(frozen=True)
class _Evidence:
    """All that a criterion is judged by."""

    summaries: Summaries
    controls: Mapping[str, Summaries]
    thresholds: Mapping[str, float]
    given: Collection[str]  # thresholds that the user set
    reasons: Impossible
    calibration: Calibration


def judge(
    summaries: Summaries,
    thresholds: Mapping[str, float] | None = None,
    broken: Broken = frozenset(),
    impossible: Impossible | None = None,
    controls: Mapping[str, Summaries] | None = None,
    rates: Calibration | None = None,
) -> list[Verdict]:
    """A verdict under each definition, with thresholds other than the usual ones where given.

    `broken` are trials and experiments that failed, `impossible` those that could not be run; `controls` are the
    summaries of models of known truth that were trained next to this one.
    """
    evidence = _evidence(summaries, thresholds, broken, impossible, controls, rates)
    flat = near_uniform(summaries)
    found = [_verdict(definition, evidence, flat) for definition in DEFINITIONS.values()]
    answers = {verdict.definition.name: verdict.answer for verdict in found}
    idle = all(answers[name] == NO for name in OF_USE)
    return [replace(v, of_consequence=not idle or v.definition.name in OF_USE) for v in found]


def judge_translation(
    summaries: Summaries, thresholds: Mapping[str, float] | None = None, broken: Broken = frozenset()
) -> list[Verdict]:
    """The same of a model that translates: a verdict where a definition applies, and why it does not elsewhere."""
    evidence = _evidence(summaries, thresholds, broken)
    return [
        Verdict(definition, DOES_NOT_APPLY, (), f"Does not apply to translation: {NOT_APPLICABLE[name]}.")
        if name in NOT_APPLICABLE
        else _verdict(DEFINITIONS_OF_TRANSLATION[name], evidence, None)
        for name, definition in DEFINITIONS.items()
    ]


def _evidence(
    summaries: Summaries,
    thresholds: Mapping[str, float] | None,
    broken: Broken,
    impossible: Impossible | None = None,
    controls: Mapping[str, Summaries] | None = None,
    rates: Calibration | None = None,
) -> _Evidence:
    known = calibration() if rates is None else rates
    reasons = {place: f"the {' '.join(place)} failed" for place in broken} | dict(impossible or {})
    chosen = check_thresholds(thresholds or {}, known)
    return _Evidence(summaries, controls or {}, chosen, frozenset(thresholds or {}), reasons, known)


def check_thresholds(given: Mapping[str, Any], rates: Calibration | None = None) -> dict[str, float]:
    for name, value in given.items():
        if name not in EVERY_CRITERION:
            raise unknown_name("threshold", name, EVERY_CRITERION)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) <= sys.float_info.max:  # neither NaN nor a whole number that no float holds
            raise InputError(f"The threshold {name} is {value!r}; expected a number.")
    usual = {name: criterion.threshold for name, criterion in EVERY_CRITERION.items()}
    measured = (calibration() if rates is None else rates).thresholds()
    chosen = {**usual, **{name: value for name, value in measured.items() if name in usual}, **given}
    return {name: float(value) for name, value in chosen.items()}


def near_uniform(summaries: Summaries) -> Estimate | None:
    """The entropy of the weights, where it is so high that they single out nothing."""
    entropy = summaries.get((Uniform.kind, Uniform.name), {}).get(Uniform.keys["entropy"])
    return entropy if entropy is not None and entropy.low > NEAR_UNIFORM else None


def _verdict(definition: Definition, evidence: _Evidence, flat: Estimate | None) -> Verdict:
    rulings = [_rule(criterion, evidence) for criterion in definition.criteria]
    if flat is not None and definition.name not in OF_USE:
        why = f"the weights are near uniform (normalised entropy {flat.value:.2f}): they single out no tokens"
        rulings = [replace(ruling, answer=UNTESTED, why=why) for ruling in rulings]
        return Verdict(definition, UNTESTED, rulings, f"Not tested: {why}.")
    place = _deciding(rulings, evidence)
    rulings = [replace(ruling, decides=n == place) for n, ruling in enumerate(rulings)]
    answer = UNTESTED if place is None else rulings[place].answer
    blind = [] if place is not None else [r for r in _able(rulings, evidence) if _blind(r)]
    rulings = [replace(ruling, blind=any(ruling is one for one in blind)) for ruling in rulings]
    if blind:
        answer = UNCLEAR
    return Verdict(definition, answer, rulings, confidence(rulings, blind) + _unchecked(rulings, evidence))


def _unchecked(rulings: Sequence[Ruling], evidence: _Evidence) -> str:
    """What to say of a test that decides although this audit's controls could not check it."""
    checked = [ruling for ruling in rulings if ruling.decides and ruling.criterion.role == CALIBRATED]
    if (
        (Controls.kind, Controls.name) not in evidence.summaries
        or not checked
        or checked[0].criterion.kind != Uniform.kind
    ):
        return ""
    able = POSITIVE in checked[0].controls and len(checked[0].controls) > 1
    return "" if able else " The controls of this audit failed, so this test was not checked on these texts."


def _deciding(rulings: Sequence[Ruling], evidence: _Evidence) -> int | None:
    """The test that decides: the one that defines, or the best calibrated that tells this audit's controls apart."""
    defining = [ruling for ruling in rulings if ruling.criterion.role == DEFINES and ruling.answer != UNTESTED]
    seeing = [ruling for ruling in _able(rulings, evidence) if not _blind(ruling)]
    return next((rulings.index(ruling) for ruling in (*defining, *seeing)), None)


def _able(rulings: Sequence[Ruling], evidence: _Evidence) -> list[Ruling]:
    """Those that were run and that the calibration lets decide, the best first."""
    run = {r.criterion.name: r for r in rulings if r.criterion.role == CALIBRATED and r.answer != UNTESTED}
    return [run[name] for name in evidence.calibration.ranked(list(run))]


def _blind(ruling: Ruling) -> bool:
    """Whether this test does not tell the audit's own controls apart, where there are some."""
    positive = ruling.controls.get(POSITIVE)
    others = [figure for name, figure in ruling.controls.items() if name != POSITIVE]
    if positive is None or not others:
        return False
    if any(math.isnan(figure.low + figure.high) for figure in (positive, *others)):
        return True
    if ruling.criterion.side == AT_MOST:
        return not positive.high < min(figure.low for figure in others)
    return not positive.low > max(figure.high for figure in others)


def _rule(criterion: Criterion, evidence: _Evidence) -> Ruling:
    threshold = evidence.thresholds[criterion.name]
    measured = evidence.calibration.tests.get(criterion.name)
    source = criterion.source if measured is None else "calibrated on models of known truth"
    if criterion.name in evidence.given:  # the rates are those of the calibrated threshold
        source, measured = "set by you", None
    figure = figure_of(criterion, evidence.summaries)
    others = {name: figure_of(criterion, summaries) for name, summaries in evidence.controls.items()}
    ruling = Ruling(
        criterion,
        threshold,
        source,
        figure,
        UNTESTED,
        "",
        null=_find(criterion.null, evidence.summaries),
        ceiling=_find(criterion.ceiling, evidence.summaries),
        controls={name: found for name, found in others.items() if found is not None and not math.isnan(found.value)},
        alone=_alone(criterion, figure, evidence.summaries),
        rates=measured.at(figure.n) if measured is not None and figure is not None else None,
    )
    if figure is None:
        return replace(ruling, why=_why_untested(criterion, evidence))
    if math.isnan(figure.value):
        return replace(ruling, figure=None, why="the figure is not defined for these texts")
    above = _find(criterion.above_null, evidence.summaries)
    if criterion.above_null is not None and (above is None or math.isnan(above.value)):
        return replace(ruling, why="there are no answers about permuted weights to compare with")
    if math.isnan(figure.low) or math.isnan(figure.high):
        fewest = _FEWEST.get(criterion.name, FEWEST)
        return _unclear(ruling, "the figure has no interval", without_interval(figure, fewest))
    answer = answer_of(criterion.side, threshold, figure)
    if figure.n < FEWEST:
        more = by_enough_texts(figure, threshold, FEWEST) if answer == UNCLEAR else without_interval(figure, FEWEST)
        return _unclear(ruling, f"{figure.n:,} texts are too few", more)
    ruling = replace(ruling, smallest=smallest_visible(figure))
    if above is not None and answer != NO and (above.n < FEWEST or answer_of(MORE_THAN, 0, above) != YES):
        return _not_above_null(ruling, above)
    if answer == UNCLEAR:
        trained = _find(criterion.trained, evidence.summaries)
        over_both = None if trained is None else by_more_trainings(figure, threshold, int(trained.value))
        return _unclear(ruling, INCLUDES, over_both or by_more_texts(figure, threshold))
    if criterion.searched is not None and answer == YES:  # a search that finds nothing proves nothing
        how = _find(criterion.searched, evidence.summaries)
        return _unclear(ruling, f"{NOT_FOUND}{how}, which is no proof", NOT_BY_SEARCH)
    return replace(
        ruling, answer=answer, why=f"the whole interval {'meets' if answer == YES else 'fails'} the threshold"
    )


def _not_above_null(ruling: Ruling, above: Estimate) -> Ruling:
    """A figure that is as high for its null says nothing about the weights, however high it is."""
    why = f"{AS_HIGH} {ruling.null}, a difference of {above}"
    if above.n < FEWEST or math.isnan(above.low + above.high):
        return _unclear(ruling, f"{why} over {above.n:,} texts", by_enough_texts(above, 0, FEWEST))
    if answer_of(MORE_THAN, 0, above) == NO:
        return replace(ruling, answer=NO, why=f"{why}, which is not above 0")
    return _unclear(ruling, f"{why}, whose 95 % interval includes 0", by_more_texts(above, 0))


def _unclear(ruling: Ruling, why: str, to_decide: ToDecide) -> Ruling:
    return replace(ruling, answer=UNCLEAR, why=f"{why}; {to_decide.says}", to_decide=to_decide)


def figure_of(criterion: Criterion, summaries: Summaries) -> Estimate | None:
    return _find(criterion.figure, summaries)


def _alone(criterion: Criterion, figure: Estimate | None, summaries: Summaries) -> Estimate | None:
    """This model's own figure, where the one that is judged is a mean over trainings."""
    own = figure_of(criterion, {place: found for place, found in summaries.items() if place != SEEDS})
    return None if own == figure or own is None or math.isnan(own.value) else own


def _find(figure: Callable[[Figures], Found] | None, summaries: Summaries) -> Found | None:
    if figure is None:
        return None
    return figure(lambda kind, name, entry: summaries.get((kind, name), {}).get(entry))


def answer_of(side: str, threshold: float, figure: Estimate) -> str:
    passed = {
        AT_LEAST: (figure.low >= threshold, figure.high < threshold),
        MORE_THAN: (figure.low > threshold, figure.high <= threshold),
        AT_MOST: (figure.high <= threshold, figure.low > threshold),
    }
    holds, fails = passed[side]
    return YES if holds else NO if fails else UNCLEAR


def _why_untested(criterion: Criterion, evidence: _Evidence) -> str:
    for asked in (criterion.against, criterion.asks) if criterion.against else (criterion.asks,):
        place = (asked.kind, asked.name)
        if asked.kind != PEOPLE and place not in evidence.summaries:
            return evidence.reasons.get(place, f"the {asked.kind} {asked.name} was not run")
    unmade = criterion.always is not None and _find(criterion.always, evidence.summaries) is None
    return criterion.absent if criterion.absent and not unmade else EARLIER


FAILURES = {
    f"{word}-{name}": (name, answer)
    for name in DEFINITIONS
    for word, answer in (("not", NO), ("unclear", UNCLEAR), ("untested", UNTESTED))
}


def check_failures(given: Iterable[str]) -> list[str]:
    """Names such as not-faithful, which a verdict may be asked to fail on."""
    names = list(given)
    for name in names:
        if name not in FAILURES:
            raise unknown_name("verdict to fail on", name, FAILURES)
    return names


def failed(verdicts: Sequence[Verdict], on: Iterable[str]) -> list[str]:
    """Those of the names in `on` that came true; none of a model that has no verdicts, as its training failed."""
    answers = {verdict.definition.name: verdict.answer for verdict in verdicts}
    return [name for name in on if answers.get(FAILURES[name][0]) == FAILURES[name][1]]
