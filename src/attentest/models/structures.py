"""Structures: how a text is read, as one sequence or as a document of sentences."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.parts import Part, choose


def _flat(*given: Any) -> nn.Module:
    from attentest.models.classifier import Classifier

    return Classifier(*given)


def _hierarchical(*given: Any) -> nn.Module:
    from attentest.models.hierarchical import Hierarchical

    return Hierarchical(*given)


HIERARCHICAL = "hierarchical"
STRUCTURES = {
    "flat": Part("a text as one sequence of tokens (all papers)", _flat),
    HIERARCHICAL: Part("words make sentences, sentences the document: HAN (SS, VA)", _hierarchical),
}


def make_model(settings: Any, vectors: Float[Tensor, "vocabulary dimension"], classes: int) -> Any:
    """The model that ModelSettings describe."""
    part, _ = choose("structure", settings.structure, STRUCTURES)
    return part.make(settings, vectors, classes)
