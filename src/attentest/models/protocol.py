"""The one protocol: a model that has these three methods can be put on trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.text.batches import Batch

Weights = Mapping[str, Float[Tensor, "batch tokens"]]  # site -> weights


@dataclass(frozen=True)
class Encoded:
    """What the expensive part of a model gives: everything that does not depend on attention weights."""

    hidden: Float[Tensor, "batch tokens hidden"]
    mask: Bool[Tensor, "batch tokens"]
    preset: Float[Tensor, "batch tokens"] | None = None
    query: Float[Tensor, "batch hidden"] | None = None  # what the other text of a pair asks
    forbidden: Bool[Tensor, "batch classes"] | None = None  # answers that the text does not have

    def take(self, places: Int[Tensor, "chosen"] | slice) -> Encoded:
        """These texts of the batch only."""
        return replace(self, **{name: value[places] for name, value in vars(self).items() if value is not None})


@runtime_checkable
class AttentionModel(Protocol):
    """encode once, attend, and decode as often as weights are changed.

    A model of several sites may be given the weights of one of them and finds the others itself.
    """

    sites: Sequence[str]

    def encode(self, batch: Batch) -> Encoded: ...

    def attend(self, encoded: Encoded) -> Weights: ...

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]: ...
