"""The model that a corpus and its settings call for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.classifier import Classifier, MeanClassifier
from attentest.models.hierarchical import Hierarchical
from attentest.models.pair import Answers, PairClassifier, QueryPairClassifier
from attentest.models.reader import Reader
from attentest.models.settings import HIERARCHICAL, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences

if TYPE_CHECKING:
    from attentest.models.pretrained.layout import Layout
    from attentest.models.pretrained.model import Pretrained

Trainable: TypeAlias = "Reader | Pretrained"

_LONGEST = 12  # pieces of a text that a network is looked at with
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


def make_pretrained(settings: ModelSettings, network: nn.Module, layout: Layout, outputs: Sequence[int]) -> Pretrained:
    """`network` is a classifier of Hugging Face, looked at on two texts; `outputs` are those of its head, by class."""
    from attentest.models.pretrained.inspection import inspect_network
    from attentest.models.pretrained.model import Pretrained

    about = inspect_network(network, layout.lay_out(_two_texts(network, layout)).arguments)
    return Pretrained(network, layout, about, outputs, projection=settings.projection)


def _two_texts(network: Any, layout: Layout) -> Batch:
    """Of different lengths, with pieces from all over the vocabulary."""
    special = {layout.pad, layout.mask, *layout.single.ids, *layout.pair.ids}
    pieces = np.array([i for i in range(len(network.get_input_embeddings().weight)) if i not in special])
    if layout.room("single") < 2 or len(pieces) < 2:
        raise InputError(f"{type(network).__name__} has no room for a text of two pieces.")
    some = pieces[np.linspace(0, len(pieces) - 1, min(_LONGEST, layout.room("single"))).astype(int)]
    return batch_of_sequences([some, some[: len(some) // 2]])


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
