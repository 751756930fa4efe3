"""The papers' classifier for one text: an affine decoder on the weighted states."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.decoders import AffineDecoder, outputs
from attentest.models.reader import Reader
from attentest.models.settings import ModelSettings


class Classifier(AffineDecoder, Reader):
    """Follows `AttentionModel`; its decoder is affine in the context, so `token_logits` tell everything."""

    def __init__(self, settings: ModelSettings, vectors: Float[Tensor, "vocabulary dimension"], classes: int) -> None:
        super().__init__(settings, vectors)
        self.decoder = nn.Linear(self.size, outputs(classes))
