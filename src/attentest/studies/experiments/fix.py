"""T14: who tracks the information, the attention or the encoder?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from attentest.settings import setting
from attentest.studies.experiments.base import BASE, Result, Training, TrialOf
from attentest.studies.experiments.informed import OfInformation, compare_information, on_information
from attentest.studies.experiments.repeated import REPEATS, labels_of, other_seeds, repeated
from attentest.training.run import Run
from attentest.trials.stored import StoredFinding

REPRESENTATION, ATTENTION, RANDOM = "fix representation", "fix attention", "fix attention, random"


@dataclass(frozen=True)
class Fix(OfInformation):
    """Fix Rep: the base's embeddings and encoder stay, attention is learned anew. Fix Attn: the scores of all tokens
    are one constant, so that weights are equal, and encoder and decoder are learned around them (Wen et al. 2022 §5.1).
    Equal weights are ranked by the tokens' places in the text. Next to it, a variant with weights drawn once for each
    text, whose ranks say nothing about places."""

    name: ClassVar[str] = "fix"
    number: ClassVar[str] = "T14"
    keys: ClassVar[Mapping[str, str]] = {"lost": "Δ weighted τ, fix attention, random"}
    question: ClassVar[str] = "Does attention find the informative states, or do the states adapt to the attention?"
    source: ClassVar[str] = "Wen et al. 2022 §5.1, Table 2"
    how_to_read: ClassVar[str] = (
        "If the weighted τ falls with fixed attention but not with fixed representations, attention finds the "
        "informative states. If it does not fall with fixed attention, the states adapt to where the weights are. The "
        "weighted τ differs much between seeds, so three trainings of each kind or more are needed to tell, and it "
        "says nothing about input tokens."
    )

    runs: int = setting(10, "Clusterings of each model's hidden states.", least=1, most=10_000)
    repeats: int = setting(1, REPEATS, least=1, most=10_000)

    def trainings(self) -> list[Training]:
        kept = ["embedding", "encoder"]
        bases = labels_of(BASE, self.repeats)
        representation = repeated(Training(REPRESENTATION, {"freeze": kept, "take": kept}), self.repeats)
        return [
            *other_seeds(self.repeats),
            *(replace(training, start=base) for training, base in zip(representation, bases, strict=True)),
            *repeated(Training(ATTENTION, {"projection": "uniform"}), self.repeats),
            *repeated(Training(RANDOM, {"projection": "random"}), self.repeats),
        ]

    def trials(self) -> list[TrialOf]:
        return on_information([BASE, *(training.label for training in self.trainings())], self.runs)

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        variants = {name: labels_of(name, self.repeats) for name in (REPRESENTATION, ATTENTION, RANDOM)}
        return compare_information(variants, labels_of(BASE, self.repeats), findings)
