"""A Transformer encoder–decoder (Vaswani et al. 2017) with norms before the layers; every weight can be changed."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.protocol import Change
from attentest.models.transformer import sinusoids
from attentest.translation.interventions import Steps, unchanged
from attentest.translation.model import Tensors, Translator
from attentest.translation.settings import TranslationModel

States = Float[Tensor, "batch tokens hidden"]
InHeads = Float[Tensor, "batch heads tokens size"]
Allowed = Bool[Tensor, "batch 1 queries keys"]


class Attention(nn.Module):
    """Scaled dot products in several heads; keys and values are made apart from it, so that they can be kept."""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.leave = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.source = nn.Linear(hidden, 2 * hidden)
        self.drop = nn.Dropout(dropout)

    def keys_and_values(self, states: States) -> tuple[InHeads, InHeads]:
        keys, values = self.source(states).chunk(2, -1)
        return self._in_heads(keys), self._in_heads(values)

    def forward(
        self, site: str, states: States, keys: InHeads, values: InHeads, allowed: Allowed, change: Change
    ) -> States:
        query = self._in_heads(self.query(states))
        scores = query @ keys.transpose(-1, -2) / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
        new = change(site, weights, allowed.expand_as(weights))
        attended = self.drop(weights if new is None else new) @ values
        left: Tensor = self.leave(attended.transpose(1, 2).flatten(2))
        return left

    def _in_heads(self, states: States) -> InHeads:
        apart: Tensor = states.unflatten(-1, (self.heads, -1))
        return apart.transpose(1, 2)


class Wide(nn.Sequential):
    def __init__(self, hidden: int, wide: int, dropout: float) -> None:
        super().__init__(nn.Linear(hidden, wide), nn.ReLU(), nn.Dropout(dropout), nn.Linear(wide, hidden))


class EncoderLayer(nn.Module):
    def __init__(self, settings: TranslationModel) -> None:
        super().__init__()
        hidden, dropout = settings.hidden, settings.dropout
        self.attention = Attention(hidden, settings.heads, dropout)
        self.wide = Wide(hidden, settings.wide, dropout)
        self.norm_attention, self.norm_wide = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.drop = nn.Dropout(dropout)

    def forward(self, site: str, states: States, allowed: Allowed, change: Change) -> States:
        normed = self.norm_attention(states)
        keys, values = self.attention.keys_and_values(normed)
        states = states + self.drop(self.attention(site, normed, keys, values, allowed, change))
        return states + self.drop(self.wide(self.norm_wide(states)))  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    def __init__(self, settings: TranslationModel) -> None:
        super().__init__()
        hidden, heads, dropout = settings.hidden, settings.heads, settings.dropout
        self.attention, self.across = (Attention(hidden, heads, dropout) for _ in range(2))
        self.wide = Wide(hidden, settings.wide, dropout)
        self.norm_attention, self.norm_across, self.norm_wide = (nn.LayerNorm(hidden) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(
        self,
        number: int,
        states: States,
        past: tuple[InHeads, InHeads],
        source: tuple[InHeads, InHeads],
        allowed: tuple[Allowed, Allowed],
        change: Change,
    ) -> tuple[States, tuple[InHeads, InHeads]]:
        """States, and the keys and values of all steps so far; `past` are those before, `allowed` of both sites."""
        normed = self.norm_attention(states)
        new = self.attention.keys_and_values(normed)
        keys, values = (torch.cat(both, 2) for both in zip(past, new, strict=True))
        states = states + self.drop(self.attention(f"decoder.{number}", normed, keys, values, allowed[0], change))
        normed = self.norm_across(states)
        states = states + self.drop(self.across(f"across.{number}", normed, *source, allowed[1], change))
        return states + self.drop(self.wide(self.norm_wide(states))), (keys, values)


class Transformer(Translator):
    def __init__(self, settings: TranslationModel, source_size: int, target_size: int) -> None:
        super().__init__(source_size, target_size, settings.hidden, settings.dropout)
        layers = range(settings.layers)
        names = [f"encoder.{i}" for i in layers] + [f"{kind}.{i}" for i in layers for kind in ("decoder", "across")]
        self.heads = dict.fromkeys(names, settings.heads)
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in layers)
        self.decoder = nn.ModuleList(DecoderLayer(settings) for _ in layers)
        self.norm_encoder, self.norm_decoder = nn.LayerNorm(settings.hidden), nn.LayerNorm(settings.hidden)

    def encode(
        self, ids: Int[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"], steps: Steps = unchanged
    ) -> Tensors:
        states, allowed, change = self._entered(self.source, ids, 0), mask[:, None, None], steps(0)
        allowed = allowed.expand(-1, -1, ids.shape[1], -1)
        for i, layer in enumerate(self.encoder):
            states = layer(f"encoder.{i}", states, allowed, change)
        states = self.norm_encoder(states)
        memory: Tensors = {"mask": mask}
        for i, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            memory[f"keys.{i}"], memory[f"values.{i}"] = layer.across.keys_and_values(states)
        return memory

    def begin(self, memory: Tensors) -> Tensors:
        empty = {name: value[:, :, :0] for name, value in memory.items() if name != "mask"}
        return {name: value.contiguous() for name, value in empty.items()}

    def step(
        self, memory: Tensors, state: Tensors, tokens: Int[Tensor, "batch"], number: int, steps: Steps = unchanged
    ) -> tuple[Float[Tensor, "batch dimension"], Tensors]:
        outputs, state = self._decoded(memory, state, tokens.unsqueeze(1), number, steps)
        return outputs[:, 0], state

    def forced(
        self, memory: Tensors, inputs: Int[Tensor, "batch steps"], steps: Steps = unchanged
    ) -> Float[Tensor, "batch steps dimension"]:
        return self._decoded(memory, self.begin(memory), inputs, 0, steps)[0]

    def _decoded(
        self, memory: Tensors, state: Tensors, inputs: Int[Tensor, "batch steps"], first: int, steps: Steps
    ) -> tuple[States, Tensors]:
        """Outputs of these steps, and the keys and values of all steps so far."""
        queries = inputs.shape[1]
        states, change = self._entered(self.target, inputs, first), steps(first)
        kept: Tensors = {}
        source = memory["mask"][:, None, None].expand(-1, -1, queries, -1)
        past = torch.ones(queries, first + queries, dtype=torch.bool, device=inputs.device).tril(first)[None, None]
        past = past.expand(len(inputs), -1, -1, -1)
        for i, layer in enumerate(self.decoder):
            before, across = (_of_layer(tensors, i) for tensors in (state, memory))
            states, (keys, values) = layer(i, states, before, across, (past, source), change)
            kept |= {f"keys.{i}": keys, f"values.{i}": values}
        return self.norm_decoder(states), kept

    def _entered(self, embedding: nn.Embedding, ids: Int[Tensor, "batch tokens"], first: int) -> States:
        """Word vectors, scaled as in the paper, with the places of the tokens from `first` on."""
        size = embedding.embedding_dim
        vectors = embedding(ids) * size**0.5
        entered: Tensor = self.drop(vectors + sinusoids(first + ids.shape[1], size, vectors)[first:])
        return entered


def _of_layer(tensors: Tensors, number: int) -> tuple[InHeads, InHeads]:
    return tensors[f"keys.{number}"], tensors[f"values.{number}"]
