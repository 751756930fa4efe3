"""The papers' classifier for one text: embed, encode, attend, and a linear decoder on the weighted states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.alignments import ALIGNMENTS, make_alignment
from attentest.models.encoders import ENCODERS, make_encoder
from attentest.models.parts import choose
from attentest.models.projections import PROJECTIONS, SELF_PROJECTIONS, Projection
from attentest.models.protocol import Encoded, Weights
from attentest.models.structures import HIERARCHICAL, STRUCTURES
from attentest.text.batches import Batch
from attentest.text.vocabulary import PAD


@dataclass(frozen=True)
class ModelSettings:
    encoder: str = "bilstm"
    alignment: str = "additive"
    projection: str = "softmax"
    hidden: int = 128  # size of the states; of each direction of a BiLSTM
    self_projection: str = "softmax"  # of the Transformer's own attention
    structure: str = "flat"

    def __post_init__(self) -> None:
        choose("encoder", self.encoder, ENCODERS)
        choose("alignment", self.alignment, ALIGNMENTS)
        choose("projection", self.projection, PROJECTIONS)
        choose("projection", self.self_projection, SELF_PROJECTIONS)
        choose("structure", self.structure, STRUCTURES)
        if self.structure == HIERARCHICAL and self.projection in ("preset", "random"):
            raise InputError(
                f"The projection '{self.projection}' gives every token its share of the whole text, and a hierarchical "
                "model has weights within sentences; use it with a flat one."
            )
        if self.hidden < 2:
            raise InputError(f"hidden is {self.hidden}; it must be at least 2.")


class Classifier(nn.Module):
    """Follows `AttentionModel`; its decoder is affine in the context, so `token_logits` tell everything."""

    sites: Sequence[str] = ("token",)

    def __init__(self, settings: ModelSettings, vectors: Float[Tensor, "vocabulary dimension"], classes: int):
        super().__init__()
        self.settings = settings
        # sparse: a batch touches few rows, and the optimiser updates only those
        self.embedding = nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=PAD, sparse=True)
        self.encoder = make_encoder(settings.encoder, vectors.shape[1], settings.hidden, settings.self_projection)
        size: int = self.encoder.size  # type: ignore[assignment]
        self.alignment = make_alignment(settings.alignment, size)
        self.projection = Projection(settings.projection)
        self.decoder = make_decoder(size, classes)

    @classmethod
    def of_parts(cls, settings: ModelSettings, **parts: nn.Module) -> Classifier:
        """A classifier made of modules that are there already and go on belonging to another model."""
        model = cls.__new__(cls)
        nn.Module.__init__(model)
        model.settings, model.projection = settings, Projection(settings.projection)
        for name, part in parts.items():
            setattr(model, name, part)
        return model

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens dimension"]:
        return self.embedding(ids)

    def encode_embedded(
        self,
        embedded: Float[Tensor, "batch tokens dimension"],
        mask: Bool[Tensor, "batch tokens"],
        preset: Float[Tensor, "batch tokens"] | None = None,
    ) -> Encoded:
        return Encoded(self.encoder(embedded, mask), mask, preset)

    def encode(self, batch: Batch) -> Encoded:
        return self.encode_embedded(self.embed(batch.ids), batch.mask, batch.preset)

    def attend(self, encoded: Encoded) -> Weights:
        scores = self.alignment(encoded.hidden) if self.projection.needs_scores else None
        return {
            "token": self.projection(scores, encoded.mask, preset=encoded.preset, training=self.training).to(
                encoded.hidden.dtype
            )
        }

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        context = (weights["token"].unsqueeze(1) @ encoded.hidden).squeeze(1)
        return _all_classes(self.decoder(context))

    def token_logits(self, encoded: Encoded) -> Float[Tensor, "batch tokens classes"]:
        """What each token would add to the logits at weight 1: decode(α) = α @ token_logits + bias."""
        return _all_classes(encoded.hidden @ self.decoder.weight.T)

    def bias(self) -> Float[Tensor, "classes"]:
        return _all_classes(self.decoder.bias)

    def forward(self, batch: Batch) -> tuple[Float[Tensor, "batch classes"], Weights]:
        encoded = self.encode(batch)
        weights = self.attend(encoded)
        return self.decode(encoded, weights), weights


def make_decoder(size: int, classes: int) -> nn.Linear:
    """Two classes have one logit, as in the papers: the sigmoid of it is the softmax of (0, logit)."""
    return nn.Linear(size, 1 if classes == 2 else classes)


def _all_classes(logits: Tensor) -> Tensor:
    """A single logit gets a 0 in front of it, for the class it stands against."""
    return torch.nn.functional.pad(logits, (1, 0)) if logits.shape[-1] == 1 else logits
