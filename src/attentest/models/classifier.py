"""The papers' classifier for one text: an affine decoder on the weighted states."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.decoders import AffineDecoder, MeanDecoder, all_classes, context_of, outputs
from attentest.models.projections import Projection
from attentest.models.protocol import Encoded, Weights
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


class MeanClassifier(Classifier):
    """The mean state reaches the output around the attention.

    Weights sum to 1, so that what goes around is as good as a part of each token's logits: `decode` takes it so for any
    weights, and every method that asks for `token_logits` is exact.
    """

    decoder: MeanDecoder

    def __init__(self, settings: ModelSettings, vectors: Float[Tensor, "vocabulary dimension"], classes: int) -> None:
        super().__init__(settings, vectors, classes)
        self.decoder = MeanDecoder(self.size, classes)

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        around = weights["token"].sum(1, keepdim=True) * self.decoder.around(encoded)
        return all_classes(self.decoder(context_of(encoded.hidden, weights)) + around)

    def token_logits(self, encoded: Encoded) -> Float[Tensor, "batch tokens classes"]:
        return super().token_logits(encoded) + all_classes(self.decoder.around(encoded)).unsqueeze(1)
