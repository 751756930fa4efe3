"""T6 of translation: does shuffling the weights of a step change its output?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.chance import keyed_rows
from attentest.layer_interventions import PERMUTED, Allowed, Rows, replaced_rows
from attentest.measures.divergences import tvd
from attentest.measures.intervals import Estimate, mean, median
from attentest.models.protocol import Change
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.translation.interventions import Steps
from attentest.trials.base import BIN_NAMES, NOTHING_TO_MOVE, Chart, Columns, Conclusion, by_group, column
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import violins_by_bin
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.forced import likeliest
from attentest.trials.of_translation.one_step import OneStep, common_columns, examined, one_steps, position_of
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.permutation import MEDIAN_TVD

MOVED, STEPS = "mean of median TVD", "steps changed"
_MOST = 1 << 20  # permutations, so that text and permutation are one number
_CELLS_AT_ONCE = 20_000_000  # of distributions


@dataclass(frozen=True)
class TranslationPermutation(TranslationTrial):
    """The median over `permutations` of the TVD of a step's distribution when the weights on the source are permuted at
    this step alone, pair by pair. A Transformer's are permuted in every layer and head."""

    name: ClassVar[str] = "translation-permutation"
    number: ClassVar[str] = "T6"
    question: ClassVar[str] = "Does shuffling the weights on the source at a step change what comes out of it?"
    source: ClassVar[str] = "Vashishth et al. 2019 §4.1, Fig. 2 (translation)"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A high median TVD means that the step's output depends on which source token has which weight. A value near 0 "
        "means that the word follows from the words before it, or that all states of the source carry the same. Only "
        "one step is changed, at the same place in all pairs; translation-uniform changes all steps."
    )
    cost: ClassVar[float] = 10
    headline: ClassVar[str] = MOVED
    keys: ClassVar[Mapping[str, str]] = {"moved": MOVED}

    permutations: int = setting(100, "Permutations drawn for each pair.", least=1, most=100_000)
    seed: int = setting(0, "Random seed for the permutations.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        position = position_of(subject)
        largest, moved, changed = (np.full(len(subject), np.nan) for _ in range(3))
        done = 0
        for step in one_steps(subject, position):
            largest[step.places] = step.weights.max(1).values.cpu().numpy()
            changes, flips = self._changes(step)
            moved[step.places] = changes.quantile(0.5, dim=1).cpu().numpy()
            changed[step.places] = flips.mean(1).cpu().numpy()
            done += len(step.places)
            watch(done, len(subject))
        return {**common_columns(subject, position, largest), "median_tvd": moved, "changed": changed}

    def _changes(
        self, step: OneStep
    ) -> tuple[Float[Tensor, "pairs permutations"], Float[Tensor, "pairs permutations"]]:
        """TVD to the step's own distribution, and whether another token is the likeliest."""
        own, choice = step.logits.softmax(-1).unsqueeze(1), likeliest(step.logits).unsqueeze(1)
        pairs = torch.arange(len(own), device=own.device)
        at_once = max(1, _CELLS_AT_ONCE // own.numel())
        moved, flips = [], []
        for start in range(0, self.permutations, at_once):
            numbers = np.arange(start, min(start + at_once, self.permutations))
            keys = (step.texts[:, None] * _MOST + numbers).ravel()
            rows = pairs.repeat_interleave(len(numbers))
            logits = step.changed(rows, self._permuted(step, keys)).view(len(own), len(numbers), -1)
            moved.append(tvd(logits.softmax(-1), own))
            flips.append((likeliest(logits) != choice).to(own.dtype))
        return torch.cat(moved, 1), torch.cat(flips, 1)

    def _permuted(self, step: OneStep, keys: Int[np.ndarray, "chosen"]) -> Steps:
        sites = step.subject.model.source_sites

        def change(site: str, weights: Rows, allowed: Allowed) -> Rows | None:
            if site not in sites:
                return None

            def drawn() -> Rows:
                numbers = 1 - keyed_rows(self.seed, f"permutations, {site}", keys, (weights.shape[1], weights.shape[3]))
                return torch.from_numpy(numbers).unsqueeze(2).to(weights.device)

            return replaced_rows(PERMUTED, weights, allowed, drawn)

        def at(first: int) -> Change:
            return change

        return at

    def conclude(self, table: pa.Table) -> Conclusion:
        table, notes = examined(table)
        if not len(table):
            return Conclusion(NOTHING_TO_MOVE, {}, notes)
        summary = {
            MOVED: mean(column(table, "median_tvd"), (0, 1)),
            STEPS: mean(column(table, "changed"), (0, 1)),
            **by_group(table, "median_tvd", "bin", statistic=median),
        }
        answer = (
            f"Shuffling the weights of one step changes its distribution by {summary[MOVED]} (median TVD over "
            f"{self.permutations} permutations, mean over pairs). Another token becomes the likeliest in a share of "
            f"{summary[STEPS]} of the permutations."
        )
        return Conclusion(answer, summary, notes)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        yield cell("permuted", MEDIAN_TVD, summary[MOVED])
        for name in BIN_NAMES:
            if name in summary:
                yield cell(f"largest weight in {name}", MEDIAN_TVD, summary[name])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = violins_by_bin(
            table,
            "median_tvd",
            "median TVD over permutations (0–1)",
            "Densities of the median change of a step's distribution over permutations of its weights, by the largest "
            "weight, as in the translation panels of Vashishth et al. 2019, Fig. 2.",
            by_class=False,
        )
        return {"densities by largest weight": chart}
