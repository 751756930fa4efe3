"""The papers' classifier for one text: an affine decoder on the weighted states."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.decoders import AffineDecoder, outputs
from attentest.models.projections import Projection
from attentest.models.reader import Reader
from attentest.models.settings import ModelSettings


class Classifier(AffineDecoder, Reader):
    """Follows `AttentionModel`; its decoder is affine in the context, so `token_logits` tell everything."""

    def __init__(self, settings: ModelSettings, vectors: Float[Tensor, "vocabulary dimension"], classes: int) -> None:
        super().__init__(settings, vectors)
        self.decoder = nn.Linear(self.size, outputs(classes))

    @classmethod
    def of_parts(cls, settings: ModelSettings, **parts: nn.Module) -> Classifier:
        """A classifier made of modules that are there already and go on belonging to another model."""
        model = cls.__new__(cls)
        nn.Module.__init__(model)
        model.settings, model.projection = settings, Projection(settings.projection)
        for name, part in parts.items():
            setattr(model, name, part)
        return model
