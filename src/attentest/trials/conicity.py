"""T19: are the hidden states so alike that it does not matter which of them are attended to?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cosine_similarity

from attentest.measures.intervals import Estimate, mean
from attentest.measures.spearman import spearman
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, SimpleTrial, column
from attentest.trials.charts import scatter
from attentest.trials.permutation import Permutation
from attentest.trials.reading import Reading
from attentest.trials.work import Load, Work, Works


@dataclass(frozen=True)
class Conicity(SimpleTrial):
    """The mean cosine of a text's hidden states with their mean, next to how far permuted weights move the output."""

    name: ClassVar[str] = "conicity"
    number: ClassVar[str] = "T19"
    keys: ClassVar[Mapping[str, str]] = {"conicity": "conicity", "correlation": "ρ conicity – median TVD"}
    question: ClassVar[str] = "Are the hidden states so alike that it hardly matters which are attended to?"
    source: ClassVar[str] = "Mohankumar et al. 2020; the permutation is that of Jain & Wallace 2019 §4.2.1"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A conicity near 1 means that all states of a text point the same way, so that any weights give nearly the "
        "same output; then a small effect of permuted weights is no evidence that attention is wrong, but its weights "
        "cannot single out a token either. A low conicity with a small effect means that the model does not use "
        "differences that are there."
    )

    permutations: int = setting(100, "Permutations drawn for each text.", least=1, most=100_000)
    seed: int = setting(0, "Random seed for the permutations.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def works(self, load: Load) -> Works:
        return Permutation(self.permutations, self.seed).works(load) | {self.name: Work(load.decoded(1))}

    def examine(self, reading: Reading) -> Columns:
        moved = Permutation(self.permutations, self.seed).examine(reading)
        return {"conicity": conicity(reading.encoded.hidden, reading.mask).cpu().numpy(), **moved}

    def conclude(self, table: pa.Table) -> Conclusion:
        alike, moved = column(table, "conicity"), column(table, "median_tvd")
        together = spearman(alike, moved)
        summary = {
            "conicity": mean(alike, (-1, 1)),
            "mean of median TVD": mean(moved, (0, 1)),
            "ρ conicity – median TVD": together,
        }
        answer = (
            f"The states of a text have a conicity of {summary['conicity']}; shuffling the weights changes the "
            f"prediction by {summary['mean of median TVD']} (median TVD, mean over texts)."
        )
        if together.n and together.value == together.value:
            answer += f" Over texts the two have a rank correlation of {together}."
        return Conclusion(answer, summary)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = scatter(
            table,
            "conicity",
            "median_tvd",
            "conicity of the hidden states (0–1)",
            "median TVD over permutations (0–1)",
            "How far permuted weights change the prediction of each text, against how alike its hidden states are "
            "(Mohankumar et al. 2020).",
        )
        return {"permutation by conicity": chart}


def conicity(hidden: Float[Tensor, "batch tokens size"], mask: Bool[Tensor, "batch tokens"]) -> Float[Tensor, "batch"]:
    """1 where all states of a text have one direction."""
    counted = mask.to(hidden.dtype)
    lengths = counted.sum(1)
    centre = (hidden * counted.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)
    return (cosine_similarity(hidden, centre.unsqueeze(1), dim=-1) * counted).sum(1) / lengths
