"""A Hugging Face classifier, or a module of your own around such an encoder, through the protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.errors import InputError, unknown_name
from attentest.models.pretrained.architectures import logits_of, pretrained_parts
from attentest.models.pretrained.costs import costs_of
from attentest.models.pretrained.explaining import check_explanation
from attentest.models.pretrained.inspection import About, inspect_network, probe, uniform_over
from attentest.models.pretrained.layers import from_layer, keeping
from attentest.models.pretrained.layout import Inputs, Layout
from attentest.models.pretrained.replaced import Seen, look, replaced
from attentest.models.pretrained.rows import deciding_places, run_row
from attentest.models.pretrained.seen_from import LayerEncoded, SeenFrom
from attentest.models.pretrained.view import View
from attentest.models.protocol import Change, Costs, Encoded, Weights
from attentest.text.batches import Batch


class Pretrained(nn.Module):
    """Trials look at one of its layers, the last one unless told.

    `classes` has the head's output for each class; -1 is a logit of 0: the first class of a head with one output.
    The projection `uniform` has uniform weights in every layer.
    """

    def __init__(
        self,
        network: nn.Module,
        layout: Layout,
        classes: Sequence[int],
        about: About | None = None,
        *,
        projection: str = "softmax",
        view: View | None = None,
    ) -> None:
        super().__init__()
        self.network, self.layout, self.classes = network, layout, list(classes)
        self.about = inspect_network(network, probe(network, layout)) if about is None else about
        self.projection, self.view = projection, view or View()
        self.training = network.training
        self._below: tuple[Batch, list[object]] | None = None  # of the batch that `changed` was last asked about
        self._check_view()

    def seen(self, view: View) -> Pretrained:
        """The same network, looked at otherwise."""
        layout = replace(self.layout, special=view.special)
        return Pretrained(self.network, layout, self.classes, self.about, projection=self.projection, view=view)

    def computed_in(self, dtype: torch.dtype) -> Pretrained:
        """A copy whose weights have this number type; looked at anew, for it rounds otherwise."""
        network = deepcopy(self.network).to(dtype)
        return Pretrained(network, self.layout, self.classes, projection=self.projection, view=self.view)

    def _check_view(self) -> None:
        head, site, weights = self.view.head, self.view.site, self.view.weights
        if site is not None and site not in self.sites:
            raise unknown_name("site", site, self.sites)
        if head is not None and not 0 <= head < min(self.heads.values()):
            raise InputError(f"head is {head}; the heads of this model are 0 to {min(self.heads.values()) - 1}.")
        if weights is not None:
            check_explanation(weights, self.about)

    def logits(self, output: object) -> Float[Tensor, "*batch classes"]:
        """Of the corpus's classes, from what the network gives."""
        found = logits_of(output).float()
        return torch.cat((found, torch.zeros_like(found[..., :1])), -1)[..., self.classes]

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
        return SeenFrom(self, self.view.site or self.sites[-1])

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

    def whole(self, batch: Batch) -> Float[Tensor, "batch classes"]:
        """The network as it is, with its own attention function, unless its weights are uniform.

        Of its last layer nothing runs but the token that the head reads, where it can run alone.
        """
        inputs = self.layout.lay_out(batch)
        if self.projection != "uniform" and self.about.row_alone:
            return self._run_row(inputs)[0]
        return self.whole_of(inputs.arguments)

    def whole_of(self, arguments: Mapping[str, Tensor]) -> Float[Tensor, "batch classes"]:
        if self.projection != "uniform":
            return self.logits(self.network(**arguments))
        with replaced(self.network, lambda _, weights, allowed: self.projected(weights, allowed)):
            return self.logits(self.network(**arguments))

    def costs(self, length: int, site: str | None = None) -> Costs:
        return costs_of(self, site or self.view.site or self.sites[-1], length)

    def changed(
        self, batch: Batch, change: Change, sites: Collection[str] | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Layers below the first site that changes give what they gave when this batch was first asked about."""
        inputs = self.layout.lay_out(batch)
        chosen = list(self.sites) if sites is None else [site for site in self.sites if site in sites]
        first = list(self.sites).index(chosen[0]) if chosen else 0
        visited = self.changed_sites(chosen)
        with self._from(first, batch, inputs), replaced(self.network, self._also_projected(change, chosen), visited):
            return self.logits(self.network(**inputs.arguments))

    def values_at(self, batch: Batch, site: str) -> tuple[Tensor, Tensor | None, Tensor]:
        """Weights, values (None where the architecture keeps them to itself), and what is allowed."""
        seen = self.look(self.layout.lay_out(batch).arguments, [site])[site]
        return seen.weights, seen.values, seen.allowed

    def look(self, inputs: Mapping[str, Tensor], sites: Collection[str]) -> dict[str, Seen]:
        """What the model has at these sites under its own projection."""
        change = None if self.projection != "uniform" else lambda _, weights, allowed: self.projected(weights, allowed)
        return look(self.network, inputs, sites, change)

    def special_keys(self, batch: Batch) -> Bool[Tensor, "batch positions"]:
        return self.layout.lay_out(batch).special

    def forward(self, batch: Batch) -> tuple[Float[Tensor, "batch classes"], Weights]:
        """For training: logits, and the weights of the last layer as they are shown."""
        last, inputs = self._last, self.layout.lay_out(batch)
        if last.one_row and last.shows_rows and self.projection != "uniform" and self.about.row_alone:
            logits, weights = self._run_row(inputs)
            return logits, {last.site: last.shown(weights.unsqueeze(2), inputs, batch)}
        found: list[Tensor] = []

        def record(site: str, weights: Tensor, allowed: Tensor) -> Tensor | None:
            given = self.projected(weights, allowed)
            if site == last.site:
                found.append(weights if given is None else given)
            return given

        with replaced(self.network, record, self.changed_sites([last.site])):
            logits = self.logits(self.network(**inputs.arguments))
        return logits, {last.site: last.shown(found[0], inputs, batch)}

    def deciding(self, inputs: Inputs) -> Int[Tensor, "batch"] | None:
        """Where the token that the head reads stands, if it is one; the first where a text has no id but padding's."""
        if self.about.decision is None:
            return None
        read = inputs.attention_mask
        if self.about.skips_padding:
            read = read * (inputs.input_ids != self.layout.pad)
        return deciding_places(self.about.decision, read) * read.any(1)

    def _run_row(self, inputs: Inputs) -> tuple[Float[Tensor, "batch classes"], Float[Tensor, "batch heads keys"]]:
        """Logits, and the weights of the token that the head reads."""
        assert self.about.stack is not None
        places = self.deciding(inputs)
        assert places is not None
        logits, row = run_row(self.network, self.about.stack, inputs.arguments, places)
        return self.logits(logits), row.weights

    def projected(self, weights: Tensor, allowed: Tensor) -> Tensor | None:
        """What the model's own projection makes of the weights that the network found."""
        return uniform_over(allowed, weights.dtype) if self.projection == "uniform" else None

    def changed_sites(self, sites: Collection[str]) -> Collection[str] | None:
        """Those that a run must stop at: all, where their weights are not the network's own."""
        return None if self.projection == "uniform" else sites

    def _also_projected(self, change: Change, sites: Collection[str]) -> Change:
        """The change at these sites, of the weights that the model's own projection gives at all."""
        if self.projection != "uniform":
            return change

        def projected(site: str, weights: Tensor, allowed: Tensor) -> Tensor:
            own = uniform_over(allowed, weights.dtype)
            given = change(site, own, allowed) if site in sites else None
            return own if given is None else given

        return projected

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
            at, texts = places.unsqueeze(-1).expand_as(embedded), self._texts_first(own)
            moved = (embedded.to(texts.dtype) - texts.gather(1, at)) * mask.unsqueeze(-1)
            return self._texts_first(texts.scatter_add(1, at, moved))

        handle = self.embeddings.register_forward_hook(give)
        try:
            yield
        finally:
            handle.remove()

    @contextmanager
    def seen_embeddings(self, found: dict[str, Any]) -> Iterator[None]:
        """Within, the embeddings of a run are put down as its states."""

        def see(_module: nn.Module, _inputs: object, own: Tensor) -> None:
            found["states"] = self._texts_first(own)

        handle = self.embeddings.register_forward_hook(see)
        try:
            yield
        finally:
            handle.remove()

    def _texts_first(self, embedded: Tensor) -> Tensor:
        """XLNet has its tokens on the first axis and its texts on the second."""
        turned = pretrained_parts(self.network)[0].config.model_type == "xlnet"
        return embedded.transpose(0, 1) if turned else embedded

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
