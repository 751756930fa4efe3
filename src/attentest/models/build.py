"""The model that a corpus and its settings call for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError
from attentest.models.classifier import Classifier, MeanClassifier
from attentest.models.hierarchical import Hierarchical
from attentest.models.pair import Answers, PairClassifier, QueryPairClassifier
from attentest.models.reader import Reader
from attentest.models.settings import HIERARCHICAL, ModelSettings

if TYPE_CHECKING:
    from attentest.models.pretrained.model import Pretrained

Trainable: TypeAlias = "Reader | Pretrained"

SINGLE_MODELS = {"context": Classifier, "context+mean": MeanClassifier}  # by decoder
PAIR_MODELS = {"context": PairClassifier, "context+query": QueryPairClassifier}


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
    chosen = Hierarchical if settings.structure == HIERARCHICAL else SINGLE_MODELS[settings.decoder]
    return chosen(settings, vectors, classes)


def sites_of(settings: ModelSettings) -> Sequence[str]:
    return (Hierarchical if settings.structure == HIERARCHICAL else Classifier).sites


def check_pair(settings: ModelSettings) -> None:
    if settings.structure == HIERARCHICAL:
        raise InputError("The structure 'hierarchical' needs single texts; for a corpus of pairs use 'flat'.")
    if settings.decoder not in PAIR_MODELS:
        raise InputError(
            f"The decoder '{settings.decoder}' needs single texts; for a corpus of pairs use "
            f"{' or '.join(map(repr, PAIR_MODELS))}."
        )


def check_single(settings: ModelSettings) -> None:
    for name, usual in (("decoder", SINGLE_MODELS), ("pairing", ("independent",))):
        given = getattr(settings, name)
        if given not in usual:
            raise InputError(
                f"The {name} '{given}' needs pairs of texts; for single texts use {' or '.join(map(repr, usual))}."
            )
