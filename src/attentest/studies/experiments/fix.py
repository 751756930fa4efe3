"""T14: who tracks the information, the attention or the encoder?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from attentest.settings import setting
from attentest.studies.experiments.base import BASE, Result, Training, TrialOf
from attentest.studies.experiments.informed import OfInformation, compare_information, on_information
from attentest.training.run import Run
from attentest.trials.stored import StoredFinding


@dataclass(frozen=True)
class Fix(OfInformation):
    """Fix Rep: the base's embeddings and encoder stay, attention is learned anew. Fix Attn: weights are drawn once for
    each text and stay, and encoder and decoder are learned around them (Wen et al. do not say which scores)."""

    name: ClassVar[str] = "fix"
    number: ClassVar[str] = "T14"
    keys: ClassVar[Mapping[str, str]] = {"lost": "Δ weighted τ, fix attention"}
    question: ClassVar[str] = "Does attention find the informative states, or do the states adapt to the attention?"
    source: ClassVar[str] = "Wen et al. 2022 §5.1, Table 2"
    how_to_read: ClassVar[str] = (
        "If the weighted τ falls with fixed attention but not with fixed representations, attention finds the "
        "informative states. If it does not fall with fixed attention, the states adapt to where the weights are. The "
        "experiment compares three models with one seed each, and says nothing about input tokens."
    )

    runs: int = setting(10, "Clusterings of each model's hidden states.", least=1, most=10_000)

    def trainings(self) -> list[Training]:
        kept = ["embedding", "encoder"]
        return [
            Training("fix representation", {"freeze": kept, "take": kept}, start=BASE),
            Training("fix attention", {"projection": "random"}),
        ]

    def trials(self) -> list[TrialOf]:
        return on_information([BASE, "fix representation", "fix attention"], self.runs)

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        return compare_information({name: name for name in ("fix representation", "fix attention")}, findings)
