"""Hierarchical attention: words make sentences, sentences make the document (Yang et al. 2016; Serrano & Smith 2019 §3,
Vashishth et al. 2019 §3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.errors import InputError, unknown_name
from attentest.models.alignments import make_alignment
from attentest.models.classifier import Classifier
from attentest.models.decoders import outputs
from attentest.models.encoders import make_encoder
from attentest.models.protocol import Encoded, Weights
from attentest.models.reader import Reader
from attentest.models.sentence_layout import SentenceLayout
from attentest.models.settings import ModelSettings
from attentest.text.batches import Batch
from attentest.text.vocabulary import PAD, SPECIAL, UNKNOWN

WORD, SENTENCE = "word", "sentence"
_NUMBERS_AT_ONCE = 16_000_000  # of weighed word states, for several variants of the weights

Alpha = Float[Tensor, "batch tokens"]


@dataclass(frozen=True)
class EncodedDocument(Encoded):
    """The states of the words in the layout of the batch, and the sentences they stand in."""

    layout: SentenceLayout = field(kw_only=True)

    def take(self, places: Int[Tensor, "chosen"] | slice) -> EncodedDocument:
        preset = None if self.preset is None else self.preset[places]
        return EncodedDocument(self.hidden[places], self.mask[places], preset, layout=self.layout.take(places))


class Hierarchical(Reader):
    """Follows `AttentionModel`; word weights sum to 1 within each sentence, sentence weights within the document.

    Sentence states hang on the word weights. So `decode` takes the weights of one site or of both and finds those
    that are not given: under other word weights, sentences are attended anew. Given the word weights, the rest is a
    flat classifier whose tokens are the sentences; `at_site` gives it, and everything known of such holds.
    """

    sites: Sequence[str] = (WORD, SENTENCE)
    encoder: nn.ModuleDict  # by site
    alignment: nn.ModuleDict

    def __init__(self, settings: ModelSettings, vectors: Float[Tensor, "vocabulary dimension"], classes: int):
        super().__init__(settings, vectors)
        # the parts of the words are those that any reader has
        sizes = (self.size, settings.hidden, settings.self_projection)
        above = make_encoder(settings.encoder, *sizes)
        self.size: int = above.size  # type: ignore[assignment]
        self.encoder = nn.ModuleDict({WORD: self.encoder, SENTENCE: above})
        self.alignment = nn.ModuleDict({WORD: self.alignment, SENTENCE: make_alignment(settings.alignment, self.size)})
        self.decoder = nn.Linear(self.size, outputs(classes))

    def encode_embedded(self, embedded: Float[Tensor, "batch tokens dimension"], batch: Batch) -> EncodedDocument:
        if batch.sentences is None:
            raise InputError("A hierarchical model needs the sentence of each token, but this batch has none.")
        layout = SentenceLayout.of(batch.sentences, batch.mask)
        states = layout.encode_each(self.encoder[WORD], embedded)
        return EncodedDocument(states, batch.mask, batch.preset, layout=layout)

    def attend(self, encoded: Encoded) -> Weights:
        document = _document(encoded)
        words = self._attend_words(document)
        return {WORD: words, SENTENCE: self._attend_sentences(self._encode_sentences(document, words.unsqueeze(-1)))}

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        document = _document(encoded)
        words = weights[WORD] if WORD in weights else self._attend_words(document)
        sentences = self._encode_sentences(document, words.unsqueeze(-1))
        return self._decode_sentences(sentences, weights.get(SENTENCE))

    def decode_variants(
        self,
        encoded: Encoded,
        weights: Float[Tensor, "chosen variants first"],
        places: Int[Tensor, "chosen"] | None = None,
    ) -> Float[Tensor, "chosen variants classes"]:
        """Logits under several variants of the word weights; the first tokens' are enough where the others' are 0."""
        document = _document(encoded)
        chosen = document if places is None else document.take(places)
        words = nn.functional.pad(weights, (0, chosen.mask.shape[1] - weights.shape[-1])).transpose(1, 2)
        size = max(1, _NUMBERS_AT_ONCE // chosen.hidden.numel())
        logits = [
            self._decode_sentences(self._encode_sentences(chosen, some)).unflatten(0, (-1, some.shape[2]))
            for some in words.split(size, 2)
        ]
        return torch.cat(logits, 1)

    def bias(self) -> Float[Tensor, "classes"]:
        return self._over_sentences().bias()

    def parts(self, encoded: Encoded) -> Int[Tensor, "batch tokens"]:
        """The number of each word's sentence."""
        return _document(encoded).layout.number

    def part_mask(self, encoded: Encoded) -> Bool[Tensor, "batch sentences"]:
        return _document(encoded).layout.document_mask

    def shares(self, encoded: Encoded, weights: Weights) -> Alpha:
        """Each word's share of the document's attention: its weight times that of its sentence."""
        return weights[WORD] * weights[SENTENCE].gather(1, self.parts(encoded))

    def at_site(self, site: str, batch: Batch) -> tuple[Reader, Batch]:
        """The model whose only weights are those of a site, and the batch it reads.

        At the site of the sentences that is a classifier with a "vocabulary" of these documents' sentences, which are
        read with the model's own word weights: each is encoded for itself, so one that is taken out changes no other.
        """
        if site not in self.sites:
            raise unknown_name("site", site, self.sites)
        if site == WORD:
            return self, batch
        encoded = _document(self.encode(batch))
        vectors = self._sentence_vectors(encoded, self._attend_words(encoded).unsqueeze(-1)).squeeze(1)
        table = torch.cat((torch.zeros_like(vectors[:1]), self._unknown_sentence(batch), vectors))
        number = torch.arange(len(SPECIAL), len(table), device=vectors.device)
        classifier = self._over_sentences(embedding=nn.Embedding.from_pretrained(table, padding_idx=PAD))
        ids, mask = encoded.layout.in_documents(number), encoded.layout.document_mask
        return classifier, Batch(ids, mask, batch.rows, batch.labels, preset=self._given_to_sentences(encoded))

    def forward(self, batch: Batch) -> tuple[Float[Tensor, "batch classes"], Weights]:
        encoded = _document(self.encode(batch))
        words = self._attend_words(encoded)
        sentences = self._encode_sentences(encoded, words.unsqueeze(-1))
        weights = self._attend_sentences(sentences)
        return self._decode_sentences(sentences, weights), {WORD: words, SENTENCE: weights}

    def _attend_words(self, encoded: EncodedDocument) -> Alpha:
        if encoded.preset is not None:  # shares of the text
            return encoded.preset / encoded.layout.sentence_sums(encoded.preset).gather(1, encoded.layout.number)
        scores = self.alignment[WORD](encoded.hidden) if self.projection.needs_scores else None
        weights = encoded.layout.project(lambda z, mask: self.projection(z, mask, training=self.training), scores)
        return weights.to(encoded.hidden.dtype)

    def _sentence_vectors(
        self, encoded: EncodedDocument, words: Float[Tensor, "batch tokens variants"]
    ) -> Float[Tensor, "sentences variants size"]:
        return encoded.layout.sums(words, encoded.hidden)

    def _encode_sentences(self, encoded: EncodedDocument, words: Float[Tensor, "batch tokens variants"]) -> Encoded:
        """The states of the sentences; every variant of the word weights makes a document of its own."""
        vectors = encoded.layout.in_documents(self._sentence_vectors(encoded, words)).transpose(1, 2)
        mask = encoded.layout.document_mask.unsqueeze(1).expand(vectors.shape[:3])
        given = self._given_to_sentences(encoded)
        preset = None if given is None else given.unsqueeze(1).expand(vectors.shape[:3]).flatten(0, 1)
        return Encoded(self.encoder[SENTENCE](vectors.flatten(0, 1), mask.flatten(0, 1)), mask.flatten(0, 1), preset)

    def _given_to_sentences(self, encoded: EncodedDocument) -> Float[Tensor, "batch sentences"] | None:
        return None if encoded.preset is None else encoded.layout.sentence_sums(encoded.preset)

    def _attend_sentences(self, sentences: Encoded) -> Float[Tensor, "documents sentences"]:
        (weights,) = self._over_sentences().attend(sentences).values()
        return weights

    def _decode_sentences(
        self, sentences: Encoded, weights: Tensor | None = None
    ) -> Float[Tensor, "documents classes"]:
        weights = self._attend_sentences(sentences) if weights is None else weights
        classifier = self._over_sentences()
        return classifier.decode(sentences, {classifier.sites[0]: weights})

    def _over_sentences(self, **embedding: nn.Embedding) -> Classifier:
        """The upper half of the model, which reads sentences as a flat one reads tokens; the modules are shared."""
        classifier = Classifier.of_parts(
            self.settings,
            encoder=self.encoder[SENTENCE],
            alignment=self.alignment[SENTENCE],
            decoder=self.decoder,
            **embedding,
        )
        classifier.training = self.training
        return classifier

    def _unknown_sentence(self, batch: Batch) -> Float[Tensor, "1 size"]:
        """The vector of a sentence of which nothing is known, for measures that mask one."""
        ids = torch.full_like(batch.ids[:1, :1], UNKNOWN)
        one = self.encode(Batch(ids, torch.ones_like(ids, dtype=torch.bool), batch.rows[:1], sentences=ids * 0))
        return one.hidden[:, 0]  # the only word has all the weight


def _document(encoded: Encoded) -> EncodedDocument:
    assert isinstance(encoded, EncodedDocument)
    return encoded
