"""What a reader should know first: how good the model is, whether its attention may be shown, and what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attentest.measures.intervals import Estimate, share
from attentest.reports.contents import FirstScreen, Score
from attentest.reports.parts.formatting import number
from attentest.reports.summary_text import BASELINE, is_skewed, listed, majority, tested_texts
from attentest.studies.results import TRIAL, ModelResult
from attentest.studies.verdict import Ruling, Verdict
from attentest.studies.verdict.deciding import ToDecide
from attentest.studies.verdict.judge import NO, OF_USE, UNCLEAR, UNTESTED, YES, Summaries, near_uniform
from attentest.trials.base import Trial
from attentest.trials.erasure import COMPREHENSIVENESS, SUFFICIENCY, Erasure
from attentest.trials.exchange import Exchange
from attentest.trials.scores import ATTENTION
from attentest.trials.uniform import Uniform

MEASURES = {  # other explanations, as a reader would look for them
    "leave-one-out": "leave-one-out (the change when a token is removed)",
    "integrated-gradients": "integrated gradients",
    "gradient-input": "gradient × input",
    "gradient-input-fixed": "gradient × input",
    "gradient-norm": "the size of the gradient",
    "attention-times-gradient": "attention × gradient",
}
RANDOM = "random"  # order of tokens, the null of the trials erasure and exchange


class Compared(NamedTuple):
    """A figure that attention and other measures have alike, in words."""

    trial: type[Trial]
    key: str  # of the figure of attention
    more: bool  # is better
    tokens: str
    happens: str


_LOSES = "a decision of this model loses {} of its probability"
COMPARED = {  # by the test that decides
    "faithful.exchange": Compared(
        Exchange,
        "gained",
        True,
        "with its first tokens from another text",
        "that text's class gains {} in probability",
    ),
    "faithful.sufficiency": Compared(Erasure, SUFFICIENCY, False, "with its first tokens alone", _LOSES),
    "faithful.comprehensiveness": Compared(Erasure, COMPREHENSIVENESS, True, "without its first tokens", _LOSES),
}


def first_screen(about: ModelResult, summaries: Summaries, verdicts: Sequence[Verdict], weak: bool) -> FirstScreen:
    answer, says = _may_be_shown(verdicts, summaries, weak)
    return FirstScreen(
        scores=_scores(about, summaries),
        answer=answer,
        says=says,
        because=_figures(verdicts, summaries),
        advice=_advice(about, verdicts, summaries, weak),
    )


def _scores(about: ModelResult, summaries: Summaries) -> list[Score]:
    """The model's accuracy next to what needs no attention; which texts each stands on is told."""
    accuracy, most, texts = about.metrics.get("accuracy"), majority(about), tested_texts(about)
    examined = summaries.get((TRIAL, Uniform.name), {}).get("accuracy")
    found = []
    if accuracy is not None and texts:
        hits = np.arange(texts) < round(accuracy * texts)
        found.append(Score("this model", share(hits), f"accuracy on all {texts:,} test texts"))
    if about.baseline is not None and (reached := about.baseline.get("accuracy")) is not None:
        found.append(Score("without attention", _alone(reached, texts), f"{BASELINE}, the same texts"))
    if most is not None:
        found.append(Score("without reading", _alone(most, texts), "the most frequent class for every text"))
    auc = about.metrics.get("auc")
    if is_skewed(about) and auc is not None:
        found.append(Score("AUC", _alone(auc, texts), "one class is rare; 0.5 is chance, 1 perfect"))
    if examined is not None and found and examined.n != texts and not math.isnan(examined.value):
        found.append(Score("examined texts", examined, f"this model on the {examined.n:,} that the trials use"))
    return found


def _alone(value: float, texts: int) -> Estimate:
    return Estimate(value, math.nan, math.nan, texts)


def _may_be_shown(verdicts: Sequence[Verdict], summaries: Summaries, weak: bool) -> tuple[str, str]:
    """Whether attention may be shown as an explanation, and in which sense."""
    answers = {verdict.definition.name: verdict.answer for verdict in verdicts}
    faithful = answers.get("faithful", UNTESTED)
    if weak:
        return NO, "Not yet. The model has not learned its task well, so there is little to explain."
    if near_uniform(summaries) is not None:
        return NO, "No. The weights are nearly the same for all tokens: they point at nothing."
    if any(not verdict.of_consequence for verdict in verdicts):
        return NO, "No. The decisions hardly change without attention, and a model without it is as good."
    if faithful == YES:
        seed = " of this one training: with another seed the model attends to other tokens"
        return YES, f"Yes, as the tokens that a decision depends on{seed if answers.get('stable') == NO else ''}."
    if faithful == NO:
        people = " It points at tokens that people would name, which makes it look right."
        told = people if answers.get("plausible") == YES else ""
        return NO, f"No. The decisions do not depend on the tokens with the most weight.{told}"
    if faithful == UNCLEAR:
        return UNCLEAR, "Not on these figures: whether the decisions depend on the heaviest tokens is unclear."
    return UNTESTED, "Not known: whether the decisions depend on the heaviest tokens was not tested."


def _figures(verdicts: Sequence[Verdict], summaries: Summaries) -> list[str]:
    """What the answer stands on, in plain words: the figures of the tests that decide it."""
    idle = any(not verdict.of_consequence for verdict in verdicts)
    names = OF_USE if idle and near_uniform(summaries) is None else ("faithful",)
    asked = [verdict for verdict in verdicts if verdict.definition.name in names]
    return [_in_words(v.deciding) if v.deciding else v.confidence for v in asked]


def _in_words(ruling: Ruling) -> str:
    own = ruling.alone
    mean = "" if own is None else f" (mean over the trainings of this audit; this model: {number(own.value)})"
    says = ruling.criterion.says[:1].upper() + ruling.criterion.says[1:]
    references = {"attention that tells nothing": ruling.null, "other measures among themselves": ruling.ceiling}
    got = {name: figure for name, figure in references.items() if figure and figure.n}  # `says` tells fixed ones
    got |= {f"the {name} control of this audit": figure for name, figure in ruling.controls.items()}
    told = [f"{name} {number(figure.value)}" for name, figure in got.items() if not math.isnan(figure.value)]
    line = f"{says}: {ruling.figure}{mean}; a yes needs {ruling.criterion.side} {ruling.threshold:g}."
    return f"{line} To compare: {listed(told, 'and')}." if told else line


def _advice(about: ModelResult, verdicts: Sequence[Verdict], summaries: Summaries, weak: bool) -> list[str]:
    answers = {verdict.definition.name: verdict.answer for verdict in verdicts}
    given = []
    if weak:
        given.append("Train longer, on more texts or with better word vectors, then audit again.")
    idle = any(not verdict.of_consequence for verdict in verdicts)
    if not weak and (answers.get("faithful") == NO or idle or near_uniform(summaries) is not None):
        given.append(_instead(verdicts, summaries))
    elif answers.get("faithful") == YES:
        given.append("Show the weights with their numbers, and say that they are attention weights.")
        if answers.get("stable") == NO:
            given.append("Do not read them as facts about the texts: train several models and show where they agree.")
    return [*given, *_more_texts(verdicts, tested_texts(about)), *_more_trainings(verdicts), *_no_number(verdicts)]


def _instead(verdicts: Sequence[Verdict], summaries: Summaries) -> str:
    """The measure that finds the tokens that decisions depend on, if clearly better than attention by the same figure;
    this is the one that decides, where other measures have it."""
    decided = {verdict.deciding.criterion.name for verdict in verdicts if verdict.deciding}
    by = next((figure for name, figure in COMPARED.items() if name in decided), COMPARED["faithful.comprehensiveness"])
    prefix = by.trial.keys[by.key].removesuffix(ATTENTION)
    found = summaries.get((TRIAL, by.trial.name), {})
    reached = {key.removeprefix(prefix): figure for key, figure in found.items() if key.startswith(prefix)}
    own = reached.get(ATTENTION)
    others = {
        name: figure
        for name, figure in reached.items()
        if name not in (ATTENTION, RANDOM) and ", " not in name and not math.isnan(figure.value)
    }
    if own is None or not others:
        return (
            f"Do not show it as the reason. The trial {by.trial.name} tells which other measure finds the tokens that "
            "matter."
        )
    name, best = max(others.items(), key=lambda pair: pair[1].value if by.more else -pair[1].value)
    clearly = best.low > own.high if by.more else best.high < own.low
    if not clearly:
        return "Do not show it as the reason. No other measure examined here finds tokens that matter clearly more."
    theirs = by.tokens.replace("its", "attention's")
    return (
        f"Show {MEASURES.get(name, name)} instead: {by.tokens} {by.happens.format(number(best.value))}, {theirs} "
        f"{number(own.value)}."
    )


def _more_texts(verdicts: Sequence[Verdict], texts: int) -> list[str]:
    """How many texts would decide what is unclear."""
    wanted = {name: more.texts for name, more in _unclear(verdicts).items() if more.texts and not more.trainings}
    if not wanted:
        return []
    room = f"; the test split has {texts:,}" if texts and max(wanted.values()) > texts else ""
    return [f"To decide what is unclear, examine more texts: about {_counts(wanted)}{room}."]


def _more_trainings(verdicts: Sequence[Verdict]) -> list[str]:
    """The same of trainings, where both count."""
    wanted = [
        f"about {more.trainings:,} trainings on {more.texts:,} texts for {name}"
        for name, more in _unclear(verdicts).items()
        if more.texts and more.trainings
    ]
    if not wanted:
        return []
    return [
        "To decide what is unclear, train with more seeds (a larger budget) and examine more texts: "
        f"{listed(wanted, 'and')}."
    ]


def _no_number(verdicts: Sequence[Verdict]) -> list[str]:
    """Why neither would decide the rest."""
    return [f"{name[0].upper()}{name[1:]}: {more.says}." for name, more in _unclear(verdicts).items() if not more.texts]


def _unclear(verdicts: Sequence[Verdict]) -> dict[str, ToDecide]:
    return {v.definition.name: v.to_decide for v in verdicts if v.to_decide is not None}


def _counts(wanted: Mapping[str, int]) -> str:
    return listed([f"{count:,} for {name}" for name, count in wanted.items()], "and")
