"""The model that a corpus and its settings call for."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError
from attentest.models.classifier import Classifier
from attentest.models.hierarchical import Hierarchical
from attentest.models.pair import Answers, PairClassifier, QueryPairClassifier
from attentest.models.reader import Reader
from attentest.models.settings import HIERARCHICAL, ModelSettings

PAIR_MODELS = {"context": PairClassifier, "context+query": QueryPairClassifier}  # by decoder


def make_model(
    settings: ModelSettings,
    vectors: Float[Tensor, "vocabulary dimension"],
    classes: int,
    *,
    kind: str = "single",
    answers: Answers | None = None,
) -> Reader:
    """`kind` is the corpus's: of one text, or of pairs."""
    if kind == "pair":
        check_pair(settings)
        return PAIR_MODELS[settings.decoder](settings, vectors, classes, answers)
    check_single(settings)
    return (Hierarchical if settings.structure == HIERARCHICAL else Classifier)(settings, vectors, classes)


def sites_of(settings: ModelSettings) -> Sequence[str]:
    return (Hierarchical if settings.structure == HIERARCHICAL else Classifier).sites


def check_pair(settings: ModelSettings) -> None:
    if settings.structure == HIERARCHICAL:
        raise InputError("The structure 'hierarchical' needs single texts; for a corpus of pairs use 'flat'.")


def check_single(settings: ModelSettings) -> None:
    for name, usual in (("decoder", "context"), ("pairing", "independent")):
        if getattr(settings, name) != usual:
            given = getattr(settings, name)
            raise InputError(f"The {name} '{given}' needs pairs of texts; for single texts use '{usual}'.")
