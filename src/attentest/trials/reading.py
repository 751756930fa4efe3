"""Texts as a model reads them: encoded once, decoded as often as a trial changes the weights."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.errors import InputError, unknown_name
from attentest.measures.divergences import jsd, tvd
from attentest.models.protocol import (
    AffineModel,
    AttentionModel,
    Encoded,
    MultiSiteModel,
    PartsModel,
    RowsModel,
    SizedModel,
    ValuesModel,
    VariantsModel,
    Weights,
    added_tokens,
    provides,
)
from attentest.text.batches import TOKENS_AT_ONCE, Batch, inference_batches
from attentest.text.prepare import TokenizedCorpus

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Reading:
    """A batch of texts with the model's own weights at one site, and its logits for them.

    Items that are attended to are called tokens here; at the site of a hierarchical model's sentences they are these.
    """

    model: AttentionModel
    batch: Batch
    encoded: Encoded
    weights: Float[Tensor, "batch *rows tokens"]
    logits: Float[Tensor, "batch classes"]
    site: str = "token"  # of the model: where its weights are changed
    within: Int[Tensor, "batch tokens"] | None = None  # parts of a text in which weights sum to 1; None: all of it
    shares: Float[Tensor, "batch tokens"] | None = None  # of the text's attention, where there are such parts or rows
    row_shares: Float[Tensor, "batch *rows"] | None = None  # how much each row counts, where there are several
    tokens_at_once: int = TOKENS_AT_ONCE  # of copies of these texts that are read again
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)  # what several trials ask of these texts

    def once(self, key: Hashable, find: Callable[[], Answer]) -> Answer:
        if key not in self.kept:
            self.kept[key] = find()
        answer: Answer = self.kept[key]
        return answer

    @property
    def by_site(self) -> Weights:
        return {self.site: self.weights}

    @property
    def inner(self) -> torch.Size:
        """The shape of a text's rows of weights: heads, or heads × queries; empty where there is one row alone."""
        return self.weights.shape[1:-1]

    def over_rows(self, values: Float[Tensor, "batch *rows tokens"]) -> Float[Tensor, "batch tokens"]:
        """Summed for each token."""
        return values.flatten(1, -2).sum(1) if self.inner else values

    @property
    def attention(self) -> Float[Tensor, "batch tokens"]:
        """How much of the text's attention each token has: the weights, unless there are several rows or parts."""
        return self.weights if self.shares is None else self.shares

    @property
    def mask(self) -> Bool[Tensor, "batch tokens"]:
        return self.batch.mask

    @property
    def rows(self) -> Int[np.ndarray, "batch"]:
        return self.batch.rows

    @cached_property
    def lengths(self) -> Int[Tensor, "batch"]:
        return self.mask.sum(1)

    @cached_property
    def probabilities(self) -> Float[Tensor, "batch classes"]:
        return self.logits.softmax(-1)

    @cached_property
    def predicted(self) -> Int[Tensor, "batch"]:
        return self.logits.argmax(-1)

    @cached_property
    def token_logits(self) -> Float[Tensor, "batch tokens classes"] | None:
        """What each token adds to the logits at weight 1, where the decoder is affine; else None."""
        return self.model.token_logits(self.encoded).detach() if provides(self.model, AffineModel) else None

    @cached_property
    def values(self) -> Float[Tensor, "batch tokens size"] | None:
        """What the weights act on, where the model tells: decode(α) = finish(α @ values)."""
        return self.model.values(self.encoded).detach() if provides(self.model, ValuesModel) else None

    @cached_property
    def bias(self) -> Float[Tensor, "classes"] | None:
        return self.model.bias().detach() if provides(self.model, AffineModel) else None

    @cached_property
    def margins(self) -> Float[Tensor, "batch tokens"] | None:
        """For two classes and an affine decoder: how far each token alone pulls to class 1, the bias included."""
        if self.token_logits is None or self.logits.shape[1] != 2:
            return None
        assert self.bias is not None
        return (self.token_logits[..., 1] - self.token_logits[..., 0]) + (self.bias[1] - self.bias[0])

    def decode(
        self, weights: Float[Tensor, "batch variants *rows first"], places: Tensor | None = None
    ) -> Float[Tensor, "batch variants classes"]:
        """Logits under other weights, several variants a text; `places` chooses texts of the batch.

        Weights of the first tokens only are enough where the others' are 0.
        """
        chosen = slice(None) if places is None else places
        if self.margins is not None:
            margin = self._margin(weights, chosen)
            return torch.stack((torch.zeros_like(margin), margin), -1)
        if self.token_logits is not None:
            assert self.bias is not None
            return weights @ self.token_logits[chosen, : weights.shape[-1]] + self.bias
        if provides(self.model, VariantsModel):
            model, at_once = self.model, self.variants_at_once(weights.shape[1])
            return torch.cat([model.decode_variants(self.encoded, w, places) for w in weights.split(at_once, 1)], 1)
        if provides(self.model, ValuesModel):
            assert self.values is not None
            weighted = weights @ self.values[chosen, : weights.shape[-1]]
            return self.model.finish(weighted, self.encoded.take(chosen))
        return self._decode_each(weights, chosen)

    def variants_at_once(self, most: int) -> int:
        """How many variants of the weights of all texts there may be at a time: `most`, or as many as fit beside what
        is kept of the texts."""
        if not provides(self.model, SizedModel):
            return most
        aside = 0 if self.batch.aside is None else self.batch.aside.shape[1]
        costs = self.model.costs(self.mask.shape[1] + aside)
        return max(1, min(most, self.tokens_at_once * costs.token // (2 * len(self.batch) * costs.variant)))

    def moved(
        self, weights: Float[Tensor, "batch variants *rows first"], places: Tensor | None = None
    ) -> Float[Tensor, "batch variants"]:
        """TVD(ŷ, ŷ under other weights)."""
        chosen = slice(None) if places is None else places
        if self.margins is not None:
            # in float64: near 0 and 1 the probabilities of float32 are coarser than their differences
            own = (self.logits[:, 1] - self.logits[:, 0])[chosen].double().sigmoid()
            return (self._margin(weights, chosen).double().sigmoid() - own.unsqueeze(1)).abs().to(weights.dtype)
        # variants side by side: a softmax over a last axis of few classes is several times slower
        probabilities = self.decode(weights, places).transpose(1, 2).softmax(1).transpose(1, 2)
        return tvd(probabilities, self.probabilities[chosen].unsqueeze(1))

    def apart(
        self,
        weights: Float[Tensor, "batch variants *rows tokens"],
        others: Float[Tensor, "batch variants *rows tokens"],
    ) -> Float[Tensor, "batch variants"]:
        """JSD of two distributions; the mean over the parts or rows of a text, where it has some."""
        if self.row_shares is not None:
            distances = jsd(weights, others) * self.row_shares.unsqueeze(1)
            return distances.flatten(2).sum(2)
        parts = 1 if self.within is None else self.within.amax(1, keepdim=True) + 1
        return jsd(weights, others, parts)

    def _margin(self, weights: Tensor, chosen: Tensor | slice) -> Tensor:
        # weights sum to 1, so the bias can stand in every token's margin
        assert self.margins is not None
        column = self.margins[chosen, : weights.shape[-1]].unsqueeze(-1)
        if weights.is_cpu and not weights.requires_grad:  # torch is five times slower at products with one column
            return torch.from_numpy(np.matmul(weights.numpy(), column.numpy())).squeeze(-1)
        return (weights @ column).squeeze(-1)

    def _decode_each(self, weights: Tensor, chosen: Tensor | slice) -> Tensor:
        """The general path: one call of the model's decoder a variant."""
        encoded = self.encoded.take(chosen)
        weights = torch.nn.functional.pad(weights, (0, self.mask.shape[1] - weights.shape[-1]))
        return torch.stack([self.model.decode(encoded, {self.site: w}) for w in weights.unbind(1)], 1)


def readings(
    model: AttentionModel,
    data: TokenizedCorpus,
    rows: np.ndarray,
    device: torch.device | str = "cpu",
    max_padded: int = TOKENS_AT_ONCE,
    site: str | None = None,
) -> Iterator[Reading]:
    """Every text of `rows`, shortest first, within bounded memory; a model that gives NaN is refused."""
    for batch in inference_batches(data, rows, max_padded, added_tokens(model)):
        with torch.no_grad():
            reading = replace(read(model, batch.to(device), site), tokens_at_once=max_padded)
        broken = np.flatnonzero(~reading.logits.isfinite().all(1).cpu().numpy())
        if len(broken):
            row = int(data.rows[reading.rows[broken[0]]])
            raise InputError(
                f"The model gives {reading.logits[int(broken[0])].tolist()} for the text with id "
                f"'{data.corpus.table['id'][row]}'; logits must be finite."
            )
        yield reading
        del reading  # before the next is read


def read(model: AttentionModel, batch: Batch, site: str | None = None) -> Reading:
    """Read at a site of the model, the last one unless another is named."""
    site = check_site(model, site)
    if provides(model, MultiSiteModel):
        model, batch = model.at_site(site, batch)
        site = site if site in model.sites else model.sites[0]
    encoded = model.encode(batch)
    weights = model.attend(encoded)
    reading = Reading(model, batch, encoded, weights[site], model.decode(encoded, weights), site)
    if provides(model, PartsModel):
        reading = replace(reading, within=model.parts(encoded), shares=model.shares(encoded, weights))
    if provides(model, RowsModel):
        shares, row_shares = model.explained(encoded, weights), model.row_shares(encoded)
        reading = replace(reading, shares=shares, row_shares=row_shares)
    return reading


def check_site(model: AttentionModel, site: str | None) -> str:
    if site is not None and site not in model.sites:
        raise unknown_name("site", site, model.sites)
    return model.sites[-1] if site is None else site
