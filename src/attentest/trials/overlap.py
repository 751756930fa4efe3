"""T20: do attention and importance measures name the same few tokens?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from attentest.measures.intervals import Estimate, mean, ratio
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, Examiner, Trial, column
from attentest.trials.charts import bars, interval
from attentest.trials.rankings import ranks_by
from attentest.trials.reading import Reading
from attentest.trials.scores import ATTENTION, ScoreSettings, usable, works_of_scores
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Works

LEFT_OUT, GRADIENT = MEASURES = ("leave-one-out", "gradient-input-fixed")
CHANCE = "chance"
TOPS = {"top 1": 1, "top 3": 3, "top 5": 5, "top 10 %": 0.1}  # tokens, or the share of a text's
DECIDING = "top 3"
OWN, CEILING = f"{ATTENTION} – {LEFT_OUT}", f"{LEFT_OUT} – {GRADIENT}"


@dataclass(frozen=True)
class Overlap(Trial):
    """The share of the first tokens by attention that are also among the first by an importance measure."""

    name: ClassVar[str] = "overlap"
    number: ClassVar[str] = "T20"
    cost: ClassVar[float] = 8
    keys: ClassVar[Mapping[str, str]] = {
        "top": f"{DECIDING}, {OWN}",
        "top null": f"{DECIDING}, {CHANCE}",
        "top ceiling": f"{DECIDING}, {CEILING}",
        "top position": f"{DECIDING} position",
    }
    question: ClassVar[str] = "Do attention and importance measures name the same few tokens?"
    source: ClassVar[str] = "ours; the measures are those of Jain & Wallace 2019 §4.1"
    headline: ClassVar[str] = f"{DECIDING}, {OWN}"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "An overlap far above chance, and near what the measures have in common among themselves, means that the "
        "tokens which a reader would be shown are those that other measures name too. An overlap at chance means that "
        "the heaviest tokens could as well have been drawn at random. No measure is ground truth."
    )
    needs: ClassVar[str] = "attention weights; embed and encode_embedded for gradients with respect to inputs"

    tolerance: float = setting(
        1e-6,
        "Tolerance of leave-one-out on a BiLSTM: smaller changes of states are ignored, closer scores are tied.",
        least=0,
        most=1,
    )
    seed: int = setting(0, "Random seed for the order of ties.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def works(self, load: Load) -> Works:
        settings = ScoreSettings(tolerance=self.tolerance, seed=self.seed)
        return works_of_scores(load, usable(load.subject.model, MEASURES), settings)

    def examiner(self, subject: Subject) -> Examiner:
        return _Examiner(self, usable(subject.model, MEASURES))

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        charts = {}
        for top in TOPS:
            pairs = [name for name in table.column_names if name.startswith(f"{top}, ")]
            charts[top] = bars(
                [row for name in pairs for row in interval(name.removeprefix(f"{top}, "), summary[name])],
                "share of tokens in common (0–1)",
                f"Share of the {top} tokens that two rankings have in common, and what chance gives, means over texts "
                "with 95 % intervals.",
                "rankings",
            )
        return charts


@dataclass(frozen=True)
class _Examiner:
    trial: Overlap
    measures: tuple[str, ...]

    def examine(self, reading: Reading) -> Columns:
        settings = ScoreSettings(tolerance=self.trial.tolerance, seed=self.trial.seed)
        ranks = {name: ranks_by(reading, name, settings).cpu().numpy() for name in (ATTENTION, *self.measures)}
        lengths = reading.lengths.cpu().numpy()
        columns = {}
        for top, size in TOPS.items():
            count = first_tokens(size, lengths)
            for one, other in combinations(ranks, 2):
                columns[f"{top}, {one} – {other}"] = in_common(ranks[one], ranks[other], count)
            columns[f"{top}, {CHANCE}"] = count / lengths
        return columns

    def conclude(self, table: pa.Table) -> Conclusion:
        names = [name for name in table.column_names if name.split(", ")[0] in TOPS]
        shares = {name: column(table, name) for name in names}
        summary = {name: mean(values, (0, 1)) for name, values in shares.items()}
        for top in TOPS:
            chance, ceiling = shares[f"{top}, {CHANCE}"], shares.get(f"{top}, {CEILING}")
            above = shares[f"{top}, {OWN}"] - chance
            summary[f"{top}, {OWN} − {CHANCE}"] = mean(above, (-1, 1))
            if ceiling is not None:
                summary[f"{top} position"] = ratio(above, ceiling - chance)
        own, chance_of = summary[f"{DECIDING}, {OWN}"], summary[f"{DECIDING}, {CHANCE}"]
        answer = (
            f"Of the three most attended tokens a share of {own} is also among the first three by {LEFT_OUT}; chance "
            f"gives {chance_of.value:.3f}"
        )
        best = summary.get(f"{DECIDING}, {CEILING}")
        return Conclusion(answer + (f", and {GRADIENT} reaches {best.value:.3f}." if best else "."), summary)


def first_tokens(size: float, lengths: Int[np.ndarray, "batch"]) -> Int[np.ndarray, "batch"]:
    """How many tokens of a text are the first: a number of them or, below 1, a share; at least one, and never all
    unless there is only one."""
    wanted = np.ceil(size * lengths - 1e-9).astype(int) if size < 1 else np.full_like(lengths, int(size))
    count: np.ndarray = np.maximum(1, np.minimum(wanted, lengths - 1))
    return count


def in_common(
    one: Int[np.ndarray, "batch tokens"], other: Int[np.ndarray, "batch tokens"], count: Int[np.ndarray, "batch"]
) -> Float[np.ndarray, "batch"]:
    """The share of the first `count` tokens of one ranking that are also among the other's."""
    first = count[:, None]
    shares: np.ndarray = ((one < first) & (other < first)).sum(1) / count
    return shares
