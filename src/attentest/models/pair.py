"""The papers' models of two texts: the second one asks, and its query moves the attention on the first."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.decoders import AffineDecoder, QueryDecoder, context_of, outputs, without_forbidden
from attentest.models.encoders import BiLSTM, make_encoder
from attentest.models.protocol import Encoded, Weights
from attentest.models.reader import Reader
from attentest.models.settings import ModelSettings
from attentest.text.batches import Batch
from attentest.text.vocabulary import UNKNOWN

Vectors = Float[Tensor, "vocabulary dimension"]
Answers = Int[Tensor, "classes"]  # the tokens that the classes stand for, where a text must have what is chosen


class PairReader(Reader):
    """Two encoders with parameters of their own, or the second one going on from where the first ended."""

    asked = True
    answers: Answers | None

    def __init__(self, settings: ModelSettings, vectors: Vectors, answers: Answers | None = None) -> None:
        super().__init__(settings, vectors)
        sizes = (vectors.shape[1], settings.hidden, settings.self_projection)
        self.second_encoder = make_encoder(settings.encoder, *sizes)
        self.register_buffer("answers", answers, persistent=False)

    def encode_embedded(self, embedded: Float[Tensor, "batch tokens dimension"], batch: Batch) -> Encoded:
        assert batch.second_ids is not None
        assert batch.second_mask is not None
        second = self.embed(batch.second_ids)
        if self.settings.pairing == "conditional":
            assert isinstance(self.encoder, BiLSTM)
            hidden, finals = self.encoder.with_finals(embedded, batch.mask)
            asking = self.second_encoder(second, batch.second_mask, finals)
        else:
            hidden = self.encoder(embedded, batch.mask)
            asking = self.second_encoder(second, batch.second_mask)
        query = self.second_encoder.summarise(asking, batch.second_mask)  # type: ignore[operator]
        return Encoded(hidden, batch.mask, batch.preset, query, self._forbidden(batch))

    def decode_empty(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        """Without the first text, the question is still there."""
        return self.decode(encoded, {"token": torch.zeros_like(encoded.hidden[..., 0])})

    def _forbidden(self, batch: Batch) -> Bool[Tensor, "batch classes"] | None:
        if self.answers is None:
            return None
        there = torch.zeros(len(batch), self.embedding.num_embeddings, dtype=torch.bool, device=batch.ids.device)
        there.scatter_(1, batch.ids, True)
        there[:, UNKNOWN] = False  # an answer that no text has is not there when another unknown word is
        return ~there[:, self.answers]


class PairClassifier(AffineDecoder, PairReader):
    """The classifier sees the weighted first text alone: the second acts through attention only (Vashishth et al. 2019
    §3.2)."""

    def __init__(self, settings: ModelSettings, vectors: Vectors, classes: int, answers: Answers | None = None) -> None:
        super().__init__(settings, vectors, answers)
        self.decoder = nn.Linear(self.size, outputs(classes))


class QueryPairClassifier(PairReader):
    """The classifier sees the query as well, through a tanh (Jain & Wallace 2019)."""

    def __init__(self, settings: ModelSettings, vectors: Vectors, classes: int, answers: Answers | None = None) -> None:
        super().__init__(settings, vectors, answers)
        self.decoder = QueryDecoder(self.size, classes)

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        return self.finish(context_of(self.values(encoded), weights), encoded)

    def values(self, encoded: Encoded) -> Float[Tensor, "batch tokens half"]:
        """What the weights act on, found once for all weights: decode(α) = finish(α @ values)."""
        return encoded.hidden @ self.decoder.context.weight.T

    def finish(
        self, weighted: Float[Tensor, "batch *variants half"], encoded: Encoded
    ) -> Float[Tensor, "batch *variants classes"]:
        assert encoded.query is not None
        return without_forbidden(self.decoder(weighted, encoded.query), encoded)
