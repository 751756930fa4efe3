"""A network seen from one of its layers: `encode` is what lies below its attention, `attend` the weights there,
`decode` what lies above. Whatever number type the network computes in, what it gives is in single precision.

The items of a text are its own word pieces. Special tokens keep their weights: what is given for the items is put back
with the mass that these had. Where the head of the network reads one token, the last layer has one row of weights for
each of its heads; elsewhere each query has rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from attentest.models.pretrained.explaining import explain
from attentest.models.pretrained.layers import chosen, from_layer
from attentest.models.pretrained.layout import Inputs
from attentest.models.pretrained.replaced import replaced, stopping, visited
from attentest.models.pretrained.rows import Row, decide
from attentest.models.pretrained.view import ROW
from attentest.models.protocol import Costs, Encoded, Weights
from attentest.models.rows import in_rows
from attentest.text.batches import Batch

if TYPE_CHECKING:
    from attentest.models.pretrained.model import Pretrained

_TOKENS_AT_ONCE = 32_768  # of copies of texts in the layers above a site
_ROWS_AT_ONCE = 4_096  # of tokens that are run alone


@dataclass(frozen=True)
class LayerEncoded(Encoded):
    """`hidden` and `mask` are of the items; the rest is of all positions, special tokens included."""

    own: Float[Tensor, "batch heads queries keys"] | None = None  # weights at the site
    values: Float[Tensor, "batch heads keys size"] | None = None  # None where the architecture keeps them to itself
    places: Int[Tensor, "batch tokens"] | None = None
    second: Bool[Tensor, "batch tokens"] | None = None  # items of the second text of a pair
    decision: Int[Tensor, "batch"] | None = None  # the position that the head reads, where it is one
    states: Float[Tensor, "batch positions hidden"] | None = None  # that the site's layer reads
    below: Any = None  # what the layer below gives
    input_ids: Int[Tensor, "batch positions"] | None = None
    attention_mask: Int[Tensor, "batch positions"] | None = None
    token_type_ids: Int[Tensor, "batch positions"] | None = None

    @property
    def arguments(self) -> dict[str, Tensor]:
        """Of the network's forward."""
        named = {name: getattr(self, name) for name in ("input_ids", "attention_mask", "token_type_ids")}
        return {name: value for name, value in named.items() if value is not None}

    def take(self, places: Int[Tensor, "chosen"] | slice) -> LayerEncoded:
        every = torch.arange(len(self.mask), device=self.mask.device)[places]
        below = None if self.below is None else chosen(self.below, every)
        rest = {name: value for name, value in vars(self).items() if value is not None and name != "below"}
        return replace(self, below=below, **{name: value[every] for name, value in rest.items()})


class SeenFrom:
    """The protocol at one site of a pretrained network."""

    def __init__(self, model: Pretrained, site: str) -> None:
        self.model, self.site = model, site
        self.sites = (site,)
        self.layer = list(model.sites).index(site)
        head = model.view.head
        self.chosen = list(range(model.heads[site])) if head is None else [head]

    def modules(self) -> Iterator[nn.Module]:
        """So that it is put into eval mode as a module is."""
        return self.model.modules()

    @property
    def one_row(self) -> bool:
        """Whether only the weights of one query matter, the token that the head reads."""
        return self.site == self.model.sites[-1] and self.model.about.decision is not None

    @property
    def shows_rows(self) -> bool:
        """Whether what explains are the weights of the site themselves."""
        return self.model.view.weights in (None, ROW)

    def encode(self, batch: Batch) -> LayerEncoded:
        return self._encoded(batch, None)

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens dimension"]:
        embedded: Tensor = self.model.embeddings(ids).float()
        return embedded

    def encode_embedded(self, embedded: Float[Tensor, "batch tokens dimension"], batch: Batch) -> LayerEncoded:
        return self._encoded(batch, embedded)

    def whole(self, batch: Batch) -> Float[Tensor, "batch classes"]:
        return self.model.whole(batch)

    def costs(self, length: int, site: str | None = None) -> Costs:
        return self.model.costs(length, site or self.site)

    def hiding_id(self) -> int:
        """The network's mask token, or where it was trained without one, padding."""
        return self.model.layout.pad if self.model.layout.mask is None else self.model.layout.mask

    def decode_empty(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        """Of a text without items: of its special tokens and sinks, and of the second text of a pair; equal logits if
        there is nothing to read."""
        if self.model.view.sinks is not None:
            return self._without_items(encoded)
        assert isinstance(encoded, LayerEncoded)
        assert encoded.input_ids is not None
        assert encoded.places is not None
        pair = encoded.second is not None
        left = torch.zeros_like(encoded.mask) if encoded.second is None else encoded.second
        around = self.model.layout.frame("pair" if pair else "single")
        if self.model.layout.special or not (around.size or left.any(1).all()):
            return encoded.hidden.new_zeros(len(encoded.mask), len(self.model.classes))
        order = (~left).byte().argsort(dim=1, stable=True)[:, : int(left.sum(1).max())]
        ids = encoded.input_ids.gather(1, encoded.places.gather(1, order))
        texts = Batch(ids, left.gather(1, order), np.arange(len(ids)), sentences=torch.ones_like(ids) if pair else None)
        return self.model.whole(texts)

    def _without_items(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        assert isinstance(encoded, LayerEncoded)
        assert encoded.places is not None
        assert encoded.attention_mask is not None
        items = encoded.mask if encoded.second is None else encoded.mask & ~encoded.second
        items = torch.where(items.any(1, keepdim=True), items, encoded.mask)  # or nothing would be gone
        gone = torch.zeros_like(encoded.attention_mask).scatter_add(1, encoded.places, items.long()) > 0
        left = encoded.attention_mask.bool() & ~gone
        if not left.any(1).all():
            return encoded.hidden.new_zeros(len(left), len(self.model.classes))
        return self.model.whole_of(self.model.layout.only(left, encoded.arguments))

    def _encoded(self, batch: Batch, embedded: Tensor | None) -> LayerEncoded:
        inputs = self.model.layout.lay_out(batch)
        found: dict[str, Any] = {}

        def record(site: str, weights: Tensor, allowed: Tensor, values: Tensor | None) -> Tensor | None:
            projected = self.model.projected(weights, allowed)
            if site == self.site:
                found.update(own=weights if projected is None else projected, values=values)
                raise stop
            return projected

        sites = self.model.changed_sites([self.site])
        given = self.model.given_embeddings(embedded, inputs.places, batch.mask)
        with stopping() as stop, given, self._reading(found), visited(self.model.network, record, sites):
            self.model.network(**inputs.arguments)
        states = found["states"]
        hidden = states.gather(1, inputs.places.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        return self._with(inputs, batch, hidden=hidden.float(), **found)

    @contextmanager
    def _reading(self, found: dict[str, Any]) -> Iterator[None]:
        """Within, what the site's layer reads is put down, and what the layer below it gave."""
        stack = self.model.about.stack
        if stack is None:  # the whole network is above the embeddings of its word pieces
            with self.model.seen_embeddings(found):
                yield
            return
        layer, below = stack[self.layer], stack[self.layer - 1] if self.layer else None

        def reads(_layer: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
            found["states"] = inputs[0] if inputs else options["hidden_states"]

        def gave(_layer: nn.Module, _inputs: Any, output: Any) -> None:
            found["below"] = output

        with ExitStack() as undo:
            undo.callback(layer.register_forward_pre_hook(reads, with_kwargs=True).remove)
            if below is not None:
                undo.callback(below.register_forward_hook(gave).remove)
            yield

    @contextmanager
    def _above(self, encoded: LayerEncoded) -> Iterator[None]:
        """Within, the network runs from the site's layer on, with these states of the items."""
        stack = self.model.about.stack
        assert encoded.states is not None
        assert encoded.places is not None
        if stack is None:
            with self.model.given_embeddings(encoded.hidden, encoded.places, encoded.mask):
                yield
            return
        places = encoded.places.unsqueeze(-1).expand_as(encoded.hidden)
        moved = (encoded.hidden.to(encoded.states.dtype) - encoded.states.gather(1, places)) * encoded.mask.unsqueeze(
            -1
        )
        states = encoded.states.scatter_add(1, places, moved) if encoded.hidden.requires_grad else encoded.states

        def given(_layer: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            return ((states, *inputs[1:]), options) if inputs else (inputs, {**options, "hidden_states": states})

        kept = [None] * (self.layer - 1) + [encoded.below]
        handle = stack[self.layer].register_forward_pre_hook(given, with_kwargs=True)
        try:
            with from_layer(stack, self.layer, kept):
                yield
        finally:
            handle.remove()

    def attend(self, encoded: Encoded) -> Weights:
        assert isinstance(encoded, LayerEncoded)
        assert encoded.own is not None
        own = self._attended_again(encoded) if encoded.hidden.requires_grad else encoded.own
        return {self.site: self._items(own, encoded)[0]}

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        assert isinstance(encoded, LayerEncoded)
        if self._runs_rows(encoded) and not encoded.hidden.requires_grad:
            return self._decoded_rows(encoded, weights[self.site].unsqueeze(1)).squeeze(1)
        return self._decoded(encoded, self._whole(weights[self.site], encoded))

    def decode_variants(
        self,
        encoded: Encoded,
        weights: Float[Tensor, "chosen variants *rows first"],
        places: Int[Tensor, "chosen"] | None = None,
    ) -> Float[Tensor, "chosen variants classes"]:
        assert isinstance(encoded, LayerEncoded)
        some = encoded if places is None else encoded.take(places)
        assert isinstance(some, LayerEncoded)
        assert some.states is not None
        weights = pad(weights, (0, some.mask.shape[1] - weights.shape[-1]))
        if self._runs_rows(some):
            return self._decoded_rows(some, weights)
        texts, variants = weights.shape[:2]
        every = torch.arange(texts, device=weights.device).repeat_interleave(variants)
        flat = weights.flatten(0, 1)
        at_once = max(1, _TOKENS_AT_ONCE // some.states.shape[1])
        found = [
            self.decode(some.take(text), {self.site: chunk})
            for text, chunk in zip(every.split(at_once), flat.split(at_once), strict=True)
        ]
        return torch.cat(found).reshape(texts, variants, -1)

    def _runs_rows(self, encoded: LayerEncoded) -> bool:
        return self.one_row and self.model.about.row_alone

    def row_shares(self, encoded: Encoded) -> Float[Tensor, "batch *rows"]:
        """In proportion to the mass that a row has on the items: a head that looks at special tokens says little."""
        assert isinstance(encoded, LayerEncoded)
        assert encoded.own is not None
        assert encoded.attention_mask is not None
        mass: Tensor = self._items(encoded.own, encoded)[1].squeeze(-1)
        if not self.one_row:
            mass = mass * encoded.attention_mask.unsqueeze(1)
        every = mass.flatten(1).sum(1).view(-1, *[1] * (mass.dim() - 1))
        return torch.where(every > 0, mass / every.clamp(min=torch.finfo(mass.dtype).tiny), 1 / mass[0].numel())

    def explained(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch tokens"]:
        assert isinstance(encoded, LayerEncoded)
        if not self.shows_rows:
            return self._of_items(explain(self.model, encoded, self.site, self.chosen).float(), encoded)
        found: Tensor = (weights[self.site] * self.row_shares(encoded).unsqueeze(-1)).flatten(1, -2).sum(1)
        return found

    def _of_items(self, shares: Float[Tensor, "batch keys"], encoded: LayerEncoded) -> Float[Tensor, "batch tokens"]:
        """What the items have of an explanation of all positions; the same for each where they have nothing."""
        assert encoded.places is not None
        found = shares.gather(1, encoded.places) * encoded.mask
        found = torch.where(found.sum(1, keepdim=True) > 0, found, encoded.mask.to(found.dtype))
        return found / found.sum(1, keepdim=True)

    def shown(self, own: Tensor, inputs: Inputs, batch: Batch) -> Float[Tensor, "batch tokens"]:
        """One weight for each item, of the site's own, or of the only query of each text that has weights."""
        found = self._with(inputs, batch, own=own, hidden=own)
        if self.one_row and own.shape[2] == 1:
            found = replace(found, decision=torch.zeros_like(inputs.attention_mask[:, 0]))
        return self.explained(found, {self.site: self._items(own, found)[0]})

    def _with(self, inputs: Inputs, batch: Batch, **found: Any) -> LayerEncoded:
        return LayerEncoded(
            mask=batch.mask,
            places=inputs.places,
            second=None if batch.sentences is None else batch.mask & (batch.sentences == 1),
            decision=self.model.deciding(inputs),
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            token_type_ids=inputs.token_type_ids,
            **found,
        )

    def _rows_of(self, whole: Tensor, encoded: LayerEncoded) -> Float[Tensor, "batch *rows keys"]:
        """One row for each head, of the query that decides, or one for each head and query."""
        if not self.one_row:
            return whole
        assert encoded.decision is not None
        return whole[torch.arange(len(whole), device=whole.device), :, encoded.decision]

    def _items(self, whole: Tensor, encoded: LayerEncoded) -> tuple[Tensor, Tensor]:
        """The weights of the items in the rows of the chosen heads, which sum to 1, and the mass that they had."""
        rows = self._rows_of(whole, encoded)[:, self.chosen].float()
        assert encoded.places is not None
        real = in_rows(encoded.mask, rows.shape[1:-1])
        found = rows.gather(-1, in_rows(encoded.places, rows.shape[1:-1])) * real
        mass = found.sum(-1, keepdim=True)
        even = real / real.sum(-1, keepdim=True)  # of a query that sees no item: the first ones of a causal network
        return torch.where(mass > 0, found / mass.clamp(min=torch.finfo(found.dtype).tiny), even), mass

    def _with_special(
        self, weights: Float[Tensor, "batch variants *rows tokens"], encoded: LayerEncoded
    ) -> Float[Tensor, "batch variants *rows keys"]:
        """The rows of all heads over all positions, with these weights for the items in those of the chosen heads."""
        assert encoded.own is not None
        assert encoded.places is not None
        rows = self._rows_of(encoded.own, encoded).float()
        own, mass = self._items(encoded.own, encoded)
        inner = own.shape[1:-1]
        change = ((weights - own.unsqueeze(1)) * mass.unsqueeze(1)) * in_rows(encoded.mask, (1, *inner))
        # padding of the batch has the place of some token, and changes nothing there
        places = in_rows(encoded.places, (weights.shape[1], *inner))
        every = rows.unsqueeze(1).expand(-1, weights.shape[1], *rows.shape[1:])
        changed = every[:, :, self.chosen].scatter_add(-1, places, change)
        if len(self.chosen) == rows.shape[1]:
            return changed
        return every.index_copy(2, torch.tensor(self.chosen, device=rows.device), changed)

    def _whole(self, weights: Tensor, encoded: LayerEncoded) -> Float[Tensor, "batch heads queries keys"]:
        """All weights of the site, with these for the items."""
        assert encoded.own is not None
        new = self._with_special(weights.unsqueeze(1), encoded).squeeze(1).to(encoded.own.dtype)
        if not self.one_row:
            return new
        assert encoded.decision is not None
        query = encoded.decision.view(-1, 1, 1, 1).expand(-1, new.shape[1], 1, new.shape[2])
        return encoded.own.scatter(2, query, new.unsqueeze(2))

    def _decoded(self, encoded: LayerEncoded, whole: Tensor) -> Float[Tensor, "batch classes"]:
        def change(site: str, weights: Tensor, allowed: Tensor) -> Tensor | None:
            return whole if site == self.site else self.model.projected(weights, allowed)

        with self._above(encoded), replaced(self.model.network, change, self.model.changed_sites([self.site])):
            return self.model.logits(self.model.network(**encoded.arguments))

    def _attended_again(self, encoded: LayerEncoded) -> Float[Tensor, "batch heads queries keys"]:
        """The weights as a function of the states, so that these can be differentiated by."""
        found: dict[str, Tensor] = {}

        def record(site: str, weights: Tensor, allowed: Tensor) -> Tensor | None:
            given = self.model.projected(weights, allowed)
            if site == self.site:
                found[site] = weights if given is None else given
                raise stop
            return given

        sites = self.model.changed_sites([self.site])
        with stopping() as stop, self._above(encoded), replaced(self.model.network, record, sites):
            self.model.network(**encoded.arguments)
        return found[self.site]

    def _decoded_rows(
        self, encoded: LayerEncoded, weights: Float[Tensor, "batch variants heads tokens"]
    ) -> Float[Tensor, "batch variants classes"]:
        """Many rows of the deciding token at once: the network reads nothing but that token."""
        stack, values, states = self.model.about.stack, encoded.values, encoded.states
        assert stack is not None
        assert values is not None
        assert states is not None
        assert encoded.decision is not None
        one = torch.arange(len(weights), device=weights.device), encoded.decision, None
        row = Row(values, states[one], {name: given[one] for name, given in encoded.arguments.items()})
        found = [
            decide(self.model.network, stack, row, self._with_special(some, encoded))
            for some in weights.split(max(1, _ROWS_AT_ONCE // len(weights)), 1)
        ]
        return self.model.logits(torch.cat(found, 1))
