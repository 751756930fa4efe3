"""A Hugging Face classifier, or a module of your own around such an encoder, through the protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.pretrained.architectures import logits_of, pretrained_parts
from attentest.models.pretrained.explaining import ROW, check_explanation
from attentest.models.pretrained.inspection import About, uniform_over
from attentest.models.pretrained.layers import from_layer, keeping
from attentest.models.pretrained.layout import Inputs, Layout
from attentest.models.pretrained.replaced import Seen, look, replaced
from attentest.models.pretrained.seen_from import LayerEncoded, SeenFrom
from attentest.models.protocol import Change, Encoded, Weights
from attentest.text.batches import Batch


class Pretrained(nn.Module):
    """Trials look at one of its layers, the last one unless told.

    `outputs` are those of the head, class by class; -1 is a logit of 0: the first class of a head with one output.
    `head` is the only one whose weights are examined and changed [all], `explained_by` names what is shown as
    attention, and the projection `uniform` has uniform weights in every layer.
    """

    def __init__(
        self,
        network: nn.Module,
        layout: Layout,
        about: About,
        outputs: Sequence[int],
        *,
        projection: str = "softmax",
        head: int | None = None,
        explained_by: str = ROW,
    ) -> None:
        super().__init__()
        self.network, self.layout, self.about, self.outputs = network, layout, about, list(outputs)
        self.projection, self.head, self.explained_by = projection, head, explained_by
        self.training = network.training
        self._below: tuple[Batch, list[object]] | None = None  # of the batch that `changed` was last asked about
        if head is not None and not 0 <= head < min(self.heads.values()):
            raise InputError(f"head is {head}; the heads of this model are 0 to {min(self.heads.values()) - 1}.")

        check_explanation(explained_by, about)

    def logits(self, output: object) -> Float[Tensor, "*batch classes"]:
        """Of the corpus's classes, from what the network gives."""
        found = logits_of(output).float()
        return torch.cat((found, torch.zeros_like(found[..., :1])), -1)[..., self.outputs]

    @property
    def sites(self) -> Sequence[str]:
        return self.about.sites.names

    @property
    def heads(self) -> Mapping[str, int]:
        return self.about.sites.heads

    def at_site(self, site: str, batch: Batch) -> tuple[SeenFrom, Batch]:
        return SeenFrom(self, site), batch

    @property
    def _last(self) -> SeenFrom:
        return SeenFrom(self, self.sites[-1])

    def encode(self, batch: Batch) -> LayerEncoded:
        return self._last.encode(batch)

    def attend(self, encoded: Encoded) -> Weights:
        return self._last.attend(encoded)

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        return self._last.decode(encoded, weights)

    def decode_variants(
        self, encoded: Encoded, weights: Tensor, places: Int[Tensor, "chosen"] | None = None
    ) -> Float[Tensor, "chosen variants classes"]:
        return self._last.decode_variants(encoded, weights, places)

    def row_shares(self, encoded: Encoded) -> Float[Tensor, "batch *rows"]:
        return self._last.row_shares(encoded)

    def explained(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch tokens"]:
        return self._last.explained(encoded, weights)

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens dimension"]:
        return self._last.embed(ids)

    def encode_embedded(self, embedded: Float[Tensor, "batch tokens dimension"], batch: Batch) -> LayerEncoded:
        return self._last.encode_embedded(embedded, batch)

    def changed(
        self, batch: Batch, change: Change, sites: Collection[str] | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Layers below the first site that changes give what they gave when this batch was first asked about."""
        inputs = self.layout.lay_out(batch)
        chosen = list(self.sites) if sites is None else [site for site in self.sites if site in sites]
        first = list(self.sites).index(chosen[0]) if chosen else 0
        with self._from(first, batch, inputs), replaced(self.network, self._also_projected(change, chosen), chosen):
            return self.logits(self.network(**inputs.arguments))

    def values_at(self, batch: Batch, site: str) -> Seen:
        """Weights, what is allowed, and values, of every head and query at a site."""
        return look(self.network, self.layout.lay_out(batch).arguments, [site])[site]

    def forward(self, batch: Batch) -> tuple[Float[Tensor, "batch classes"], Weights]:
        """For training: logits, and the weights of the last layer as they are shown."""
        last, inputs = self._last, self.layout.lay_out(batch)
        found: list[Tensor] = []

        def record(site: str, weights: Tensor, allowed: Tensor) -> Tensor | None:
            given = self.projected(weights, allowed)
            if site == last.site:
                found.append(weights if given is None else given)
            return given

        with replaced(self.network, record, self.changed_sites([last.site])):
            logits = self.logits(self.network(**inputs.arguments))
        return logits, {last.site: last.shown(found[0], inputs, batch)}

    def projected(self, weights: Tensor, allowed: Tensor) -> Tensor | None:
        """What the model's own projection makes of the weights that the network found."""
        return uniform_over(allowed, weights.dtype) if self.projection == "uniform" else None

    def changed_sites(self, sites: Collection[str]) -> Collection[str]:
        """Those that a run must stop at."""
        return self.sites if self.projection == "uniform" else sites

    def _also_projected(self, change: Change, sites: Collection[str]) -> Change:
        if self.projection != "uniform":
            return change
        return lambda site, weights, allowed: change(site, uniform_over(allowed, weights.dtype), allowed)

    @property
    def embeddings(self) -> nn.Module:
        """Of word pieces."""
        module: nn.Module = pretrained_parts(self.network)[0].get_input_embeddings()
        return module

    @contextmanager
    def given_embeddings(self, embedded: Tensor | None, places: Tensor, mask: Tensor) -> Iterator[None]:
        """Within, the items at these places have these embeddings, or their own."""
        if embedded is None:
            yield
            return

        def give(_module: nn.Module, _inputs: object, own: Tensor) -> Tensor:
            at = places.unsqueeze(-1).expand_as(embedded)
            return own.scatter_add(1, at, (embedded - own.gather(1, at)) * mask.unsqueeze(-1))

        handle = self.embeddings.register_forward_hook(give)
        try:
            yield
        finally:
            handle.remove()

    @contextmanager
    def seen_embeddings(self, found: dict[str, Any]) -> Iterator[None]:
        """Within, the embeddings of a run are put down as its states."""
        handle = self.embeddings.register_forward_hook(lambda _module, _inputs, own: found.update(states=own))
        try:
            yield
        finally:
            handle.remove()

    @contextmanager
    def _from(self, first: int, batch: Batch, inputs: Inputs) -> Iterator[None]:
        """Within, layers below the first give what was kept of this batch."""
        stack = self.about.stack
        if stack is None or first == 0 or self.projection == "uniform" or torch.is_grad_enabled():
            yield
            return
        if self._below is None or self._below[0] is not batch:
            with keeping(stack) as kept:
                self.network(**inputs.arguments)
            self._below = batch, kept
        with from_layer(stack, first, self._below[1]):
            yield
