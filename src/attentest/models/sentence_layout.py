"""The sentences of a batch of documents: real ones only, however many each document has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

_SHORT, _PARTS = 8, 2  # sentences up to so long are alike, and longer ones in so many groups to a doubling

Tokens = Float[Tensor, "batch tokens size"]
Words = Float[Tensor, "sentences words"]


@dataclass(frozen=True)
class SentenceLayout:
    """Sentences one after the other, in the order of the texts; the real tokens in that order are the `words`."""

    mask: Bool[Tensor, "batch tokens"]
    number: Int[Tensor, "batch tokens"]  # of each token's sentence in its document; 0 on padding
    sentence: Int[Tensor, "words"]  # the sentence that each word stands in
    document: Int[Tensor, "sentences"]
    first: Int[Tensor, "sentences"]  # the place of a sentence's first token in its document
    lengths: Int[Tensor, "sentences"]

    @classmethod
    def of(cls, sentences: Int[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"]) -> SentenceLayout:
        """A sentence begins where the number changes, so numbers may be missing where a sentence was taken out."""
        begins = mask & pad(sentences[:, 1:] != sentences[:, :-1], (1, 0), value=True)
        document, first = begins.nonzero(as_tuple=True)
        sentence = begins[mask].cumsum(0) - 1
        number = (begins.cumsum(1) - 1).masked_fill(~mask, 0)
        return cls(mask, number, sentence, document, first, sentence.bincount(minlength=len(document)))

    @property
    def place(self) -> Int[Tensor, "sentences"]:
        """The number of each sentence in its document."""
        return self.number[self.document, self.first]

    @property
    def document_mask(self) -> Bool[Tensor, "batch places"]:
        """True where a document has a sentence."""
        counts = self.number.amax(1, keepdim=True) + 1
        return torch.arange(int(counts.max()), device=counts.device) < counts

    def take(self, documents: Int[Tensor, "chosen"] | slice) -> SentenceLayout:
        return SentenceLayout.of(self.number[documents], self.mask[documents])

    def in_documents(self, values: Tensor) -> Tensor:
        """(sentences, …) as (batch, places, …), with zeros where a document has no more sentences."""
        mask = self.document_mask
        flat = values.new_zeros(mask.numel(), *values.shape[1:])
        return flat.index_copy(0, self.document * mask.shape[1] + self.place, values).view(*mask.shape, *flat.shape[1:])

    def encode_each(self, encoder: Callable[[Tensor, Tensor], Tensor], embedded: Tokens) -> Tokens:
        """The states of the words, each sentence encoded for itself."""
        flat, states, at = embedded.flatten(0, 1), [], []
        for some in self._alike():
            places, real = self._places(some)
            found = encoder(flat.index_select(0, places.flatten()).view(*places.shape, -1), real)
            states.append(found.flatten(0, 1).index_select(0, real.flatten().nonzero().squeeze(1)))
            at.append(places[real])
        return self._in_batch(torch.cat(states), torch.cat(at))

    def project(
        self, projection: Callable[[Words | None, Bool[Tensor, "sentences words"]], Words], scores: Tensor | None
    ) -> Float[Tensor, "batch tokens"]:
        """Weights over the words of each sentence, in the layout of the batch."""
        weights, at = [], []
        for some in self._alike():
            places, real = self._places(some)
            weights.append(projection(None if scores is None else scores.flatten()[places], real)[real])
            at.append(places[real])
        return self._in_batch(torch.cat(weights), torch.cat(at))

    def sums(
        self, weights: Float[Tensor, "batch tokens variants"], states: Tokens
    ) -> Float[Tensor, "sentences variants size"]:
        """Σ weight · state over the words of each sentence, for several variants of the weights."""
        words = self.mask.flatten().nonzero().squeeze(1)
        given, states = (values.flatten(0, 1).index_select(0, words) for values in (weights, states))
        weighed = given.unsqueeze(2) * states.unsqueeze(1)
        return weighed.new_zeros(len(self.lengths), *weighed.shape[1:]).index_add(0, self.sentence, weighed)

    def sentence_sums(self, shares: Float[Tensor, "batch tokens"]) -> Float[Tensor, "batch places"]:
        """What the words of each sentence have together."""
        sums = shares.new_zeros(self.document_mask.shape)
        return sums.scatter_add(1, self.number, shares * self.mask)

    def _in_batch(self, values: Tensor, places: Int[Tensor, "words"]) -> Tensor:
        """(words, …) as (batch, tokens, …), with zeros on padding."""
        flat = values.new_zeros(self.mask.numel(), *values.shape[1:])
        return flat.index_copy(0, places, values).view(*self.mask.shape, *values.shape[1:])

    def _places(
        self, some: Int[Tensor, "sentences"]
    ) -> tuple[Int[Tensor, "sentences words"], Bool[Tensor, "sentences words"]]:
        """Where the words of these sentences stand in the flattened batch, and which of them are real."""
        step = torch.arange(int(self.lengths[some].max()), device=some.device)
        real = step < self.lengths[some].unsqueeze(1)
        start = self.document[some] * self.mask.shape[1] + self.first[some]
        return (start.unsqueeze(1) + step).where(real, start.unsqueeze(1)), real

    def _alike(self) -> Iterator[Int[Tensor, "some"]]:
        """All sentences, those of about the same length together: the longest would pad the others many times over."""
        octave = (self.lengths.clamp(min=_SHORT).to(torch.float64).log2() * _PARTS).ceil()
        for one in octave.unique():
            yield (octave == one).nonzero().squeeze(1)
