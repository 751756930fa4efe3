"""What a reader should know first: how good the model is, whether its attention may be shown, and what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from attentest.measures.intervals import Estimate, share
from attentest.reports.contents import FirstScreen, Score
from attentest.reports.parts.formatting import number
from attentest.reports.summary_text import BASELINE, is_skewed, listed, majority, tested_texts
from attentest.studies.results import TRIAL, ModelResult
from attentest.studies.verdict import Verdict
from attentest.studies.verdict.judge import NO, UNCLEAR, UNTESTED, YES, Summaries, near_uniform
from attentest.trials.erasure import Erasure
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
RANDOM = "random"  # order of tokens, the null of the trial erasure


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
    """What the answer stands on, in plain words."""
    erased = summaries.get((TRIAL, Erasure.name), {})
    own, null, ceiling = (erased.get(Erasure.keys[f"comprehensiveness{part}"]) for part in ("", " null", " ceiling"))
    if own is None or null is None or math.isnan(own.value):
        return [verdict.confidence for verdict in verdicts if verdict.definition.name == "faithful"]
    best = (
        "" if ceiling is None else f", and without the most important ones (by leave-one-out) {number(ceiling.value)}"
    )
    return [
        f"Without the tokens that attention ranks first, a decision loses {number(own.value)} of its probability; "
        f"without random tokens it loses {number(null.value)}{best}."
    ]


def _advice(about: ModelResult, verdicts: Sequence[Verdict], summaries: Summaries, weak: bool) -> list[str]:
    answers = {verdict.definition.name: verdict.answer for verdict in verdicts}
    given = []
    if weak:
        given.append("Train longer, on more texts or with better word vectors, then audit again.")
    idle = any(not verdict.of_consequence for verdict in verdicts)
    if not weak and (answers.get("faithful") == NO or idle or near_uniform(summaries) is not None):
        given.append(_instead(summaries.get((TRIAL, Erasure.name), {})))
    elif answers.get("faithful") == YES:
        given.append("Show the weights with their numbers, and say that they are attention weights.")
        if answers.get("stable") == NO:
            given.append("Do not read them as facts about the texts: train several models and show where they agree.")
    return [*given, *_more_texts(verdicts, tested_texts(about))]


def _instead(erased: Mapping[str, Estimate]) -> str:
    """The measure whose tokens decisions depend on most, if that is clearly more than attention's."""
    prefix = Erasure.keys["comprehensiveness"].removesuffix(ATTENTION)
    reached = {key.removeprefix(prefix): figure for key, figure in erased.items() if key.startswith(prefix)}
    own = reached.get(ATTENTION)
    others = {
        name: figure
        for name, figure in reached.items()
        if name not in (ATTENTION, RANDOM) and ", " not in name and not math.isnan(figure.value)
    }
    if own is None or not others:
        return "Do not show it as the reason. The trial erasure tells which other measure finds the tokens that matter."
    name, best = max(others.items(), key=lambda pair: pair[1].value)
    if not best.low > own.high:
        return "Do not show it as the reason. No other measure examined here finds tokens that matter clearly more."
    return (
        f"Show {MEASURES.get(name, name)} instead: without its first tokens a decision loses {number(best.value)} of "
        f"its probability, without attention's {number(own.value)}."
    )


def _more_texts(verdicts: Sequence[Verdict], texts: int) -> list[str]:
    """How many texts would decide what is unclear."""
    deciding = {verdict.definition.name: verdict.deciding for verdict in verdicts if verdict.answer == UNCLEAR}
    wanted = {name: ruling.texts_needed for name, ruling in deciding.items() if ruling and ruling.texts_needed}
    if not wanted:
        return []
    counts = listed([f"{count:,} for {name}" for name, count in wanted.items()], "and")
    room = f"; the test split has {texts:,}" if texts and max(wanted.values()) > texts else ""
    return [f"To decide what is unclear, examine more texts (--texts): about {counts}{room}."]
