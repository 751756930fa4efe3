"""The way to the weights that all models of the papers share: embed, encode, attend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.models.alignments import make_alignment
from attentest.models.encoders import make_encoder
from attentest.models.projections import Projection
from attentest.models.protocol import Encoded, Weights
from attentest.models.settings import ModelSettings
from attentest.text.batches import Batch
from attentest.text.vocabulary import PAD


class Reader(nn.Module, ABC):
    """A model is this with a decoder; `asked` ones have a query that their scores hang on, too."""

    sites: Sequence[str] = ("token",)
    asked = False

    def __init__(self, settings: ModelSettings, vectors: Float[Tensor, "vocabulary dimension"]) -> None:
        super().__init__()
        self.settings = settings
        # sparse: a batch touches few rows, and the optimiser updates only those
        self.embedding = nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=PAD, sparse=True)
        self.encoder = make_encoder(settings.encoder, vectors.shape[1], settings.hidden, settings.self_projection)
        self.size: int = self.encoder.size  # type: ignore[assignment]
        self.alignment = make_alignment(settings.alignment, self.size, asked=self.asked)
        self.projection = Projection(settings.projection)

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens dimension"]:
        embedded: Tensor = self.embedding(ids)
        if self.training and self.settings.dropout:
            embedded = nn.functional.dropout(embedded, self.settings.dropout)
        return embedded

    def encode_embedded(self, embedded: Float[Tensor, "batch tokens dimension"], batch: Batch) -> Encoded:
        """With these embeddings instead of the batch's own."""
        return Encoded(self.encoder(embedded, batch.mask), batch.mask, batch.preset)

    def encode(self, batch: Batch) -> Encoded:
        return self.encode_embedded(self.embed(batch.ids), batch)

    def attend(self, encoded: Encoded) -> Weights:
        scores = self.alignment(encoded.hidden, encoded.query) if self.projection.needs_scores else None
        return {
            "token": self.projection(scores, encoded.mask, preset=encoded.preset, training=self.training).to(
                encoded.hidden.dtype
            )
        }

    @abstractmethod
    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]: ...

    def forward(self, batch: Batch) -> tuple[Float[Tensor, "batch classes"], Weights]:
        encoded = self.encode(batch)
        weights = self.attend(encoded)
        return self.decode(encoded, weights), weights
