"""What every translation model can do; the recurrent ones and the Transformer are made of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.translation.interventions import Steps, unchanged
from attentest.translation.settings import TranslationModel

Tensors = dict[str, Tensor]  # all with the batch on the first axis


def is_source_site(site: str) -> bool:
    """Whether the target attends to the source there."""
    return site == "cross" or site.startswith("across.")


class Translator(nn.Module, ABC):
    """encode once, then decode: all steps of known targets at once (`forced`), or one after the other (`step`).

    The output projection has the target's word vectors as its weights. Attention weights are changed at each site as it
    is reached by what `steps` gives (`interventions.py`).
    """

    heads: Mapping[str, int]  # of each site, in the order in which they are reached

    def __init__(self, source_size: int, target_size: int, dimension: int, dropout: float) -> None:
        super().__init__()
        self.source = nn.Embedding(source_size, dimension)
        self.target = nn.Embedding(target_size, dimension)
        self.bias = nn.Parameter(self.target.weight.new_zeros(target_size))
        self.drop = nn.Dropout(dropout)
        for embedding in (self.source, self.target):
            nn.init.normal_(embedding.weight, std=dimension**-0.5)

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(self.heads)

    @property
    def source_sites(self) -> tuple[str, ...]:
        """Where the target attends to the source."""
        return tuple(site for site in self.heads if is_source_site(site))

    @abstractmethod
    def encode(
        self, ids: Int[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"], steps: Steps = unchanged
    ) -> Tensors:
        """What decoding needs of the source."""

    @abstractmethod
    def begin(self, memory: Tensors) -> Tensors:
        """The state before the first step."""

    @abstractmethod
    def step(
        self, memory: Tensors, state: Tensors, tokens: Int[Tensor, "batch"], number: int, steps: Steps = unchanged
    ) -> tuple[Float[Tensor, "batch dimension"], Tensors]:
        """Output and state after the step with this number, whose input are these tokens."""

    @abstractmethod
    def forced(
        self, memory: Tensors, inputs: Int[Tensor, "batch steps"], steps: Steps = unchanged
    ) -> Float[Tensor, "batch steps dimension"]:
        """Outputs of all steps with these inputs."""

    def project(self, outputs: Float[Tensor, "*batch dimension"]) -> Float[Tensor, "*batch target"]:
        """Logits of the target's tokens."""
        return F.linear(outputs, self.target.weight, self.bias)


def make_translator(settings: TranslationModel, source_size: int, target_size: int) -> Translator:
    from attentest.translation.recurrent import Bahdanau, Luong
    from attentest.translation.transformer import Transformer

    kinds: dict[str, type[Bahdanau | Luong | Transformer]] = {
        "bahdanau": Bahdanau,
        "luong": Luong,
        "transformer": Transformer,
    }
    return kinds[settings.model](settings, source_size, target_size)


def take(tensors: Tensors, places: Int[Tensor, "chosen"]) -> Tensors:
    """These texts of the batch only."""
    return {name: value.index_select(0, places) for name, value in tensors.items()}
