"""T12: is the influence of tokens spread out, whatever attention says?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.importance.gradients import normalised
from attentest.importance.influence import influence
from attentest.measures.entropy import normalised_entropy
from attentest.measures.intervals import Estimate, deviation, mean
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, Examiner, Trial, column
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import box, boxes
from attentest.trials.reading import Reading
from attentest.trials.scores import ATTENTION, ScoreSettings, score, usable, works_of_scores
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

SCORED = (ATTENTION, "gradient", "leave-one-out")
INFLUENCE = "influence on hidden states"


@dataclass(frozen=True)
class Dispersion(Trial):
    """Normalised entropy (0: one token, 1: all alike) of attention, of g_ŷ(x), of D_ŷ(x), and of g_{h_p}(x) over p.

    The last is a gradient for every pair of tokens and is taken on a sample of `influence_texts` texts.
    """

    name: ClassVar[str] = "dispersion"
    number: ClassVar[str] = "T12"
    cost: ClassVar[float] = 12
    question: ClassVar[str] = "Is the influence of the tokens as concentrated as the attention?"
    source: ClassVar[str] = "Meister et al. 2021 §4, Tables 1 and 2, Fig. 2"
    how_to_read: ClassVar[str] = (
        "An entropy near 1 means that influence is spread evenly over the tokens; near 0, one token has all of it. If "
        "attention has a low entropy and the influence of the inputs a high one, attention looks sharper than the "
        "influence behind it. Entropy measures concentration, not whether it is on the same tokens."
    )
    needs: ClassVar[str] = "attention weights and gradients"

    influence_texts: int = setting(
        300, "Texts for the influence on hidden states (a gradient for each pair of tokens); 0 skips it.", least=0
    )
    tolerance: float = setting(1e-6, "Tolerance of leave-one-out on a BiLSTM.", least=0, most=1)
    seed: int = setting(0, "Random seed for the sample of texts.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        for label, estimate in summary.items():
            spread = summary.get(f"std of {label}")
            told = None if spread is None or math.isnan(spread.value) else spread.value
            if not label.startswith("std of "):
                yield cell(projection, label, estimate, deviation=told)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = boxes(
            [row for name, values in _found(table).items() for row in box(name, values)],
            "normalised entropy (0: one token, 1: all equal)",
            "Box plots of the normalised entropy of attention, of gradients, of leave-one-out and of the influence on "
            "hidden states, as in Meister et al. 2021, Fig. 2; whiskers reach 1.5 interquartile ranges.",
            (0, 1),
            "measure",
        )
        return {"entropy of influence": chart}

    def works(self, load: Load) -> Works:
        scored = usable(load.subject.model, SCORED)
        found = dict(works_of_scores(load, scored, ScoreSettings(tolerance=self.tolerance)))
        if scored == SCORED:
            texts = min(self.influence_texts, load.texts)
            below = texts * (1 - load.longest.above)  # a run back from each state that the site's layer reads
            found[self.name] = Work(below, below * float(load.lengths.mean()), held="graph")
        return found

    def examiner(self, subject: Subject) -> Examiner:
        scored = usable(subject.model, SCORED)
        texts = self.influence_texts if scored == SCORED else 0
        order = np.random.default_rng(self.seed).permutation(subject.rows)
        return _Examiner(self, scored, frozenset(order[:texts].tolist()))


@dataclass(frozen=True)
class _Examiner:
    trial: Dispersion
    scored: tuple[str, ...]
    sample: frozenset[int]

    def examine(self, reading: Reading) -> Columns:
        settings = ScoreSettings(tolerance=self.trial.tolerance)
        columns = {}
        for name in self.scored:
            found = score(reading, name, settings)
            entropy = normalised_entropy(normalised(found, reading.mask), reading.mask)
            # where nothing has any influence there is nothing to be spread
            columns[name] = entropy.masked_fill(~(found != 0).any(1), torch.nan).cpu().numpy()
        return columns | {INFLUENCE: self._of_influence(reading)}

    def _of_influence(self, reading: Reading) -> np.ndarray:
        """The mean over hidden states p of the entropy of g_{h_p}(x), for the texts of the sample."""
        found = np.full(len(reading.batch), np.nan)
        chosen = np.array([int(row) in self.sample for row in reading.rows])
        if not chosen.any():
            return found
        batch = reading.batch.select(torch.from_numpy(np.flatnonzero(chosen)))
        pairs = batch.mask.unsqueeze(1).expand(-1, batch.mask.shape[1], -1)
        entropy = normalised_entropy(normalised(influence(reading.model, batch), pairs), pairs)  # type: ignore[arg-type]
        total = torch.where(batch.mask, entropy, 0).sum(1)
        found[chosen] = (total / batch.mask.sum(1)).cpu().numpy()
        return found

    def conclude(self, table: pa.Table) -> Conclusion:
        found = _found(table)
        summary = {f"entropy of {name}": mean(values, (0, 1)) for name, values in found.items()}
        summary |= {f"std of entropy of {name}": deviation(values) for name, values in found.items()}
        told = ", ".join(f"{summary[f'entropy of {name}']} for {name}" for name in found)
        answer = f"Normalised entropy is {told}." if found else "No text has more than one item to spread over."
        notes = [f"The influence on hidden states is computed on a sample of {len(self.sample):,} texts."]
        if self.scored != SCORED:
            notes = ["Gradients were left out: the model lacks embed and encode_embedded."]
        return Conclusion(answer, summary, notes)


def _found(table: pa.Table) -> dict[str, np.ndarray]:
    """The entropies that are defined for any text."""
    columns = {name: column(table, name) for name in (*SCORED, INFLUENCE) if name in table.column_names}
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}
