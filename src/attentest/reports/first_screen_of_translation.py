"""What a reader should know first about a model that translates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attentest.measures.intervals import Estimate
from attentest.reports.contents import FirstScreen, Score
from attentest.studies.results import TRIAL, ModelResult
from attentest.studies.verdict import Verdict
from attentest.studies.verdict.judge import NO, UNTESTED, YES, Summaries
from attentest.trials.of_translation.free import BLEU
from attentest.trials.of_translation.uniform import TranslationUniform

NAMES = {"bleu": "BLEU", "chrf": "chrF"}


def first_screen_of_translation(
    about: ModelResult, summaries: Summaries, verdicts: Sequence[Verdict], weak: bool
) -> FirstScreen:
    answers = {verdict.definition.name: verdict.answer for verdict in verdicts}
    used = next(verdict for verdict in verdicts if verdict.definition.name == "used")
    deciding = used.deciding
    because = [used.confidence]
    if deciding is not None and deciding.figure is not None:
        says = deciding.criterion.says[:1].upper() + deciding.criterion.says[1:]
        because = [f"{says}: {deciding.figure}; a yes needs {deciding.criterion.side} {deciding.threshold:g}."]
    if weak:
        answer, says = NO, "Not yet. The model has not learned to translate, so there is little to explain."
        advice = ["Train longer, or on more pairs, then audit again."]
    else:
        (answer, says), advice = _may_be_shown(answers["used"]), _advice(answers)
    return FirstScreen(_scores(about, summaries), answer, says, because, advice)


def _may_be_shown(used: str) -> tuple[str, str]:
    if used == NO:
        return NO, "No. The steps of a translation hardly change without the weights."
    if used == YES:
        return UNTESTED, (
            "Not known. The translations depend on the weights, but no test tells whether a word is translated because "
            "of the source words that its weights are on."
        )
    return UNTESTED, "Not known: whether the translations depend on the weights is not decided."


def _advice(answers: dict[str, str]) -> list[str]:
    if answers["used"] != YES:
        return ["Do not show the weights as the reason for a word."]
    return [
        "Show the weights as what the model read at each step, with their numbers, and not as a word alignment.",
        "To see how far they agree with word links, run the trial alignment with links of your own.",
    ]


def _scores(about: ModelResult, summaries: Summaries) -> list[Score]:
    texts = f"of greedy translations of all {about.texts:,} test pairs"
    found = [
        Score(NAMES[name], Estimate(value, math.nan, math.nan, about.texts), f"{texts}, by sacrebleu")
        for name, value in about.metrics.items()
        if value is not None and name in NAMES
    ]
    examined = summaries.get((TRIAL, TranslationUniform.name), {}).get(BLEU)
    if examined is not None:
        found.append(Score("examined pairs", examined, f"BLEU of the {examined.n:,} that the trials use"))
    return found
