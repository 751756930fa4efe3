"""T1 of translation, at inference: is attention needed at all?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from attentest.layer_interventions import DROPPED, PERMUTED, RANDOM, UNIFORM
from attentest.measures.intervals import Estimate, mean
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, column
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import bars, box, boxes, interval
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.changed import Changed
from attentest.trials.of_translation.forced import forced_changes
from attentest.trials.of_translation.free import (
    BLEU,
    COUNTS,
    DIFFERENCE,
    about_intervals,
    bleu_figures,
    counts_of,
    named_figures,
    spelled,
)
from attentest.trials.of_translation.subject import TranslationSubject

VARIANTS = (UNIFORM, RANDOM, PERMUTED, DROPPED)
MOVED, STEPS, SCORE = "mean TVD", "steps changed", "change of log-probability"  # of the summary, for each variant


@dataclass(frozen=True)
class TranslationUniform(TranslationTrial):
    """BLEU in free decoding, and each step's distribution at a forced prefix, when the weights on the source are
    replaced at every step: uniform, U(0, 1) normalised, permuted, and without the largest."""

    name: ClassVar[str] = "translation-uniform"
    number: ClassVar[str] = "T1"
    keys: ClassVar[Mapping[str, str]] = {
        "steps": f"{STEPS}, {UNIFORM}",
        "change": f"{DIFFERENCE}, {UNIFORM}",
    }
    question: ClassVar[str] = "Does the model need its weights on the source, or do other weights translate as well?"
    source: ClassVar[str] = "Vashishth et al. 2019 §4.1, Table 3 (inference only)"
    how_to_read: ClassVar[str] = (
        "A large loss of BLEU means that the translation depends on the weights. Free decoding adds up the errors of "
        "all steps; the figures at a forced prefix show how far a step is changed while the tokens before it stay "
        "right. A loss does not show that the heaviest source token is the reason for a word: the model was not "
        "trained with such weights, and they disturb every step."
    )
    cost: ClassVar[float] = 10
    headline: ClassVar[str] = f"{DIFFERENCE}, {UNIFORM}"

    seed: int = setting(
        0, "Random seed for the random weights, the permutations and the resampling.", least=0, most=LARGEST_SEED
    )

    def __post_init__(self) -> None:
        check_values(self)

    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        total = (len(VARIANTS) + 2) * len(subject)
        changes = {kind: Changed(kind, subject.model.source_sites) for kind in VARIANTS}
        own = spelled(subject, subject.own_translations)
        watch(len(subject), total)
        found: dict[str, Any] = {
            "source": subject.source_texts,
            "reference": subject.references,
            "translation": own,
            COUNTS: counts_of(subject, own),
        }
        for part, (kind, change) in enumerate(changes.items(), 2):
            translations = spelled(subject, subject.translated(change.steps_of(subject, self.seed)))
            found |= {f"translation, {kind}": translations, f"{COUNTS}, {kind}": counts_of(subject, translations)}
            watch(part * len(subject), total)
        done = total - len(subject)
        forced = forced_changes(subject, list(changes.values()), self.seed, lambda more: watch(done + more, total))
        for kind, change in changes.items():
            of_kind = forced[change]
            measured = {MOVED: of_kind.tvd, STEPS: of_kind.changed, SCORE: of_kind.score}
            found |= {f"{measure}, {kind}": values for measure, values in measured.items()}
        return found

    def conclude(self, table: pa.Table) -> Conclusion:
        names = {kind: kind for kind in VARIANTS}
        summary = named_figures(bleu_figures(table, VARIANTS, self.seed), names)
        for kind in VARIANTS:
            summary[f"{MOVED}, {kind}"] = mean(column(table, f"{MOVED}, {kind}"), (0, 1))
            summary[f"{STEPS}, {kind}"] = mean(column(table, f"{STEPS}, {kind}"), (0, 1))
            summary[f"{SCORE}, {kind}"] = mean(column(table, f"{SCORE}, {kind}"))
        losses = ", ".join(f"{summary[f'{DIFFERENCE}, {kind}'].value:+.1f} {kind}" for kind in VARIANTS)
        lower = "lower" if summary[self.headline].high < 0 else "do not clearly lower"
        answer = (
            f"Uniform weights on the source {lower} the BLEU of {summary[BLEU]}. Change of BLEU by weights: {losses}. "
            f"At a forced prefix, uniform weights change the likeliest token in a share of "
            f"{summary[f'{STEPS}, {UNIFORM}']} of the steps."
        )
        return Conclusion(answer, summary, about_intervals(summary[BLEU].n))

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        for kind in (UNIFORM, RANDOM, PERMUTED):
            yield cell(f"{kind}, inferred", "delta bleu", summary[f"{DIFFERENCE}, {kind}"])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        named = {"the model's own": BLEU} | {kind: f"{BLEU}, {kind}" for kind in VARIANTS}
        scores = bars(
            [row for group, key in named.items() for row in interval(group, summary[key])],
            "BLEU (0–100)",
            "BLEU with the model's own weights on the source and with other weights at inference, with 95 % intervals.",
            "weights on the source",
            domain=None,
        )
        moved = boxes(
            [row for kind in VARIANTS for row in box(kind, column(table, f"{MOVED}, {kind}"))],
            "mean TVD of a pair's steps (0–1)",
            "Box plots of how far the distributions of a pair's steps change at a forced prefix; whiskers reach 1.5 "
            "interquartile ranges.",
            (0, 1),
            "weights",
        )
        return {"BLEU by weights on the source": scores, "change of steps at a forced prefix": moved}
