"""T9 of translation: does removing the most attended source token matter more than removing a random one?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.layer_interventions import Allowed, Rows
from attentest.measures.divergences import jsd
from attentest.measures.intervals import Estimate
from attentest.models.protocol import Change
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.translation.interventions import Steps
from attentest.trials.base import NOTHING_TO_MOVE, Chart, Columns, Conclusion
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import scatter
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.forced import likeliest
from attentest.trials.of_translation.one_step import OneStep, common_columns, examined, one_steps, position_of
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.reduced_weights import heaviest_and_random
from attentest.trials.removal import Removal, removal_figures

WITHOUT_HEAVIEST, WITHOUT_RANDOM, EXCHANGED, EXCHANGED_WITHOUT = range(4)  # what a step is computed with
_FIGURES = ("js_heaviest", "js_random", "delta_js", "delta_attention", "lost_heaviest", "lost_same_weight")


@dataclass(frozen=True)
class TranslationRemoval(TranslationTrial):
    """ΔJS = JS(p, p without i*) − JS(p, p without r) against α_i* − α_r, for the heaviest source token i* and a random
    other one r, at one step. As in the trial removal, i* and r also exchange their weights before r is removed: a
    reference with the same weight. In a Transformer each layer and head loses the same token."""

    name: ClassVar[str] = "translation-removal"
    number: ClassVar[str] = "T9"
    keys: ClassVar[Mapping[str, str]] = Removal.keys
    question: ClassVar[str] = (
        "Does removing the most attended source token change a step more than removing a random one?"
    )
    source: ClassVar[str] = "Vashishth et al. 2019 §4.2, Fig. 3 (translation); Serrano & Smith 2019 §4.1"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A ΔJS above 0 means that the step changes more without its heaviest source token than without a random one; "
        "it should grow with the difference of their weights. More weight moves the output more whichever token has "
        "it; the comparison with a random token of the same weight does not have this advantage. A small ΔJS may also "
        "mean that the words before the step decide it."
    )
    headline: ClassVar[str] = Removal.keys["difference"]

    seed: int = setting(0, "Random seed for the random token.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        position = position_of(subject)
        largest = np.full(len(subject), np.nan)
        found = {name: np.full(len(subject), np.nan) for name in _FIGURES}
        done = 0
        for step in one_steps(subject, position):
            largest[step.places] = step.weights.max(1).values.cpu().numpy()
            for name, values in self._figures(step).items():
                found[name][step.places] = values.cpu().numpy()
            done += len(step.places)
            watch(done, len(subject))
        return {**common_columns(subject, position, largest), **found}

    def _figures(self, step: OneStep) -> dict[str, Float[Tensor, "pairs"]]:
        items = heaviest_and_random(step.weights, step.mask, step.texts, self.seed)
        logits = [step.logits, *_variants(step, items)]
        own, heaviest, random, exchanged, without = (one.softmax(-1) for one in logits)
        weight = step.weights.gather(1, items)
        js = jsd(heaviest, own), jsd(random, own)
        return {
            "js_heaviest": js[0],
            "js_random": js[1],
            "delta_js": js[0] - js[1],
            "delta_attention": weight[:, 0] - weight[:, 1],
            "lost_heaviest": _lost(likeliest(step.logits), own, heaviest),
            "lost_same_weight": _lost(likeliest(logits[1 + EXCHANGED]), exchanged, without),
        }

    def conclude(self, table: pa.Table) -> Conclusion:
        table, notes = examined(table)
        if not len(table):
            return Conclusion(NOTHING_TO_MOVE, {}, notes)
        summary = removal_figures(table)
        answer = (
            f"Without its heaviest source token the step's distribution changes by {summary[self.keys['difference']]} "
            f"more (JS) than without a random one. Its likeliest token loses {summary[self.keys['mass-matched']]} more "
            "probability than without a random token with the same weight."
        )
        return Conclusion(answer, summary, notes)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        yield cell("heaviest removed, against random removed", "delta js", summary[cls.keys["difference"]])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = scatter(
            table,
            "delta_attention",
            "delta_js",
            "α of heaviest − α of random token (0–1)",
            "ΔJS (nats)",
            "How much more a step's distribution changes without the heaviest source token than without a random one, "
            "against the difference of their weights, as in Vashishth et al. 2019, Fig. 3.",
            by_class=False,
        )
        return {"ΔJS by difference of weights": chart}


def _variants(step: OneStep, items: Int[Tensor, "pairs 2"]) -> list[Float[Tensor, "pairs target"]]:
    """Logits without either token, and with exchanged weights, with and without the second."""
    sites = step.subject.model.source_sites
    pairs = torch.arange(len(items), device=items.device)

    def steps(variant: int) -> Steps:
        def change(site: str, weights: Rows, allowed: Allowed) -> Rows | None:
            return changed_rows(weights, items, variant) if site in sites else None

        def at(first: int) -> Change:
            return change

        return at

    return [
        step.changed(pairs, steps(variant))
        for variant in (WITHOUT_HEAVIEST, WITHOUT_RANDOM, EXCHANGED, EXCHANGED_WITHOUT)
    ]


def changed_rows(weights: Rows, items: Int[Tensor, "batch 2"], variant: int) -> Rows:
    """A token's weight set to 0 and the others normalised; a row with no other weight keeps its own."""
    places = items[:, None, None].expand(*weights.shape[:3], 2)
    if variant in (EXCHANGED, EXCHANGED_WITHOUT):
        weights = weights.scatter(-1, places, weights.gather(-1, places).flip(-1))
    if variant == EXCHANGED:
        return weights
    gone = places[..., :1] if variant == WITHOUT_HEAVIEST else places[..., 1:]
    left = weights.scatter(-1, gone, 0.0)
    total = left.sum(-1, keepdim=True)
    return torch.where(total > 0, left / total, weights)


def _lost(
    choice: Int[Tensor, "pairs"], before: Float[Tensor, "pairs target"], after: Float[Tensor, "pairs target"]
) -> Float[Tensor, "pairs"]:
    """How much of its probability the token has lost."""
    return (before - after).gather(1, choice.unsqueeze(1)).squeeze(1)
